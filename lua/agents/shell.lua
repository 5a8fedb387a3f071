-- `sandglass sandbox shell`: an empty box that stays until its session is stopped; the user's shell is a command.
local sg = require "sandglass"
local a = sg.args { repo = "" }
local box <close> = sg.sandbox { name = "box", repo = a.repo ~= "" and a.repo or nil }
sg.mark "ready"
while true do sg.sleep "1h" end
