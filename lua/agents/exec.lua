-- `sandglass sandbox exec`: one command in a new box; the program ends with the command's exit status. With --stdin its
-- input stays open: text piped into the program comes from outside, as your own commands.
local sg = require "sandglass"
local rt = require "sandglass.runtime"
local a = sg.args { repo = "", stdin = false, "words" }
local box <close> = sg.sandbox { name = "box", repo = a.repo ~= "" and a.repo or nil }
local r, err = rt.call("box.exec", { box = box.id, argv = sg.json.decode(a.words), label = "person", stdin = a.stdin or nil })
if not r then sg.exit(err.exit, "%s", err) end
if r.hint then sg.warn("%s", r.hint) end
sg.exit(r.signal and 128 + r.signal or r.code)
