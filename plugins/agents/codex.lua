-- Codex. Its own sandbox is off: sandglass isolates it.
local launch = require "sandglass.inside.launch"
local terminal = require "sandglass.inside.terminal"
local hooks = require "sandglass.inside.hooks"
local certificate = require "sandglass.inside.certificate"
local p = require "sandglass.text".sg.json
local jwt = require "sandglass.inside.jwt"

-- Its config when it uses a ChatGPT login: the provider is its own, over https to its maker's host, where our proxy ends TLS.
local function login_config(x)
  return ([[
approval_policy = "on-request"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false
cli_auth_credentials_store = "file"
%s
[analytics]
enabled = false

[projects."/workspace"]
trust_level = "trusted"
]]):format(x.chosen and ("model = %q"):format(x.model) or "")
end

local function login_file(x)
  return p.encode {
    auth_mode = "chatgpt", OPENAI_API_KEY = p.null, last_refresh = "2099-01-01T00:00:00Z",
    tokens = {
      id_token = jwt.placeholder(x, { email = x.login.account }), access_token = jwt.placeholder(x, {}), refresh_token = "none", account_id = x.login.account_id,
    },
  }
end

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
  host = "chatgpt.com",
  -- requests of its interface besides the model's: its account, its plan, its limits
  route = { speak = "openai", tls = true, allow = {
    "GET /backend-api/wham/accounts/check", "GET /backend-api/wham/usage", "GET /backend-api/wham/settings/user",
    "GET /backend-api/wham/security-setup", "GET /backend-api/wham/rate-limit-reset-credits", "GET /backend-api/ps/plugins/*",
  } },
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
    -- its hooks are the ones that we write: it need not ask whether it may trust them
    argv = function(x)
      if x.proxy == "" then return terminal.words(x, "--no-daemon") end
      return terminal.words(x, "--no-daemon", "--dangerously-bypass-hook-trust")
    end,
    env = function(x)
      if not x.login then return {} end
      local ca = x.home .. "/" .. certificate.path
      return { HTTPS_PROXY = x.proxy, CODEX_CA_CERTIFICATE = ca, NODE_EXTRA_CA_CERTS = ca, SANDGLASS_PLACEHOLDER = false }
    end,
    files = function(x)
      local files = { [".codex/config.toml"] = config(x, 'approval_policy = "on-request"\nsandbox_mode = "danger-full-access"\n') }
      if x.login then files[".codex/config.toml"], files[".codex/auth.json"] = login_config(x), login_file(x) end
      if x.proxy == "" then return files end
      -- The proxy checks the commands that a script of its model names. They ask about each command that runs, also of a script that the proxy
      -- can't read, and hear what was decided. The first one shows that they work.
      files[".codex/hooks.json"] = p.encode { hooks = hooks.groups(x, { "SessionStart", "PreToolUse", "PermissionRequest", "PostToolUse" }, 86400) }
      files[hooks.path] = hooks.script(x, "codex")
      return files
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
