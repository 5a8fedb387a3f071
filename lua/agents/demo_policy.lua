-- The rules of the demo: two of them are there to be seen at work.
local p = require "sandglass.policy"
return p.rules {
  p.deny "no-pipe-to-sh" { cmd = { "curl *", "wget *" },
    say = "Downloads are off in this demo; use what is in the box." },
  p.ask  "no-push"       { cmd = "git push *", why = "publishing needs a person", risk = "high", timeout = "30s",
    on_timeout = "deny" },
}
