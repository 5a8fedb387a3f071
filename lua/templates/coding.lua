-- @NAME@.lua: your own agent; the sandbox is its tool.
-- Keys and this file stay outside. A change takes effect at once.
--   sandglass run @NAME@.lua -- "Make the tests pass"
--   sandglass run @NAME@.lua --model anthropic:sonnet -- --repo ~/project --test "make test" "Accept empty input"
-- Without a model it plays @NAME@.script.lua: no key, no cost, the same every time.
local sg = require "sandglass"

-- The arguments after `--`: names with their defaults, then words by position ("?" = may be
-- missing).
local a = sg.args { repo = "", test = "true", "task?" }
local task = a.task or "Write a file notes.txt that says hello."

-- The sandbox: a copy on write of the repository, no network. Nothing leaves it before merge below.
local box <close> = sg.sandbox {
  repo = a.repo ~= "" and a.repo or nil,
  net = "none",
  limits = { mem = "1G", pids = 256 },
}

-- The agent loop. Each tool call is checked against policy and recorded.
-- You can hold, edit, or deny it.
local r, err = sg.agent.run {
  task = task,
  box = box,
  model = a.model or "scripted:@NAME@.script.lua",
  tools = { "shell", "read", "edit", "write" },
  budget = { usd = 1.00, steps = 40, time = "20m" },
  done = function()                                  -- the loop continues until this returns true
    local t = box:exec(a.test, { timeout = "5m" })
    return t and t.ok, "'" .. a.test .. "' still fails"
  end,
}
if not r then sg.exit(err.exit, "gave up: %s", err) end
print(r.text)

-- The result goes to a new branch after you review every hunk; your working files are not touched.
local d = box:diff()
if #d == 0 then return print "nothing has changed" end
print(d:stat())
if a.repo ~= "" then
  assert(box:merge { into = a.repo, mode = "branch", review = true })
end
