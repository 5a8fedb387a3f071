-- @NAME@.lua: a program that brings its own loop runs inside the box, as on a developer's machine; you watch, judge and
-- record from outside what it does to the files.
--   sandglass run @NAME@.lua -- "Write a file notes.txt that says hello."
--   sandglass run @NAME@.lua -- --repo . --agent "my-agent --task" "Make the tests pass"
-- The program gets the task as its last word. Without --agent a few lines of shell play its part.
-- Nothing of yours is in the box: no key, no home directory, none of the files that look like secrets.
local sg = require "sandglass"

local a = sg.args { repo = "", agent = "", test = "true", "task?" }
local task = a.task or "Write a file notes.txt that says hello."
local stand_in = 'echo "working on: $1"; echo hello > notes.txt; echo "wrote notes.txt"'

local box <close> = sg.sandbox {
  repo = a.repo ~= "" and a.repo or nil,
  net = "none",                                       -- or { "host:port", ... }: each connection is judged
  limits = { mem = "2G", pids = 512 },
}

local words = {}
for word in a.agent:gmatch "%S+" do words[#words + 1] = word end
if #words == 0 then words = { "sh", "-c", stand_in, "agent" } end
words[#words + 1] = task

local p = assert(box:spawn(words))
for line in p:lines() do sg.note("%s", line) end      -- as it comes; all of it is in the record
local res = assert(p:wait())
if not res.ok then sg.exit(1, "the agent ended with exit %s", res.code or res.signal) end

local t = assert(box:exec(a.test, { timeout = "5m" }))
if not t.ok then sg.exit(1, "'%s' fails after the agent's work", a.test) end
print(box:diff():stat())
if a.repo ~= "" then
  assert(box:merge { into = a.repo, mode = "branch", review = true })
end
