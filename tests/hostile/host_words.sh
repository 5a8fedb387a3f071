#!/usr/bin/env bash
# A host command runs exactly the program that the rules checked: its first argument, however it is spelled.
. "$(dirname "$0")/../e2e/lib.sh"
cat >"$t/policy.lua" <<'L'
local p = require "sandglass.policy"
return p.rules { default = "allow", p.deny "no-touch" { cmd = "touch *" } }
L
cat >"$t/words.lua" <<'L'
local sg = require "sandglass"
local a = sg.args { "path" }
local function try(...)
  local r, err = sg.host.exec({ ... }, { env = { GIVEN = "yes" } })
  print(select(1, ...), r and "ran" or err.code .. ": " .. err.msg)
end
try("touch", a.path)
try("A=B", "touch", a.path)
try("", "touch", a.path)
try("--", "touch", a.path)
try("-S", "touch " .. a.path)
print("variables", assert(sg.host.exec({ "printenv", "GIVEN" }, { env = { GIVEN = "yes" } })).out)
L
timeout 60 "$SANDGLASS" run "$t/words.lua" --policy "$t/policy.lua" --no-input -- "$t/touched" >"$t/out" 2>&1 </dev/null
is $? 0 'the script comes to its end'
like "$(cat "$t/out")" 'touch +denied' 'a program that a rule denies is denied'
like "$(cat "$t/out")" 'A=B +denied' 'a variable in front of it does not hide it'
[ ! -e "$t/touched" ]
ok $? 'nor does anything else'
like "$(cat "$t/out")" 'variables +yes' 'variables that are given as such are set'
finish
