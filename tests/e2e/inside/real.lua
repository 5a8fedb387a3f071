-- A real agent in a sandbox. The proxy does not check its calls; its protocol's permission requests are checked.
local sg = require "sandglass"
local a = sg.args { agent = "", control = "", program = "", beside = "", roots = "", path = "", model = "", repo = "", linger = "", idle = "", mem = "", gate = false, "task" }
local roots = {}
for d in a.roots:gmatch "[^:]+" do roots[#roots + 1] = d end
local function given(v) return v ~= "" and v or nil end
local r, err = sg.inside {
  agent = a.agent, task = a.task, control = given(a.control), program = a.program, beside = given(a.beside), roots = roots, path = given(a.path),
  model = a.model, repo = a.repo, linger = given(a.linger), idle = given(a.idle), tool_gate = a.gate, name = "it",
  limits = a.mem ~= "" and { mem = a.mem } or nil,
}
if not r then sg.exit(err.exit, "%s", err) end
print(("END ok=%s stop=%s turns=%d text=%s"):format(tostring(r.ok), tostring(r.stop), r.turns, r.text))
print("FILES " .. r.box:exec("ls").out:gsub("\n", " "))
