-- The agent of `sandglass run -i`: a program in its own terminal interface, in a sandbox over a repository.
local sg = require "sandglass"
local a = sg.args { repo = "", agent = "custom", program = "", root = "", path = "", model = "", beside = "", hold = "", image = "", image_dir = "", build = "", options = "", env = "",
  cols = 80, rows = 24, xpixel = 0, ypixel = 0, record_input = "off", name = "", login = "", plan = "", tier = "", account = "", account_id = "", login_url = "", "command..." }

local function given(v) return v ~= "" and v or nil end
local image = a.image_dir ~= "" and { dir = a.image_dir } or given(a.image)
local function lines(text)
  local list = {}
  for line in text:gmatch "[^\n]+" do list[#list + 1] = line end
  return #list > 0 and list or nil
end
local env = {}
for line in a.env:gmatch "[^\n]+" do
  local k, v = line:match "^([%w_]+)=(.*)$"
  if k then env[k] = v end
end
local r, err = sg.inside {
  agent = a.agent, name = given(a.name), program = given(a.program), model = given(a.model), repo = given(a.repo), roots = lines(a.root),
  image = image, build = given(a.build), options = a.options ~= "" and sg.json.decode(a.options) or nil,
  path = given(a.path), hold_exec = lines(a.hold), beside = given(a.beside), command = #a.command > 0 and a.agent == "custom" and a.command or nil,
  login = a.login ~= "" and {
    name = a.login, plan = given(a.plan), tier = given(a.tier), account = given(a.account), account_id = given(a.account_id), url = given(a.login_url),
  } or nil,
  terminal = {
    cols = a.cols, rows = a.rows, xpixel = a.xpixel, ypixel = a.ypixel, env = env, args = a.command, record_input = a.record_input,
  },
}
if not r then sg.exit(err.exit, "%s", err) end
if r.code ~= 0 then sg.exit(r.code) end
