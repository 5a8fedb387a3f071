#!/usr/bin/env bash
# init and new: their files are valid and trusted, and existing files stay.
. "$(dirname "$0")/lib.sh"
sg=$SANDGLASS
mkdir "$t/p"
cd "$t/p" || exit 1
"$sg" init >"$t/out" 2>&1 </dev/null
ok $? 'init'
is "$(find . -type f | LC_ALL=C sort | tr '\n' ' ')" './.luarc.json ./.sandglass/.types/config.d.lua ./.sandglass/.types/policy.d.lua ./.sandglass/.types/sandglass.d.lua ./.sandglass/.types/suite.d.lua ./.sandglass/.types/verify.d.lua ./.sandglass/config.lua ./.sandglass/policy.lua ' 'its files'
"$sg" policy check .sandglass/policy.lua >"$t/out" 2>&1
ok $? 'the rules are right'
like "$("$sg" policy explain 'git push origin main' 2>&1)" 'no-push at .sandglass/policy.lua' 'and hold'
like "$("$sg" config model 2>&1)" '^model' 'the settings are right'
unlike "$("$sg" config 2>&1)" 'not trusted' 'and trusted'
python3 -c 'import json; json.load(open(".luarc.json"))'
ok $? 'editors can read theirs'
cmp -s .sandglass/.types/sandglass.d.lua "$here/../../lua/meta/sandglass.d.lua"
ok $? 'the types are those of this version'
echo '-- mine' >>.sandglass/policy.lua
"$sg" init >"$t/out" 2>&1 </dev/null
like "$(cat "$t/out")" 'kept +.sandglass/policy.lua' 'again: existing files stay'
is "$(tail -1 .sandglass/policy.lua)" '-- mine' 'as it was'
like "$("$sg" trust 2>&1 </dev/null)" 'changed +./.sandglass/policy.lua' 'and a change wants trust again'
"$sg" init --force >"$t/out" 2>&1 </dev/null
unlike "$(cat .sandglass/policy.lua)" 'mine' '--force writes over it'
# every line that is commented out in the settings is right when it is not
sed -E 's/^-- (c\.)/\1/' .sandglass/config.lua >"$t/all.lua"
"$sg" config --config "$t/all.lua" >"$t/out" 2>&1
ok $? 'every setting that is proposed exists'
like "$(cat "$t/out")" 'searx.example.org' 'and counts'
sed -E 's/^  -- (p\.)/  \1/' .sandglass/policy.lua >"$t/rules.lua"
"$sg" policy check "$t/rules.lua" >"$t/out" 2>&1
ok $? 'every rule that is proposed is right'
rm -rf .sandglass
ln -s "$t/elsewhere" .sandglass
mkdir -p x/.sandglass && ln -s "$t/elsewhere" x/.sandglass/policy.lua
"$sg" init x --force >"$t/out" 2>&1 </dev/null
[ $? -ne 0 ] && [ ! -e "$t/elsewhere" ]
ok $? 'a link is not followed'
like "$(cat "$t/out")" 'not a regular file' 'and named'
"$sg" init /nowhere/at/all >"$t/out" 2>&1 </dev/null
[ $? -ne 0 ]
ok $? 'a folder that is not there'

# --- a guard that matches less than it seems to is reported ---
cat >"$t/narrow.lua" <<'L'
local p = require "sandglass.policy"
return p.rules {
  p.ask "a" { cmd = "git push" }, p.deny "b" { cmd = { "rm *", "dd*" } }, p.deny "c" { cmd = { "git push ... -f", "mkfs *", "!ls" } },
  p.allow "d" { cmd = "git status" },
}
L
"$sg" policy check "$t/narrow.lua" >"$t/out" 2>&1
is $? 0 'the file is a policy'
is "$("$sg" policy check "$t/narrow.lua" --json | grep '"doubt":' | grep -oE '"(kind|pattern)":"[^"]*"' | tr '\n' ' ')" '"kind":"bare" "pattern":"git push" ' 'an ask whose pattern ends with a word is named'
finish
