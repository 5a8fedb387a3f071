#!/usr/bin/env bash
# The id of an action, or of its end, names the files that it left: for rollback, diff, tree, cat, and both kinds of
# fork. Its snapshot comes after its end.
. "$(dirname "$0")/lib.sh"
sg=$SANDGLASS
need jq
need_boxes
cd "$t" || exit 1
mkdir -p repo/a repo/b
echo 0 >repo/a/n
echo 0 >repo/b/n
chmod -R a+rX repo
cat >work.lua <<'L'
local sg = require "sandglass"
local box = sg.sandbox { name = "work", repos = { a = "repo/a", b = "repo/b" } }
local act = {}
for i = 1, 4 do act[i] = assert(box:exec("echo " .. i .. " | tee a/n b/n; echo run >>a/runs")).event end
local function has(b, what) return what .. " " .. assert(b:exec "cat a/n b/n").out:gsub("%s", "") end
sg.ask { text = "which?", choices = { "go" } }
print(has(assert(box:fork { name = "copy", at = act[2] }), "copy"))
print("since " .. assert(box:diff(act[2])):stat():match "%d+ file")
assert(box:rollback(act[2]))
print(has(box, "back"))
sg.ask { text = "end?", choices = { "yes" } }
L
id=$("$sg" run -d work.lua 2>"$t/out")
asks() { "$sg" state -S "${2:-$id}" 2>/dev/null | grep -q "$1"; }
wait_for 20 asks 'which'
ok $? 'a script with four actions waits'
mapfile -t act < <("$sg" events "$id" --json | jq -r 'select(.kind == "action.requested" and .body.kind == "exec") | .seq')
mapfile -t end < <("$sg" events "$id" --json | jq -r 'select(.kind == "action.ended" and .box != 0) | .seq')
is "${#act[@]} ${#end[@]}" '4 4' 'which have ended'
now() { echo "$("$sg" cat a/n --at "$id" --box work 2>/dev/null)$("$sg" cat b/n --at "$id" --box work 2>/dev/null)"; }
for at in "${act[1]}" "${end[1]}"; do
	is "$("$sg" cat a/n --at "$id#$at") $("$sg" cat b/n --at "$id#$at")" '2 2' "cat at #$at"
	rm -rf tree
	"$sg" tree "$id#$at" -o tree >"$t/out" 2>&1
	is "$(cat tree/a/n tree/b/n | xargs)" '2 2' "tree -o at #$at"
	is "$("$sg" diff "$id#$at" "$at" --path n | grep '^[+-][0-9]' | xargs)" '-1 +2 -1 +2' "diff $at $at is what it did"
	"$sg" rollback "$at" -S "$id" >"$t/out" 2>&1
	is "$(now)" 22 "rollback to #$at"
	"$sg" undo -S "$id" >"$t/out" 2>&1
	is "$(now)" 44 'and undone'
done
said() { "$sg" events "$1" --json | jq -r 'select(.kind == "note") | .body.text'; }
question() { "$sg" events "$1" --json | jq -r 'select(.kind == "ask") | .seq' | tail -1; }
"$sg" answer "$(question "$id")" go -S "$id" >"$t/out" 2>&1
wait_for 20 asks 'end?'
ok $? 'the script continues'
is "$(said "$id" | xargs)" 'copy 22 since 3 file back 22' "fork, diff, and rollback take an action's id for its result"
"$sg" stop --now -S "$id" >/dev/null 2>&1
wait_for 20 sh -c "! '$sg' state -S '$id'"
# a new session: nothing is done again
copy=$("$sg" fork "$id#${end[1]}" -d --name at-end 2>"$t/out")
wait_for 20 asks 'which' "$copy"
ok $? 'a session forked at the end of an action'
now_of() { echo "$("$sg" cat a/n --at "$copy" --box work)$("$sg" cat a/runs --at "$copy" --box work | wc -l)"; }
is "$(now_of)" 44 'each action has run once'
"$sg" verify "$copy" >"$t/out" 2>&1
ok $? 'the record verifies'
finish
