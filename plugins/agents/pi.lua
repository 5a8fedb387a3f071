-- pi. It never asks for approval: the proxy checks its calls against policy. Its exit status does not report errors.
local p = require "sandglass.text".sg.json
local terminal = require "sandglass.inside.terminal"
local hooks = require "sandglass.inside.hooks"
local jwt = require "sandglass.inside.jwt"

-- Its hooks. A call of the Responses API has two ids in one: the first is the one that the proxy sees.
local EXTENSION = [[

const id = (e) => String(e.toolCallId).split("|")[0]

export default function (pi) {
  pi.on("tool_call", async (e) => {
    const a = await ask({ hook_event_name: "tool_call", tool_name: e.toolName, tool_use_id: id(e), tool_input: e.input })
    if (!a.allowed) return { block: true, reason: a.reason ?? "withdrawn" }
  })
  pi.on("tool_result", async (e) => { await ask({ hook_event_name: "tool_result", tool_use_id: id(e) }) })
}
]]

local function last_text(messages)
  local m = type(messages) == "table" and messages[#messages]
  if type(m) ~= "table" then return nil end
  if m.errorMessage then return nil, m.errorMessage end
  for _, b in ipairs(type(m.content) == "table" and m.content or {}) do
    if b.type == "text" then return b.text end
  end
end

return {
  name = "pi", about = "pi (npm @earendil-works/pi-coding-agent)", program = "pi", versions = "0.87.1, 0.74.2",
  install = "npm install @earendil-works/pi-coding-agent", speak = "openai", provider = "openai-chat", model = "gpt-5",
  host = "chatgpt.com", route = { speak = "openai" },
  argv = function(x)
    local argv = { x.program, "-p", "--mode", "json", "--provider", "sandglass", "--model", x.model }
    if x.again then argv[#argv + 1] = "--continue" end
    argv[#argv + 1] = x.task
    return argv
  end,
  best = "rpc",
  control = {
    rpc = {
      argv = function(x)
        local argv = { x.program, "--mode", "rpc", "--provider", "sandglass", "--model", x.model }
        if x.session then argv[#argv + 1], argv[#argv + 2] = "--session", x.session end
        return argv
      end,
    },
    acp = {
      program = "pi-acp", install = "npm install pi-acp", argv = function(x) return { x.program } end,
      env = function(x) return { PI_ACP_PI_COMMAND = x.beside } end,
    },
  },
  terminal = {
    again = { "--continue" }, kept = ".pi/agent/sessions",
    argv = function(x)
      if not x.login then return terminal.words(x, "--provider", "sandglass", "--model", x.model) end
      if x.chosen then return terminal.words(x, "--provider", "openai-codex", "--model", x.model) end
      return terminal.words(x, "--provider", "openai-codex")
    end,
    files = function(x)
      local files = x.proxy ~= "" and { [".pi/agent/extensions/sandglass.js"] = hooks.module(x, EXTENSION) } or {}
      if not x.login then return files end
      local entry = { type = "oauth", refresh = "none", access = jwt.placeholder(x, {}), expires = 4102444800000, accountId = x.login.account_id }
      files[".pi/agent/auth.json"] = p.encode { ["openai-codex"] = entry }
      files[".pi/agent/models.json"] = p.encode { providers = { ["openai-codex"] = { baseUrl = x.url .. "/backend-api" } } }
      return files
    end,
  },
  env = function() return { PI_OFFLINE = "1", PI_TELEMETRY = "0" } end,
  files = function(x)
    return {
      [".pi/agent/models.json"] = p.encode {
        providers = {
          sandglass = {
            baseUrl = x.url .. "/v1", api = "openai-completions", apiKey = x.key,
            models = { { id = x.model, name = x.model, contextWindow = 200000, maxTokens = 32000 } },
          },
        },
      },
    }
  end,
  line = function(ev)
    if ev.type ~= "agent_end" then return nil end
    local text, wrong = last_text(ev.messages)
    return text, text, wrong
  end,
}
