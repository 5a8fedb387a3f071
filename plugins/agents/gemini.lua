-- Gemini CLI. Without a model by name it asks a small one which to take.
local p = require "sandglass.text".sg.json

return {
  name = "gemini", about = "Gemini CLI (npm @google/gemini-cli)", program = "gemini", versions = "0.61.0",
  install = "npm install @google/gemini-cli", speak = "gemini", provider = "gemini", model = "gemini-3.1-pro-preview",
  argv = function(x)
    local argv = { x.program, "-m", x.model, "-p", x.task, "--yolo", "--output-format", "stream-json", "--skip-trust" }
    if x.again then argv[#argv + 1], argv[#argv + 2] = "--resume", "latest" end
    return argv
  end,
  best = "acp", control = { acp = { argv = function(x) return { x.program, "--acp", "-m", x.model } end } },
  env = function(x)
    return { GEMINI_API_KEY = x.key, GOOGLE_GEMINI_BASE_URL = x.url, GEMINI_CLI_TRUST_WORKSPACE = "true" }
  end,
  files = function()
    return {
      [".gemini/settings.json"] = p.encode {
        security = { auth = { selectedType = "gemini-api-key" } }, privacy = { usageStatisticsEnabled = false },
        telemetry = { enabled = false }, general = { enableAutoUpdate = false, enableAutoUpdateNotification = false },
      },
    }
  end,
  line = function(ev)
    if ev.type == "message" and ev.role == "assistant" then return ev.content, ev.content end
    if ev.type == "result" and ev.status == "error" then
      return nil, nil, type(ev.error) == "table" and ev.error.message or "error"
    end
  end,
}
