-- OpenCode. It prints a tool call when it has ended.
local p = require "sandglass.text".sg.json
local launch = require "sandglass.inside.launch"
local terminal = require "sandglass.inside.terminal"
local hooks = require "sandglass.inside.hooks"
local certificate = require "sandglass.inside.certificate"

-- Its hooks: its dialog stays usable while the question is open, and an answer closes it. Without an answer of ours it decides.
local PLUGIN = [[

export const sandglass = async ({ client }) => {
  const calls = new Map(), open = new Map()
  const ended = (id) => ask({ hook_event_name: "tool_result", tool_use_id: id }).catch(() => {})
  const asked = async (p) => {
    const id = p.tool?.callID, call = calls.get(id)
    if (!call) return
    open.set(p.id, id)
    const a = await ask({ hook_event_name: "tool_call", tool_name: call.name, tool_use_id: id, tool_input: call.args })
      .catch((e) => ({ allowed: false, reason: e.message }))
    if (!open.delete(p.id) || a.open) return
    const body = a.allowed ? { reply: "once" } : { reply: "reject", message: a.reason }
    await client._client.post({ url: `/permission/${p.id}/reply`, body, headers: { "content-type": "application/json" } })
  }
  return {
    "tool.execute.before": async (input, output) => { calls.set(input.callID, { name: input.tool, args: output.args }) },
    "tool.execute.after": async (input) => { calls.delete(input.callID) },
    event: async ({ event }) => {
      const p = event.properties
      if (event.type === "permission.asked") asked(p).catch(() => {})
      if (event.type === "permission.replied" && open.has(p.requestID)) ended(open.get(p.requestID))
      if (event.type === "permission.replied") open.delete(p.requestID)
    },
  }
}
]]

-- Before it loads a plugin it fetches a package for plugins, unless this says that it is there. Ours needs none.
local INSTALLED = {
  ["node_modules/.package-lock.json"] = "{}", ["package-lock.json"] = '{"packages":{"":{"dependencies":{"@opencode-ai/plugin":"*"}}}}\n',
}

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
    env = function(x)
      local env = { npm_config_fetch_retries = "0" }   -- the same package for a repository's own plugins: without a network it waits for a minute
      if x.login then   -- its default plugins are the login
        env.OPENCODE_DISABLE_DEFAULT_PLUGINS, env.HTTPS_PROXY, env.NODE_EXTRA_CA_CERTS = false, x.proxy, x.home .. "/" .. certificate.path
      end
      return env
    end,
    files = function(x)
      local files = {}
      if x.proxy ~= "" then
        files[".config/opencode/plugin/sandglass.js"] = hooks.module(x, PLUGIN)
        for path, text in pairs(INSTALLED) do files[".config/opencode/" .. path] = text end
      end
      if not x.login then return files end
      local entry = { type = "oauth", refresh = "none", access = x.key, expires = 4102444800000, accountId = x.login.account_id }
      files[".local/share/opencode/auth.json"] = p.encode { openai = entry }
      files[".config/opencode/opencode.json"] = p.encode {
        ["$schema"] = "https://opencode.ai/config.json", autoupdate = false, share = "disabled", enabled_providers = { "openai" },
        model = x.chosen and "openai/" .. x.model or nil, permission = { ["*"] = "ask" },
      }
      return files
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
