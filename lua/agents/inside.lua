-- The agent of `sandglass run --agent NAME TASK`: a third-party agent in a sandbox, on a repository.
local sg = require "sandglass"
local a = sg.args { repo = "", agent = "claude", program = "", root = "", path = "", model = "", timeout = "", merge = true,
  control = "", mode = "", beside = "", linger = "", idle = "", hold = "", image = "", image_dir = "", build = "", options = "", name = "", env = "", "task", "command..." }

local roots, hold = {}, {}
for pattern in a.hold:gmatch "[^\n]+" do hold[#hold + 1] = pattern end
for dir in a.root:gmatch "[^\n]+" do roots[#roots + 1] = dir end
local env = {}
for line in a.env:gmatch "[^\n]+" do
  local k, v = line:match "^([^=]+)=(.*)$"
  if k then env[k] = v end
end
local function given(v) return v ~= "" and v or nil end
local image = a.image_dir ~= "" and { dir = a.image_dir } or given(a.image)
local r, err = sg.inside {
  agent = a.agent, task = a.task, program = given(a.program), model = given(a.model), repo = given(a.repo), roots = #roots > 0 and roots or nil,
  image = image, build = given(a.build), options = a.options ~= "" and sg.json.decode(a.options) or nil,
  path = given(a.path), hold_exec = #hold > 0 and hold or nil,
  timeout = given(a.timeout), control = given(a.control), mode = given(a.mode), beside = given(a.beside), linger = given(a.linger), idle = given(a.idle),
  command = #a.command > 0 and a.command or nil, name = given(a.name), env = env,
}
if not r then sg.exit(err.exit, "%s", err) end
if r.text ~= "" then print(r.text) end
local u = r.usage
print(("%d model calls, %d tokens in, %d out, $%.2f"):format(u.calls, u["in"], u.out, u.usd))
local d = r.box:diff()
if d and #d > 0 then
  print(d:stat())
  if a.merge and a.repo ~= "" and r.ok then
    local ok, why = r.box:merge { into = a.repo, mode = "branch", review = true }
    if not ok then sg.exit(why.exit, "not merged: %s", why) end
  end
end
if not r.ok then sg.exit(1, "the agent ended badly: %s", r.error or ("exit " .. tostring(r.code)) .. " " .. (r.err or "")) end
