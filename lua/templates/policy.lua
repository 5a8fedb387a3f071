-- The rules of this project. 'sandglass policy check' reads them; 'sandglass policy explain CMD'
-- shows their verdict on a command. They add to your own rules and those of the host. The strictest
-- verdict wins (deny > ask > allow); order doesn't matter. Without a matching rule ("boxed"), an
-- action that stays in the sandbox is allowed, and an action that leaves it requires your approval.
-- If an agent changes this file, nothing happens: only the version that you trust counts
-- ('sandglass trust').
local p = require "sandglass.policy"
return p.rules { default = "boxed",
  p.ask  "no-push"   { cmd = "git push *", why = "publishing requires approval" },
  p.ask  "ci-files"  { kind = { "write", "edit" }, path = { ".github/**", ".gitlab-ci.yml" },
    why = "runs elsewhere later" },
  p.deny "no-force"  { cmd = { "git push ... --force*", "git push ... -f" },
    say = "No forced pushes. Say what you need." },
  p.deny "secrets"   { path = { "**/.env*", "**/id_*" },
    say = "Secrets are off limits. Say what you need." },
  -- Pages that agents may read without approval (web_fetch, web_search):
  -- p.allow "docs"  { kind = "fetch", host = { "docs.example.org" }, method = "GET" },
  -- Connections that require approval after the agent has read untrusted content:
  -- p.ask "outside" { kind = "connect", tainted = true, why = "untrusted content was read" },
  -- Commands with a longer time limit:
  -- p.allow "tests" { cmd = "make test", limit = { time = "10m" } },
}
