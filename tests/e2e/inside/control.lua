-- A small agent (acp_agent.py) in a box, spoken with over ACP.
local sg = require "sandglass"
local a = sg.args { repo = "", linger = "", idle = "", mode = "", start = "", never = false, gate = true, "words..." }
local function given(v) return v ~= "" and v or nil end
local r, err = sg.inside {
  agent = "custom", control = "acp", command = { "python3", "/workspace/acp_agent.py" }, repo = a.repo, task = table.concat(a.words, " "),
  linger = given(a.linger), idle = given(a.idle), mode = given(a.mode), start = given(a.start), env = a.never and { NEVER = "1" } or nil,
  name = "small",
}
if not r then
  print("ERR " .. err.code .. " " .. tostring(err))
  sg.exit(err.exit)
end
print(("END ok=%s stop=%s turns=%d session=%s text=%s"):format(tostring(r.ok), tostring(r.stop), r.turns, tostring(r.session ~= nil), r.text))
print("FILES " .. r.box:exec("ls").out:gsub("\n", " "))
