-- How sandbox-agent finds an agent that is there already: by two small programs of its own directory, so that it downloads nothing.
-- Its token stands among its words, where every program in the box can read it: what the agent asks over it, and that nobody else
-- answered, is the agent's word (see opencode.lua).
local quote = require "sandglass.text".sg.quote

local M = {}
local BIN = ".local/share/sandbox-agent/bin/"

-- A row of a profile's `control`: name is sandbox-agent's; words follow x.beside, the program that speaks ACP.
function M.control(name, words, asks, mode)
  return {
    program = "sandbox-agent", install = "npm install @sandbox-agent/cli", serves = name, asks = asks, mode = mode,
    argv = function(x)
      return { x.program, "server", "--host", "127.0.0.1", "--port", tostring(x.port), "--token", x.password, "--no-telemetry" }
    end,
    env = function() return { SANDBOX_AGENT_REQUIRE_PREINSTALL = "1", SANDBOX_AGENT_ACP_REQUEST_TIMEOUT_MS = "86400000" } end,
    files = function(x)
      local text = "#!/bin/sh\nexec " .. quote(x.beside or x.program) .. words .. " \"$@\"\n"
      return { [BIN .. name] = text, [BIN .. "agent_processes/" .. name .. "-acp"] = text }
    end,
  }
end

return M
