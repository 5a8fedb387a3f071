-- Codex. Its own sandbox is off: the box is the wall.
local launch = require "sandglass.inside.launch"
local terminal = require "sandglass.inside.terminal"

local function config(x, more)
  return (more .. [[
model = %q
model_provider = "sandglass"
check_for_update_on_startup = false
[model_providers.sandglass]
name = "sandglass"
base_url = "%s/v1"
env_key = "SANDGLASS_PLACEHOLDER"
wire_api = "responses"
request_max_retries = 1
stream_max_retries = 1
[analytics]
enabled = false

[projects."/workspace"]
trust_level = "trusted"
]]):format(x.model, x.url)
end

return {
  name = "codex", about = "Codex (npm @openai/codex)", program = "codex", versions = "0.169.0, codex-acp 2.6.0 (with 0.166.0)",
  install = "npm install @openai/codex", speak = "openai", provider = "openai", model = "gpt-5",
  argv = function(x)
    local argv = { x.program, "exec" }
    if x.again then argv[3], argv[4] = "resume", "--last" end
    for _, w in ipairs { "--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", x.task } do argv[#argv + 1] = w end
    return argv
  end,
  best = "app-server", settings = { ".codex/rules/default.rules" },
  control = {
    ["app-server"] = { argv = function(x) return { x.program, "app-server" } end },
    acp = {
      program = "codex-acp", install = "npm install @agentclientprotocol/codex-acp", argv = function(x) return { x.program } end,
      mode = "agent-full-access",   -- in the others its own sandbox refuses what ours allows
    },
    ["sandbox-agent"] = launch.control("codex", "", nil, "agent-full-access"),
  },
  -- Its daemon would outlive it. Its own sandbox cannot nest in ours.
  terminal = {
    again = { "resume", "--last" }, kept = ".codex/sessions",
    argv = function(x) return terminal.words(x, "--no-daemon") end,
    files = function(x)
      return { [".codex/config.toml"] = config(x, 'approval_policy = "on-request"\nsandbox_mode = "danger-full-access"\n') }
    end,
  },
  env = function(x) return { SANDGLASS_PLACEHOLDER = x.key } end,
  files = function(x) return { [".codex/config.toml"] = config(x, "") } end,
  line = function(ev)
    local item = ev.item
    if ev.type == "item.completed" and item and item.type == "agent_message" then return item.text, item.text end
    if ev.type == "turn.failed" then return nil, nil, ev.error and ev.error.message or "the turn failed" end
  end,
}
