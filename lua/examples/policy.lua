-- policy.lua: found in the project, in ~/.config/sandglass/ and in /etc/sandglass/. All are read.
-- Strictest verdict wins (deny > ask > allow), so order does not matter. No match: `default`, else by isolation.
local p = require "sandglass.policy"
return p.rules { default = "ask",
  p.allow "look"      { cmd = { "ls *", "cat *", "rg *", "git status", "git diff *", "git log *" } },
  p.allow "tests"     { cmd = { "make test", "make -j* test", "npm test *" }, limit = { time = "5m" } },
  p.allow "edits"     { kind = { "write", "edit" }, path = { "src/**", "test/**", "docs/**" } },
  p.ask  "no-push"    { cmd = "git push *", why = "publishing requires approval", timeout = "10m" },
  p.ask  "ci-files"   { kind = { "write", "edit" }, path = { ".github/**", "**/Makefile" }, why = "runs elsewhere later" },
  p.ask  "net.egress" { kind = "connect", host = { "!packages.example.org", "!*.example.net" }, risk = "high" },
  p.ask  "host-tools" { where = "host", tool = { "!web_search" } },
  p.deny "secrets"    { path = { "**/.env*", "**/id_*", "~/.aws/**" }, say = "Secrets are off limits; ask for what you need." },
  p.deny "force"      { cmd = { "git push ... --force*", "git push ... -f", "git push ... +*" } },
  p.ask  "big-delete" {
    kind = "exec", risk = "high", confirm = "type",              -- the user types the sandbox's name
    when = function(act)                                          -- pure function; gets parsed words
      for _, c in ipairs(act.commands) do                         -- every command of a && b | c
        if c.words[1] == "rm" and #c:targets() > 5 then return true, "removes " .. #c:targets() .. " paths" end
      end
    end,
  },
}
