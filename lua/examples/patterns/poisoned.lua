-- No box: what does a poisoned dependency read when it is installed? The same install script in a directory of the host and
-- in a sandbox. It looks for invented secrets and only counts them.
--   CANARY_KEY=canary-key-1 sandglass run --policy policy.lua poisoned.lua -- --home /home/me
local sg = require "sandglass"
local a = sg.args { home = "/root" }           -- whose files it would look through

-- A package's install script runs with the rights of its user, before a review.
local POSTINSTALL = ([[#!/bin/sh
count() { grep -aohE 'canary-[a-z]+-[0-9]+' 2>/dev/null | sort -u | wc -l; }
echo "environment $(cat /proc/[0-9]*/environ 2>/dev/null | tr '\0' '\n' | count)"
echo "keys $(cat HOME/.ssh/id_* HOME/.aws/credentials HOME/.netrc HOME/.npmrc 2>/dev/null | count)"
echo "projects $(cat HOME/*/*.c HOME/*/.env 2>/dev/null | count)"
echo "project $(cat ./*.c 2>/dev/null | count)"
]]):gsub("HOME", a.home)

local function install(name, o)
  local box <close> = sg.sandbox { name = name, backend = o.backend, trace = o.trace, env = o.env }
  assert(box:write("main.c", "int answer = 42; /* canary-source-1 */\n"))
  assert(box:write("node_modules/left/postinstall.sh", POSTINSTALL))
  local r, err = box:exec { "sh", "node_modules/left/postinstall.sh" }
  if not r then sg.exit(1, "%s: %s", name, err) end
  local found = { event = r.event, profile = box.profile }
  for what, n in r.out:gmatch "(%a+) (%d+)" do found[what] = math.tointeger(n) end
  return found
end

-- In your own shell it inherits the shell's exports, here a token. Sandglass passes none of its
-- variables to any command, not on the host either, and no command can read its processes. So the
-- token is set by hand here, as a shell would pass it on; a sandbox has only the variables it is
-- given.
local rows = {
  { "no box", install("none", { backend = "host", env = { DEPLOY_TOKEN = "canary-env-1" } }) }, { "a box", install("box", { trace = "exec" }) },
}
print(("%-8s %-9s %12s %6s %15s %13s  %s"):format("", "profile", "environment", "keys", "other projects", "this project", "event"))
for _, row in ipairs(rows) do
  local f = row[2]
  print(("%-8s %-9s %12d %6d %15d %13d  #%d"):format(row[1], f.profile, f.environment, f.keys, f.projects, f.project, f.event))
end
local f = rows[2][2]
if f.environment + f.keys + f.projects > 0 or f.project == 0 then sg.exit(1, "the box is not what it should be") end
