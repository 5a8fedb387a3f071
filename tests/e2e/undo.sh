#!/usr/bin/env bash
# undo SESSION#n reverts one action's changes on the current files; other changes stay.
. "$(dirname "$0")/lib.sh"
sg=$SANDGLASS
need jq
boxes || { skip 'boxes cannot be opened here'; finish; }
mkdir "$t/repo"
seq 1 30 >"$t/repo/long"
printf 'one\n' >"$t/repo/short"
cat >"$t/work.lua" <<'L'
local sg = require "sandglass"
local a = sg.args { repo = "." }
local box = sg.sandbox { name = "work", repo = a.repo }
for _, cmd in ipairs {
  "sed -i 's/^3$/three/' long; echo new > added",
  "sed -i 's/^28$/twenty-eight/' long",
  "echo two >> short",
  "echo three >> short",
  "rm added; chmod +x short",
} do assert(box:exec(cmd)) end
sg.ask { text = "go on?", choices = { "yes" } }
print((assert(box:exec "head -3 long; cat short; ls").out))
L
"$sg" run -d "$t/work.lua" -- --repo "$t/repo" >"$t/out" 2>&1
ok $? 'a session runs'
wait_for 30 sh -c "'$sg' state 2>/dev/null | grep -q 'go on'"
ok $? 'and asks'
id=$("$sg" ls --json | jq -r .session | head -1)
mapfile -t act < <("$sg" events "$id" --json | jq -r 'select(.kind == "action.requested" and .body.kind == "exec") | .seq')
is ${#act[@]} 5 'five actions'
now() { "$sg" cat "$1" --at "$id" --box work 2>/dev/null; }
"$sg" undo "$id#${act[0]}" >"$t/out" 2>&1
ok $? 'the first is undone'
like "$(cat "$t/out")" 'long' 'it says what was put back'
is "$(now long | sed -n '3p;28p' | xargs)" '3 twenty-eight' 'its line is as it was, a later one in the same file stays'
is "$(now short | xargs)" 'one two three' 'other files stay'
"$sg" undo "$id#${act[2]}" >"$t/out" 2>&1
is $? 1 'it is refused if later work changed the same lines'
like "$(cat "$t/out")" 'short' 'with the name of the file'
is "$(now short | xargs)" 'one two three' 'and nothing was changed'
"$sg" undo "#${act[3]}" >"$t/out" 2>&1
ok $? 'the later one first'
"$sg" undo "#${act[2]}" >"$t/out" 2>&1
ok $? 'then the earlier one'
is "$(now short | xargs)" 'one' 'is all undone'
by=$(grep -oE '\(#[0-9]+\)$' "$t/out" | tr -d '()')
"$sg" undo "#${act[2]}" >"$t/out" 2>&1
is "$? $(grep -c "#${act[2]} is already undone by $by;" "$t/out") $(now short | xargs)" '1 1 one' 'once more is refused, with the number of the undo'
"$sg" undo >"$t/out" 2>&1
is "$(now short | xargs)" 'one two' 'an undo without a number takes the last one back'
"$sg" undo >"$t/out" 2>&1
is "$(now short | xargs)" 'one' 'and is an undo of its own, that the next undo takes back'
"$sg" undo >"$t/out" 2>&1
is "$(now short | xargs)" 'one two' 'which an undo takes back'
is "$("$sg" events "$id" --json | jq -r 'select(.kind == "rollback.done" and .body.how == "undo" and .body.of != null and .body.why == null) | .body.of' | xargs)" \
	"${act[0]} ${act[3]} ${act[2]}" 'each stands in the record'
# a redo's changes taken over: the second run changed its own box, promote makes exactly that so in the first one's
"$sg" undo >"$t/out" 2>&1
is "$(now short | xargs)" 'one' 'and back again'
"$sg" undo >"$t/out" 2>&1
is "$(now short | xargs)" 'one two' 'an undo of an undo restores what that took back'
"$sg" undo --again >"$t/out" 2>&1
is $? 2 'undo --again is gone'
"$sg" hold kind:write >"$t/out" 2>&1
"$sg" undo >"$t/out" 2>&1
is "$(cat "$t/out") $("$sg" state --json | jq -r '.result.hold')" 'no breakpoint is set, as before ' 'a hold that was set last is what is taken back'
is "$(now short | xargs)" 'one two' 'and no file'
"$sg" undo >"$t/out" 2>&1
# whose it is: the person's, wherever the author of a change is named
me=$(id -un)
out=$("$sg" when three --path long --at "$id")
like "$out" "vanished .* by #[0-9]+ undo of #${act[0]} by $me" 'when tells an undo as the deed of its person'
"$sg" rollback "$id#${act[4]}" --box work >"$t/out" 2>&1
out=$("$sg" blame short --at "$id")
like "$out" "^#[0-9]+ rollback to #${act[4]} by $me\$" 'blame a rollback'
unlike "$out" 'unknown' 'which has no verdict'
like "$("$sg" blame short --at "$id" --json | tail -1)" "\"kind\":\"rollback\",\"what\":\"rollback to #${act[4]}\",\"by\":\"$me\"" 'in JSON, too'
out=$("$sg" export "$id" -F md)
like "$out" "^- \*\*#[0-9]+\*\* .undo of #${act[0]}. by .$me.: [0-9] change" 'a report names what was taken back'
like "$("$sg" show "$id#$("$sg" events "$id" --json | jq -r 'select(.kind == "snapshot.taken") | .seq' | tail -1)")" "rollback \(rollback to #${act[4]} by $me\)" 'show'
"$sg" export "$id" -F git -o "$t/git" >"$t/out" 2>&1
like "$(git -C "$t/git" log --all --format='%an: %s')" "^$me: undo of #${act[0]}\$" 'and the history as git'
"$sg" undo >"$t/out" 2>&1
again=$("$sg" repeat "$id#${act[2]}" --json 2>/dev/null | jq -r .action)
"$sg" apply "$id#$again" >"$t/out" 2>&1
ok $? 'a second run is promoted'
like "$(cat "$t/out")" "#$again .* work: 1 change: short \(#[0-9]+\)" 'with the sandbox, the file, and the event'
like "$("$sg" blame short --at "$id")" "^#[0-9]+ promote of #$again by $me\$" 'and is the deed of its person'
is "$("$sg" apply "$id#$again" --json | jq -r '.result | "\(.again) \(.changes) \(.box)"')" "$again 0 work" 'once more changes nothing'
is "$(now short | xargs)" 'one two' 'its change is in the box'
is "$(now long | sed -n '3p;28p' | xargs)" '3 twenty-eight' 'and nothing else'
is "$("$sg" events "$id" --json | jq -r "select(.kind == \"action.requested\" and .body.tool == \"redo\") | .body.kind + \" \" + (.body.args.redo | tostring)" | head -1)" "rollback $again" 'as an action'
is "$("$sg" events "$id" --json | jq -r 'select(.kind == "rollback.done" and .body.how == "redo" and .body.why == null and .body.ops > 0) | .body.of')" "$again" 'and is recorded'
"$sg" undo >"$t/out" 2>&1
is "$(now short | xargs)" 'one' 'undo takes it back'
again=$("$sg" repeat "$id#${act[3]}" --json 2>/dev/null | jq -r .action)
"$sg" apply "$id#$again" >"$t/out" 2>&1
is $? 1 'where the box has other lines there it is refused'
like "$(cat "$t/out")" 'other work in the same place of short; nothing was changed' 'in one clear line'
is "$(now short | xargs)" 'one' 'and nothing was changed'
"$sg" apply "$id#${act[1]}" >"$t/out" 2>&1
ok $((! $?)) 'a first run is none'
"$sg" merge --apply >"$t/out" 2>&1
"$sg" undo >"$t/out" 2>&1
like "$(cat "$t/out")" "^merge #[0-9]+ undone; [1-9] files? put back in $t/repo" 'an undone merge is reported in a sentence'
"$sg" undo "$id#999999" >"$t/out" 2>&1
ok $((! $?)) 'there is nothing at a number that nobody gave'
# after a kill and a resume the box of the first run is another, with its files
"$sg" undo "$id#${act[1]}" >"$t/out" 2>&1
again=$("$sg" repeat "$id#${act[1]}" --json 2>/dev/null | jq -r .action)
pid=$(supervisor "$id")
kill -9 "$pid"
wait_for 30 sh -c "! kill -0 $pid"
fails 'a session that does not run is named' "2 noent '$id'" "$sg" apply "$id#$again"
"$sg" resume -d "$id" >"$t/out" 2>&1
wait_for 30 sh -c "'$sg' state 2>/dev/null | grep -q 'go on'"
"$sg" apply "$id#$again" >"$t/out" 2>&1
ok $? 'resumed, a second run of before can be promoted'
is "$(now long | sed -n 28p)" twenty-eight 'into the box that stands for the first'"'"'s'
"$sg" stop --now >/dev/null 2>&1
wait_for 20 sh -c "! '$sg' state"
"$sg" undo "$id#${act[1]}" >"$t/out" 2>&1
ok $((! $?)) 'after the end the sandbox is gone'
like "$(cat "$t/out")" 'fork' 'and it says what to do'
out=$("$sg" replay "$id" --screen --view tree --size 120x36 2>&1)
like "$out" '^ M long  .*file' 'replay lists the files as they are at the cursor'
like "$out" '1 1$' 'with the content of the first'
"$sg" verify "$id" >"$t/out" 2>&1
ok $? 'the record verifies'
finish
