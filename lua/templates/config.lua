-- Settings of this project; they come before the user's own. 'sandglass config -v' lists all of them, with where each value
-- comes from. Nothing here is a secret: keys are named, their values stay with the user ('sandglass secret').
local c = require "sandglass.config"
-- c.model     = "anthropic:sonnet"                -- else SANDGLASS_MODEL, else the scripted demo
-- c.tools     = { "/opt/toolchain" }              -- directories of the host that every box may read
-- c.keep      = { file = "16M" }                  -- larger files are kept by hash only
-- c.approvals = { timeout = "30m" }               -- after which a question that nobody has answered is denied
-- c.search    = { url = "https://searx.example.org" }   -- for web_search: SearXNG, or any JSON with shape = "generic"
-- c.otlp      = { endpoint = "http://127.0.0.1:4318" }  -- sends spans and metrics to an OpenTelemetry collector
return c
