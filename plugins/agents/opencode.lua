-- OpenCode. It prints a tool call when it has ended.
local p = require "sandglass.text".sg.json
local launch = require "sandglass.inside.launch"
local terminal = require "sandglass.inside.terminal"
local certificate = require "sandglass.inside.certificate"

return {
  name = "opencode", about = "OpenCode (npm opencode-ai)", program = "opencode", versions = "1.18.33",
  install = "npm install opencode-ai", speak = "openai", provider = "openai-chat", model = "gpt-5",
  host = "chatgpt.com", route = { speak = "openai", tls = true },
  argv = function(x)
    local argv = { x.program, "run", "--format", "json" }
    if x.again then argv[#argv + 1] = "--continue" end
    argv[#argv + 1] = x.task
    return argv
  end,
  best = "acp",
  control = {
    serve = {
      argv = function(x) return { x.program, "serve", "--hostname", "127.0.0.1", "--port", tostring(x.port) } end, asks = true,
      env = function(x) return { OPENCODE_SERVER_PASSWORD = x.password } end,
    },
    acp = { argv = function(x) return { x.program, "acp" } end, asks = true },
    ["sandbox-agent"] = launch.control("opencode", " acp", true),
  },
  terminal = {
    again = { "--continue" }, kept = ".local/share/opencode", argv = function(x) return terminal.words(x) end, asks = true,
    -- its default plugins are the login
    env = function(x)
      if not x.login then return {} end
      return { OPENCODE_DISABLE_DEFAULT_PLUGINS = false, HTTPS_PROXY = x.proxy, NODE_EXTRA_CA_CERTS = x.home .. "/" .. certificate.path }
    end,
    files = function(x)
      if not x.login then return {} end
      local entry = { type = "oauth", refresh = "none", access = x.key, expires = 4102444800000, accountId = x.login.account_id }
      return {
        [".local/share/opencode/auth.json"] = p.encode { openai = entry },
        [".config/opencode/opencode.json"] = p.encode {
          ["$schema"] = "https://opencode.ai/config.json", autoupdate = false, share = "disabled", enabled_providers = { "openai" },
          model = x.chosen and "openai/" .. x.model or nil, permission = { ["*"] = "ask" },
        },
      }
    end,
  },
  env = function()
    return {
      OPENCODE_DISABLE_AUTOUPDATE = "1", OPENCODE_DISABLE_MODELS_FETCH = "1", OPENCODE_DISABLE_LSP_DOWNLOAD = "1",
      OPENCODE_DISABLE_DEFAULT_PLUGINS = "1",
    }
  end,
  files = function(x)
    local model = "sandglass/" .. x.model
    return {
      [".config/opencode/opencode.json"] = p.encode {
        ["$schema"] = "https://opencode.ai/config.json",   -- else it adds that itself
        autoupdate = false, share = "disabled", model = model, small_model = model, enabled_providers = { "sandglass" },
        permission = { ["*"] = x.asks and "ask" or "allow" },
        provider = {
          sandglass = {
            npm = "@ai-sdk/openai-compatible", name = "sandglass",
            options = { baseURL = x.url .. "/v1", apiKey = x.key, timeout = false },
            models = { [x.model] = { name = x.model, tool_call = true, limit = { context = 200000, output = 32000 } } },
          },
        },
      },
    }
  end,
  line = function(ev)
    if ev.type == "text" and ev.part then return ev.part.text, ev.part.text end
    if ev.type == "error" then
      local e = type(ev.error) == "table" and ev.error or {}
      return nil, nil, e.data and e.data.message or e.name or "error"
    end
  end,
}
