-- Claude Code. As root inside of a box it wants IS_SANDBOX to skip its own questions; ours are asked at the proxy.
local launch = require "sandglass.inside.launch"
local terminal = require "sandglass.inside.terminal"
local p = require "sandglass.text".sg.json

local function text_of(content)
  for _, b in ipairs(type(content) == "table" and content or {}) do
    if b.type == "text" and b.text and b.text ~= "" then return b.text end
  end
end

-- Its hooks ask our proxy: a call that was approved there needs no second answer in its dialog, and an answer there reaches its dialog.
local function hooks(x)
  if x.proxy == "" then return nil end
  local all = {}
  for _, event in ipairs { "PreToolUse", "PermissionRequest", "PostToolUse", "PostToolUseFailure" } do
    all[event] = { {
      matcher = "*", hooks = { { type = "http", url = x.proxy .. "/sandglass-hook/claude", headers = { Authorization = "Bearer " .. x.key }, timeout = 86400 } },
    } }
  end
  return all
end

return {
  name = "claude", about = "Claude Code (npm @anthropic-ai/claude-code)", program = "claude", versions = "2.1.329, 2.1.197, claude-agent-acp 0.101.0",
  install = "npm install @anthropic-ai/claude-code", speak = "anthropic", host = "api.anthropic.com", provider = "anthropic", model = "sonnet",
  argv = function(x)
    local argv = { x.program, "-p", x.task, "--output-format", "stream-json", "--verbose", "--dangerously-skip-permissions" }
    if x.again then argv[#argv + 1] = "-c" end
    return argv
  end,
  best = "stream", settings = { ".claude/settings.json", ".claude/settings.local.json" },
  control = {
    stream = {
      argv = function(x)
        local argv = {
          x.program, "-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose", "--permission-prompt-tool", "stdio",
        }
        if x.session then
          argv[#argv + 1] = "--resume"
          argv[#argv + 1] = x.session
        end
        return argv
      end,
      wake = function(x, box)   -- an agent killed before its first word has no session to resume
        local kept = box:exec { "find", x.home .. "/.claude/projects", "-name", x.session .. ".jsonl" }
        if kept and kept.out == "" then x.session = nil end
      end,
    },
    acp = {
      program = "claude-agent-acp", install = "npm install @agentclientprotocol/claude-agent-acp", argv = function(x) return { x.program } end,
      mode = "default",   -- the one in which it asks
    },
    ["sandbox-agent"] = launch.control("claude", "", nil, "default"),
  },
  terminal = {
    again = { "--continue" }, kept = ".claude/projects",
    argv = function(x) return terminal.words(x) end,
    -- its own choice of a model, unless the user has one; and it asks itself, too
    env = function(x)
      local env = { ANTHROPIC_MODEL = x.chosen and x.model, ANTHROPIC_DEFAULT_HAIKU_MODEL = x.chosen and x.model, IS_SANDBOX = false }
      if x.login then   -- its maker's host by name, so that it works as with its maker; plain HTTP to our proxy, which puts the login on
        env.ANTHROPIC_API_KEY, env.ANTHROPIC_BASE_URL, env.HTTP_PROXY = false, "http://api.anthropic.com", x.proxy
        env.NO_PROXY = "127.0.0.1,localhost"   -- its hooks, and servers in the sandbox
      end
      return env
    end,
    files = function(x)
      local placeholder = x.login and p.encode {
        claudeAiOauth = {
          accessToken = x.key, refreshToken = "none", expiresAt = 4102444800000, scopes = { "user:inference", "user:profile" },
          subscriptionType = x.login.plan, rateLimitTier = x.login.tier,
        },
      } or nil
      return {
        [".claude/.credentials.json"] = placeholder,
        [".claude.json"] = p.encode {
          hasCompletedOnboarding = true, theme = "dark", autoUpdates = false, customApiKeyResponses = { approved = { x.key:sub(-20) }, rejected = p.list {} },
          projects = { [x.cwd] = { hasTrustDialogAccepted = true, hasCompletedProjectOnboarding = true } },
        },
        [".claude/settings.json"] = p.encode { permissions = { defaultMode = "default" }, theme = "dark", hooks = hooks(x) },
      }
    end,
  },
  env = function(x)
    return {
      ANTHROPIC_BASE_URL = x.url, ANTHROPIC_API_KEY = x.key, ANTHROPIC_MODEL = x.model, ANTHROPIC_DEFAULT_HAIKU_MODEL = x.model,
      IS_SANDBOX = "1", DISABLE_TELEMETRY = "1", DISABLE_AUTOUPDATER = "1", DISABLE_ERROR_REPORTING = "1",
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC = "1",
      -- An answer stands still while a user decides or has paused it, and what keeps its connection does not count as its going on.
      CLAUDE_STREAM_IDLE_TIMEOUT_MS = "86400000",
    }
  end,
  line = function(ev)
    if ev.type == "assistant" then return text_of(ev.message and ev.message.content) end
    if ev.type == "result" then return nil, ev.result, ev.is_error and (ev.result or ev.subtype) or nil end
  end,
}
