#!/usr/bin/env bash
# Undo of one action and copies: the copies are independent, and changes made before a copy can be undone in either.
. "$(dirname "$0")/lib.sh"
sg=$SANDGLASS
need jq
need_boxes
cd "$t" || exit 1
mkdir repo
seq 9 >repo/n
chmod -R a+rX repo
cat >work.lua <<'L'
local sg = require "sandglass"
local box = sg.sandbox { name = "src", repo = "repo" }
assert(box:exec "sed -i 's/^2$/two/' n; echo new >new")
assert(box:exec "sed -i 's/^8$/eight/' n")
local copy = assert(box:fork { name = "copy" })
assert(copy:exec "sed -i 's/^5$/five/' n")
sg.ask { text = "go on?", choices = { "yes" } }
sg.sleep "1h"
L
id=$("$sg" run -d work.lua 2>"$t/out")
asks() { "$sg" state -S "$1" 2>/dev/null | grep -q 'go on'; }
wait_for 20 asks "$id"
ok $? 'a box and its copy'
mapfile -t act < <("$sg" events "$id" --json | jq -r 'select(.kind == "action.requested" and .body.kind == "exec") | .seq')
now() { # session, box: the lines that differ, and whether the new file is there
	seq 9 | diff - <("$sg" cat n --at "$1" --box "$2" 2>/dev/null) | grep '^>' | cut -c3- | xargs
}
is "$(now "$id" src), $(now "$id" copy)" 'two eight, two five eight' 'each has what it did'
"$sg" undo "$id#${act[0]}" >"$t/out" 2>&1
ok $? 'an action of the source is undone after the copy was made'
is "$(now "$id" src), $(now "$id" copy)" 'eight, two five eight' 'in the source'
"$sg" undo "$id#${act[0]}" --box copy >"$t/out" 2>&1
ok $? 'and in the copy, which has it from there'
is "$(now "$id" src), $(now "$id" copy)" 'eight, five eight' 'and nowhere else'
"$sg" cat new --at "$id" --box copy >"$t/out" 2>&1
ok $((! $?)) 'with the file that it had made'
"$sg" undo -S "$id" >"$t/out" 2>&1
is "$(now "$id" src), $(now "$id" copy)" 'eight, two five eight' 'an undo without a number brings back what was undone last'
"$sg" undo "$id#${act[2]}" --box src >"$t/out" 2>&1
ok $((! $?)) 'what the copy did is not in the source'
like "$(cat "$t/out")" "didn't run in sandbox" 'which it says'
is "$(now "$id" src)" 'eight' 'and changes nothing'

# a session of its own: the same in its box, which stands for the first
new=$("$sg" fork "$id#$("$sg" events "$id" --json | jq -r 'select(.kind == "ask") | .seq')" -d --name new 2>"$t/out")
wait_for 20 asks "$new"
ok $? 'the session is forked'
is "$(now "$new" src), $(now "$new" copy)" 'two eight, two five eight' 'with its earlier files'
"$sg" undo "$new#${act[1]}" >"$t/out" 2>&1
ok $? 'an action from before is undone there'
is "$(now "$new" src), $(now "$new" copy)" 'two, two five eight' 'in the box that stands for its own'
"$sg" undo "$new#${act[1]}" --box copy >"$t/out" 2>&1
is "$(now "$new" src), $(now "$new" copy)" 'two, two five' 'and in the copy'
is "$(now "$id" src), $(now "$id" copy)" 'eight, two five eight' 'the first session is as it was'
"$sg" rollback "${act[0]}" --box src -S "$new" >"$t/out" 2>&1
is "$(now "$new" src)" 'two' 'a rollback there goes to before the fork'
for s in "$id" "$new"; do
	"$sg" stop --now -S "$s" >/dev/null 2>&1
	wait_for 20 sh -c "! '$sg' state -S '$s'"
	"$sg" verify "$s" >"$t/out" 2>&1
	ok $? 'the record verifies'
done
finish
