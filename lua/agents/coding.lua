-- The agent of `sandglass run -e TASK`: works on a repository, shows what it changed, offers to merge it.
local sg = require "sandglass"
local a = sg.args { repo = ".", test = "", merge = true, "task" }
local box <close> = sg.sandbox { repo = a.repo, name = "coding" }

local function passes()
  local r, err = box:exec(a.test, { timeout = "10m", label = "test" })
  if not r then return nil, err end
  return r.ok, "the tests fail:\n" .. sg.tail(r.out .. r.err, 40)
end

local tested = a.test ~= ""
local r, err = sg.agent.run {
  task = a.task, box = box, model = a.model, name = "coding",
  tools = { "shell", "read", "write", "edit", "glob", "grep", "apply_patch", "plan", "ask_user" },
  done = tested and passes or nil,
}
if not r then sg.exit(err.exit, "gave up: %s", err) end
print(r.text)
local d = box:diff()
if not d or #d == 0 then return sg.note "nothing was changed" end
print(d:stat())
if a.merge then
  local ok, why = box:merge { into = a.repo, mode = "branch", review = true }
  if not ok then sg.exit(why.exit, "not merged: %s", why) end
end
