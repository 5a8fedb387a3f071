-- `sandglass serve KIND`: a provider's API with boxes of this session behind it (lua/sandglass/serve.lua).
local sg = require "sandglass"
local serve = require "sandglass.serve"
local a = sg.args { "kind", repo = "" }
serve.run_api(require("sandglass.serve." .. a.kind), { repo = a.repo ~= "" and a.repo or nil })
