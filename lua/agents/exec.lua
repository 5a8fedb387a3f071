-- `sandglass sandbox exec`: one command in a new box; the program ends with the command's exit status.
local sg = require "sandglass"
local a = sg.args { repo = "", "words" }
local box <close> = sg.sandbox { name = "box", repo = a.repo ~= "" and a.repo or nil }
local r, err = box:exec(sg.json.decode(a.words), { label = "person" })
if not r then sg.exit(err.exit, "%s", err) end
if r.hint then sg.warn("%s", r.hint) end
sg.exit(r.signal and 128 + (tonumber(r.signal) or 0) or r.code)
