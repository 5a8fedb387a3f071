-- Copilot CLI. Its models are behind its maker's servers over TLS. The host does not terminate that
-- TLS, so no credential can be added outside, no tool call is checked at a proxy, and usage is not
-- counted. The agent is contained, its programs and connections are recorded, and so is its screen.
-- Its own credential is the sandbox's: env = { COPILOT_GITHUB_TOKEN = ... }, and its servers must
-- be reachable.
local terminal = require "sandglass.inside.terminal"
local p = require "sandglass.text".sg.json

return {
  name = "copilot", about = "Copilot CLI (npm @github/copilot): contained and watched only, its models are its maker's servers", program = "copilot",
  versions = "1.0.102", install = "npm install @github/copilot", speak = "openai", provider = "openai", model = "own",
  credential = "COPILOT_GITHUB_TOKEN", server = "api.github.com:443",
  argv = function(x) return { x.program, "-p", x.task } end,
  terminal = {
    argv = function(x) return terminal.words(x) end,
    files = function(x) return { [".copilot/config.json"] = p.encode { trusted_folders = { x.cwd }, auto_update = false } } end,
  },
  env = function() return { COPILOT_AUTO_UPDATE = "false" } end,
}
