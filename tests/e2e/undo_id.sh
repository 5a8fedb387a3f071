#!/usr/bin/env bash
# undo reverts only the change that its ID names; without an ID it reverts nothing older than the last undone change.
. "$(dirname "$0")/lib.sh"
sg=$SANDGLASS
need jq
need_boxes
cd "$t" || exit 1
git init -q repo
echo one >repo/f
git -C repo add -A
git -C repo commit -qm base
cat >work.lua <<'L'
local sg = require "sandglass"
local box = sg.sandbox { name = "work", repo = "repo" }
assert(box:run "echo two >>f")
assert(box:run "echo three >>f")
sg.ask { text = "continue?", choices = { "yes" } }
L
id=$("$sg" run -d work.lua 2>out)
wait_for 30 sh -c "'$sg' ls --waiting | grep -q '^$id#'"
events() { "$sg" events "$id" --json | jq -r "select(.kind == \"$1\") | .seq"; }
now() { "$sg" cat f --at "$id" --box work 2>/dev/null | xargs; }
undo() { "$sg" undo --json "$@" </dev/null >out 2>err || return 1; }
mapfile -t act < <("$sg" events "$id" --json | jq -r 'select(.kind == "action.requested" and .body.kind == "exec") | .seq')

"$sg" rollback "$id#${act[0]}" --box work >out 2>&1
back=$(events rollback.done | tail -1)
is "$(now)" 'one two' 'a rollback'
"$sg" merge -S "$id" --apply >out 2>&1
merge=$(events merge.done | tail -1)
is "$(xargs <repo/f)" 'one two' 'and a merge after it'
undo "$id#$((${act[0]} - 1))"
is "$? $(now) / $(xargs <repo/f) $(events merge.undone | wc -l)" '1 one two / one two 0' 'an ID of something else undoes nothing'
like "$(cat err out)" "#$merge .*#$back" 'and names what can be undone, the newest first'
undo "$id#999999"
is "$? $(xargs <repo/f)" '1 one two' 'nor does an ID that is not there'
undo "$id#$back"
is "$? $(now) / $(xargs <repo/f)" '0 one two three / one two' 'the ID of the rollback: that one, the merge stays'
back=$(events rollback.done | tail -1)
undo "$id#$merge"
is "$? $(now) / $(xargs <repo/f)" '0 one two three / one' 'the ID of the merge: that one'
undo "$id#$merge"
is "$? $(now) / $(xargs <repo/f)" '1 one two three / one' 'once more is an error'
"$sg" merge -S "$id" --apply >out 2>&1
merge=$(events merge.done | tail -1)
undo -S "$id"
is "$? $(now) / $(xargs <repo/f)" '0 one two three / one' 'without an ID: the newest, a merge'
undo -S "$id"
is "$? $(now) / $(xargs <repo/f)" '1 one two three / one' 'without an ID again: nothing older is taken'
like "$(cat err out)" "#$merge .*#$back" 'the error names the undone change, and the possible ones'
undo "$id#$back"
is "$? $(now)" '0 one two' 'which an ID takes'
undo -S "$id"
is "$? $(now)" '0 one two three' 'and that is the newest then'

# two merges, and the session has ended
"$sg" merge -S "$id" --apply --path f >out 2>&1
"$sg" stop --now -S "$id" >out 2>&1
wait_for 30 sh -c "'$sg' ls --json | grep '$id' | grep -qv running"
"$sg" merge "$id/work" --to second >out 2>&1
"$sg" merge "$id/work" --to third --path f >out 2>&1
mapfile -t merge < <(events merge.done)
undo "$id#${act[0]}"
is "$? $(events merge.undone | wc -l)" '1 2' 'after its end, too: an ID of something else undoes nothing'
like "$(cat err out)" "#${act[0]} .*#${merge[-1]}.*fork" 'and names the newest merge, and the way to its files'
undo "$id"
is "$? $(xargs <repo/f) $(jq -r '.result | (.of, .targets[].ref_deleted)' out | xargs)" "0 one two three ${merge[-1]} true" 'after its end: the newest, whose branch is deleted'
undo "$id"
is "$?" 1 'and nothing older'
undo "$id#${merge[-1]}"
is "$?" 1 'an undone change cannot be undone again'
undo "$id#${merge[2]}"
is "$? $(xargs <repo/f)" '0 one' 'an older one by its ID'
finish
