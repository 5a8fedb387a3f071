#!/usr/bin/env bash
# Rules that you add for a pending action: shown first, recorded, written, in force at once and in the next run, and
# their limits. Also typed confirmations, notes for the recording, and timed session approvals.
. "$(dirname "$0")/lib.sh"
sg=$SANDGLASS
boxes || { skip 'no box can be opened here'; finish; }
mkdir -p "$t/p/.sandglass"
cd "$t/p" || exit 1
cat >.sandglass/policy.lua <<'L'
local p = require "sandglass.policy"
return p.rules {
  p.ask "no-push" { cmd = "echo push *", why = "publishing needs a person" },
  p.ask "typed" { cmd = "echo drop *", risk = "high", confirm = "type" },
  p.deny "force" { cmd = "echo push ... --force" },
}
L
"$sg" trust --yes >"$t/out"
cat >six.lua <<'L'
local sg = require "sandglass"
local box <close> = sg.sandbox { name = "work" }
for _, cmd in ipairs { "echo push fix/a", "echo push fix/b", "echo push fix/c --force", "echo push main", "echo drop all" } do
  local r, err = box:exec(cmd)
  print(r and "ran: " .. r.out or ("not run: %s"):format(err))
end
L
held() { "$sg" state -S "$1" --json 2>/dev/null | grep -oE '"action": ?[0-9]+' | head -1 | grep -oE '[0-9]+'; }
is_held() { [ -n "$(held "$1")" ]; }
other() { h=$(held "$1") && [ -n "$h" ] && [ "$h" != "$2" ]; }
ended() { ! "$sg" ls --live 2>/dev/null | grep -q "$1"; }
start() { "$sg" run -d six.lua --name "$1" --json 2>"$t/out" | grep -oE '"session":"[^"]*' | cut -d'"' -f4; }

one=$(start one)
wait_for 20 is_held "$one"
ok $? 'the first push is held'
a=$(held "$one")
"$sg" waivers "$a" 'echo push fix/*' --rule allow -S "$one" --json >"$t/out" 2>&1
like "$(cat "$t/out")" '"then": ?"allow"' 'looked at first: it would let this one through'
like "$(cat "$t/out")" 'lifts = \\"no-push\\"' 'the text of the rule names the ask that it answers'
[ ! -e .sandglass/added.lua ]
ok $? 'looking writes nothing'
"$sg" waivers "$a" 'echo *' --rule allow -S "$one" --json >"$t/out" 2>&1
like "$(cat "$t/out")" '"wide": ?true' 'a wide rule is marked as wide'
"$sg" approve "$a" --rule 'ls *' -S "$one" >"$t/out" 2>&1
like "$?$(cat "$t/out")" '^[1-9].*would not allow' 'a rule that would not decide this action is refused'
is_held "$one" && [ ! -e .sandglass/added.lua ]
ok $? 'and nothing was done'
"$sg" approve "$a" --rule 'echo push fix/*' --note 'branches are "free"' -S "$one" >"$t/out" 2>&1
is $? 0 'approve with a rule'
like "$(cat .sandglass/added.lua)" 'p.allow "added-echo-push-fix" \{ kind = "exec", cmd = "echo push fix/\*", lifts = "no-push", why = "branches are \\"free\\"" \},' 'it is in the file'
"$sg" policy check .sandglass/added.lua >"$t/out" 2>&1
is $? 0 'which is a policy file'
wait_for 20 other "$one" "$a"
b=$(held "$one")
like "$("$sg" events "$one")" 'ran: fix/b|push fix/b' 'the next one ran'
out=$("$sg" events "$one" --json)
like "$(printf '%s' "$out" | grep 'policy.added')" '"name": ?"added-echo-push-fix"' 'the record has the rule'
like "$(printf '%s' "$out" | grep 'policy.added')" '"who": ?\{' 'and who added it'
like "$(printf '%s' "$out" | grep 'action.decided')" '"rule": ?"added-echo-push-fix"' 'the decision names it'
like "$(printf '%s' "$out" | grep 'action.decided')" '"note": ?"branches are' 'and has the note'
like "$(printf '%s' "$out" | grep -m1 '"note".*not run')" 'off|forbid|not run' 'a denied action stays denied'
like "$("$sg" state -S "$one" --json)" 'echo push main' 'what the rule does not match is held'
"$sg" defer "$b" --note 'ask ann first' -S "$one" >"$t/out" 2>&1
is $? 0 'later, with a note'
like "$("$sg" show "$one" --handoff 2>&1)" 'ask ann first' 'the handoff summary shows the note'
like "$("$sg" show "$one" --handoff --json 2>&1)" '"script": ?"[^"]*six\.lua"' 'and names the script'
"$sg" approve "$b" --note 'only this once' -S "$one" >"$t/out" 2>&1
wait_for 20 other "$one" "$b"
c=$(held "$one")
like "$("$sg" show "$one" --handoff 2>&1)" 'only this once' 'a decision is shown with its note'
fails 'a rule wants the name typed: the command says which' '1 denied --confirm work' "$sg" approve "$c" -S "$one"
fails 'another word is not it' "1 denied 'wrok'" "$sg" approve "$c" --confirm wrok -S "$one"
"$sg" approve "$c" --confirm work -S "$one" >"$t/out" 2>&1
is $? 0 'the right one is'
wait_for 20 ended "$one"
ok $? 'the session ends'
"$sg" verify "$one" >"$t/out" 2>&1
is $? 0 'the record verifies'

# the next run here
two=$(start two)
wait_for 20 is_held "$two"
like "$("$sg" state -S "$two" --json)" 'echo push main' 'the next run: what the rule matches is not asked again'
d=$(held "$two")
"$sg" deny "$d" --rule 'echo push main' --note 'main is closed' -S "$two" >"$t/out" 2>&1
is $? 0 'deny with a rule'
like "$(cat .sandglass/added.lua)" 'p.deny "added-no-echo-push-main"' 'it follows the first'
"$sg" policy check .sandglass/added.lua >"$t/out" 2>&1
like "$(cat "$t/out")" '2 rules' 'both are read'
wait_for 20 other "$two" "$d"
"$sg" deny "$(held "$two")" -S "$two" >"$t/out" 2>&1
wait_for 20 ended "$two"

# a file that another program has changed
echo '-- mine' >>.sandglass/added.lua
three=$(start three)
wait_for 20 is_held "$three"
like "$("$sg" events "$three")" 'added.lua.*not trusted' 'a changed file does not count'
e=$(held "$three")
like "$("$sg" state -S "$three" --json)" 'echo push fix/a' 'so it asks again'
before=$(cat .sandglass/added.lua)
fails 'no rule is added to it' "1 denied added.lua' 'sandglass trust'" "$sg" approve "$e" --rule 'echo push fix/*' -S "$three"
is "$(cat .sandglass/added.lua)" "$before" 'it is as it was'
"$sg" approve "$e" --session 'echo push *' --uses 1 -S "$three" >"$t/out" 2>&1
is $? 0 'for the session, once more'
wait_for 20 other "$three" "$e"
like "$("$sg" state -S "$three" --json)" 'echo push main' 'one more ran, the one after is held'
"$sg" stop --now -S "$three" >/dev/null 2>&1
wait_for 20 ended "$three"
finish
