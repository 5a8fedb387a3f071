-- The rules of this project. 'sandglass policy check' reads them, 'sandglass policy explain WORDS' says what they make of a
-- command. They add to those of the user and of the system: the strictest verdict wins (deny > ask > allow), order does
-- not matter. Without a matching rule ("boxed"), an action that stays in the sandbox is allowed, and one that leaves it requires
-- approval.
-- An agent that changes this file changes nothing: it counts only as you have trusted it ('sandglass trust').
local p = require "sandglass.policy"
return p.rules { default = "boxed",
  p.ask  "no-push"   { cmd = "git push *", why = "publishing requires approval" },
  p.ask  "ci-files"  { kind = { "write", "edit" }, path = { ".github/**", ".gitlab-ci.yml" }, why = "runs elsewhere later" },
  p.deny "no-force"  { cmd = { "git push ... --force*", "git push ... -f" }, say = "No forced pushes. Say what you need." },
  p.deny "secrets"   { path = { "**/.env*", "**/id_*" }, say = "Secrets are off limits. Say what you need." },
  -- Pages that agents may read without a question (web_fetch, web_search):
  -- p.allow "docs"  { kind = "fetch", host = { "docs.example.org", "*.example.net" }, method = "GET" },
  -- Actions that an agent may no longer take after it has read untrusted content:
  -- p.ask "outside" { kind = "connect", tainted = true, why = "it has read untrusted content" },
  -- Commands that take long here:
  -- p.allow "tests" { cmd = "make test", limit = { time = "10m" } },
}
