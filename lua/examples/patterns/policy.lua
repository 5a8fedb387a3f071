-- For backends.lua, five.lua, injection.lua, least.lua, poisoned.lua and rights.lua: what stays in the box is free, nothing is
-- published; their actions on the host are named.
local p = require "sandglass.policy"
local sign = { "perl", "-MDigest::SHA=hmac_sha256_hex", "-e", "print hmac_sha256_hex(shift, $ENV{SIGN_KEY})", "--" }

return p.rules { default = "boxed",
  p.deny  "no-push"  { cmd = "git push ...", say = "Publishing requires approval." },
  p.allow "merge"    { kind = "merge" },                         -- five.lua merges into what you name
  p.allow "tools"    { where = "host", tool = { "page", "bring" } }, -- injection.lua: they may be called; the policy check of their
                                                                 -- effects (a host file for the sandbox) is separate
  p.allow "sign"     { where = "host", tool = "sign" },          -- rights.lua: one tool ...
  p.allow "sign.run" {                                           -- ... and the one program that it runs, word for word
    where = "host", tool = "sg.host.exec", cmd = "perl ...",
    when = function(act)
      local c = act.commands[1]
      return #act.commands == 1 and #c.words == #sign + 1 and table.concat(c.words, "\0", 1, #sign) == table.concat(sign, "\0")
    end,
  },
}
