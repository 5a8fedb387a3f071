-- Gemini CLI. Without a model by name it asks a small one which to take.
local p = require "sandglass.text".sg.json
local hooks = require "sandglass.inside.hooks"
local terminal = require "sandglass.inside.terminal"

-- Its file of a session is named by the minute of its start. When it loads one it begins a file of that session first, and within the
-- same minute that is the same file, and the conversation is lost ("No previous sessions found"). By another name it is found and kept.
local function out_of_the_way(x, box)
  local id = x.session:sub(1, 8)
  local found = box:exec { "find", x.home .. "/.gemini/tmp", "-name", "session-????-??-??T??-??-" .. id .. ".jsonl" }
  for path in (found and found.out or ""):gmatch "[^\n]+" do
    box:exec { "mv", "-n", path, path:sub(1, -#id - 8) .. ".0-" .. id .. ".jsonl" }
  end
end

local function settings(x, own_hooks)
  return p.encode {
    security = { auth = { selectedType = x.login and "oauth-personal" or "gemini-api-key" } }, privacy = { usageStatisticsEnabled = false },
    telemetry = { enabled = false }, general = { enableAutoUpdate = false, enableAutoUpdateNotification = false }, hooks = own_hooks,
  }
end

return {
  name = "gemini", about = "Gemini CLI (npm @google/gemini-cli)", program = "gemini", versions = "0.61.0",
  install = "npm install @google/gemini-cli", speak = "gemini", provider = "gemini", model = "gemini-3.1-pro-preview",
  host = "cloudcode-pa.googleapis.com",
  -- its requests with a login, besides the model's
  route = { speak = "gemini", allow = {
    "POST /v1internal:loadCodeAssist", "POST /v1internal:onboardUser", "POST /v1internal:retrieveUserQuota", "POST /v1internal:listExperiments",
    "POST /v1internal:fetchAdminControls", "GET /v1internal/operations/*",
  } },
  argv = function(x)
    local argv = { x.program, "-m", x.model, "-p", x.task, "--yolo", "--output-format", "stream-json", "--skip-trust" }
    if x.again then argv[#argv + 1], argv[#argv + 2] = "--resume", "latest" end
    return argv
  end,
  best = "acp", control = {
    acp = { argv = function(x) return { x.program, "--acp", "-m", x.model } end, wake = out_of_the_way, late_history = true },
  },
  terminal = {
    again = { "--resume", "latest" }, kept = ".gemini/tmp",
    argv = function(x)
      if x.chosen then return terminal.words(x, "-m", x.model) end
      return terminal.words(x)
    end,
    env = function(x)
      if not x.login then return {} end
      return {
        GEMINI_API_KEY = false, GOOGLE_GEMINI_BASE_URL = false, CODE_ASSIST_ENDPOINT = x.url,
        GOOGLE_GENAI_USE_GCA = "true", GOOGLE_CLOUD_ACCESS_TOKEN = x.key,
      }
    end,
    -- Its hook runs before its own rules: asked here, it need not ask once more.
    files = function(x)
      if x.proxy == "" then return {} end
      return {
        [hooks.path] = hooks.script(x, "gemini"),
        [".gemini/settings.json"] = settings(x, hooks.groups(x, { "BeforeTool", "AfterTool" }, 86400000)),
        [".gemini/policies/sandglass.toml"] = '[[rule]]\ntoolName = "*"\ndecision = "allow"\npriority = 500\n',
      }
    end,
  },
  env = function(x)
    return { GEMINI_API_KEY = x.key, GOOGLE_GEMINI_BASE_URL = x.url, GEMINI_CLI_TRUST_WORKSPACE = "true" }
  end,
  files = function(x) return { [".gemini/settings.json"] = settings(x) } end,
  line = function(ev)
    if ev.type == "message" and ev.role == "assistant" then return ev.content, ev.content end
    if ev.type == "result" and ev.status == "error" then
      return nil, nil, type(ev.error) == "table" and ev.error.message or "error"
    end
  end,
}
