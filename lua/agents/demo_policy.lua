-- The rules of the demo: two of them exist to show policy at work. Its models are scripted and its files its own, so what
-- stays in a box is allowed also where boxes have no walls of their own (profile reduced).
local p = require "sandglass.policy"
return p.rules {
  default = "boxed",
  p.deny "no-pipe-to-sh" { cmd = { "curl *", "wget *" },
    say = "Downloads are off in this demo; use what is in the box." },
  p.ask  "no-push"       { cmd = "git push *", why = "publishing requires approval", risk = "high", timeout = "5m",
    on_timeout = "deny" },
}
