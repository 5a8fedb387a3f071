-- Settings of this project. They override your own settings. 'sandglass config -v' lists all settings and their sources.
-- Don't put secrets here: name keys, and keep their values with 'sandglass secret'.
local c = require "sandglass.config"
-- c.model     = "anthropic:sonnet"                -- default: SANDGLASS_MODEL
-- c.tools     = { "/opt/toolchain" }              -- directories of the host that every sandbox may read
-- c.keep      = { file = "16M" }                  -- larger files are kept by hash only
-- c.approvals = { timeout = "30m" }               -- unanswered approvals are denied after this time
-- c.search    = { url = "https://searx.example.org" }   -- for web_search: SearXNG, or any JSON with shape = "generic"
-- c.otlp      = { endpoint = "http://127.0.0.1:4318" }  -- sends spans and metrics to an OpenTelemetry collector
return c
