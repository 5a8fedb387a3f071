-- @NAME@.lua: a sandbox and your own steps, without a model. Commands are checked and recorded like those of an agent.
--   sandglass run @NAME@.lua -- --repo . "make test"
local sg = require "sandglass"

local a = sg.args { repo = "", "command?" }
local box <close> = sg.sandbox { repo = a.repo ~= "" and a.repo or nil, net = "none" }

local r, err = box:exec(a.command or "echo hello > notes.txt && cat notes.txt", { timeout = "10m" })
if not r then sg.exit(err.exit, "%s", err) end         -- denied, timed out, no box
print(r.out)
print(box:diff():stat())
if not r.ok then sg.exit(1, "exit %s", r.code or r.signal) end
