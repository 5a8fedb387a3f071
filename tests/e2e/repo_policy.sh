#!/usr/bin/env bash
# The trusted rules of a repository hold in every sandbox over it: from another directory, from below it, for sandboxes
# that open together, and after a resume.
. "$(dirname "$0")/lib.sh"
sg=$SANDGLASS
need_boxes
export SANDGLASS_SESSIONS=$t/sessions
mkdir -p "$t/repo/.sandglass" "$t/repo/src" "$t/other"
cd "$t/repo" || exit 1
git init -q . && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m base
echo 'local p = require "sandglass.policy" return p.rules { p.deny "no-marker" { cmd = "touch marker*" } }' >.sandglass/policy.lua
cat >"$t/turns.lua" <<'L'
return { { say = "go", call = { "shell", { cmd = "touch marker" } } }, { say = "done" } }
L
cat >"$t/two.lua" <<'L'
local sg = require "sandglass"
local a = sg.args { repo = ".", wait = "" }
local out = sg.map({ 1, 2, 3 }, function(i)
  local box = assert(sg.sandbox { repo = a.repo, name = "n" .. i })
  if a.wait ~= "" and i == 1 then sg.ask "continue?" end
  local r, err
  if i == 2 then r, err = assert(box:spawn "touch marker2"):wait() else r, err = box:exec "touch marker2" end
  return r and "ran" or err.rule
end)
print(table.concat(out, " "))
L
run() { timeout 60 "$sg" run --no-tui --no-input -e go --model "scripted:$t/turns.lua" --test true --name "$@" </dev/null >"$t/out" 2>&1; }
denied() { "$sg" show "$1" --json | grep -o '"denied":[0-9]*' | head -1; }
run untrusted --repo "$t/repo"
is "$(grep -c 'not trusted and was not loaded' "$t/out")" 1 'rules that nobody trusts are left out, with one warning'
"$sg" trust --yes >"$t/out" 2>&1
ok $? 'they are trusted'
cd "$t/other" || exit 1
run elsewhere --repo "$t/repo"
is "$(denied elsewhere)" '"denied":1' '--repo from another directory'
cd "$t/repo/src" || exit 1
run below
is "$(denied below)" '"denied":1' 'a run from below the repository'
is "$("$sg" policy explain 'touch marker' | head -1)" deny 'policy explain there'
deep=$t/repo$(printf '/d%.0s' {1..20})
mkdir -p "$deep"
is "$("$sg" -C "$deep" policy explain 'touch marker' | head -1)" deny 'and 20 directories below'
rm -r "$t/repo/d"
cd "$t" || exit 1
timeout 60 "$sg" run --no-tui --name three two.lua -- --repo repo </dev/null >"$t/out" 2>&1
like "$(cat "$t/out")" 'no-marker no-marker no-marker' 'three sandboxes of a script'
is "$("$sg" events three --json | grep -c '"kind":"policy.loaded".*repo/.sandglass')" 1 'the file is read once'
s=$("$sg" run -d --name kept two.lua -- --repo repo --wait yes </dev/null)
asks() { "$sg" state -S "$s" --json 2>/dev/null | grep -q 'continue?'; }
wait_for 20 asks
kill -9 "$("$sg" events "$s" --json | grep -oE '"pid":[0-9]+' | head -1 | grep -oE '[0-9]+')"
off() { "$sg" ls | grep -q interrupted; }
wait_for 10 off
"$sg" resume -d "$s" >"$t/out" 2>&1 </dev/null
wait_for 20 asks
"$sg" answer "$("$sg" state -S "$s" --json | grep -oE '"(ask|id|seq)":[0-9]+' | head -1 | grep -oE '[0-9]+')" yes -S "$s" >"$t/out" 2>&1
over() { "$sg" ls --json | grep "\"session\":\"$s\"" | grep -q '"live":false'; }
wait_for 20 over
like "$("$sg" events "$s")" 'no-marker no-marker no-marker' 'after a resume'
mkdir -p "$t/slow/.sandglass" && cd "$t/slow" || exit 1
echo 'for _ = 1, 3e7 do end return require "sandglass.policy".rules {}' >.sandglass/policy.lua
"$sg" trust --yes -q >"$t/out" 2>&1
cat >"$t/cancelled.lua" <<'L'
local sg = require "sandglass"
sg.timeout(0.01, function() return sg.sandbox { repo = sg.args { repo = "" }.repo } end)
assert(sg.sandbox { repo = sg.args { repo = "" }.repo, name = "later" })
L
cd "$t" || exit 1
timeout 60 "$sg" run --no-tui --name cancelled cancelled.lua -- --repo slow </dev/null >"$t/out" 2>&1
is "$("$sg" events cancelled --json | grep -c '"kind":"box.open"')" 1 'an opening that is cancelled while rules are read opens nothing'
mkdir -p "$t/strict/.sandglass" && cd "$t/strict" || exit 1
echo 'local p = require "sandglass.policy" return p.rules { default = "deny" }' >.sandglass/policy.lua
"$sg" trust --yes -q >"$t/out" 2>&1
timeout 100 "$sg" demo --no-tui -q </dev/null >"$t/out" 2>&1
is $? 0 'the demo has its own rules, wherever it is started'
finish
