#!/usr/bin/env bash
# A rollback also reverts a background process's writes since the last snapshot, and its undo restores them.
. "$(dirname "$0")/lib.sh"
sg=$SANDGLASS
need jq
need_boxes
cd "$t" || exit 1
cat >work.lua <<'L'
local sg = require "sandglass"
local box <close> = sg.sandbox { name = "work" }
assert(box:exec "echo one >a")
assert(box:spawn "sleep 1; echo late >late; echo two >>a; while [ ! -e stop ]; do sleep 0.1; done; echo last >last; sleep 1h")
sg.mark "ready"
sg.sleep "1h"
L
id=$("$sg" run -d work.lua)
is_ready() { "$sg" events "$id" --json | grep -q '"text":"ready"'; }
has() { "$sg" sandbox cp -q "work:$1" "$t/got" 2>/dev/null; } # a get: no snapshot is taken for it
now() { rm -f got; has "$1" && cat got; }
snaps() { "$sg" events "$id" --json | jq -s 'map(select(.kind == "snapshot.taken")) | length'; }
wait_for 20 is_ready
ok $? 'a box with a process in the background'
act=$("$sg" events "$id" --json | jq -r 'select(.kind == "snapshot.taken" and .body.why == "action") | .seq' | head -1)
before=$(snaps)
wait_for 20 has late
ok $? 'it writes'
is "$(snaps)" "$before" 'which no snapshot has seen'
"$sg" rollback "$act" >"$t/out" 2>&1
ok $? 'a rollback to before it'
has late
is "$? $(now a)" '1 one' 'takes it away'
"$sg" undo >"$t/out" 2>&1
ok $? 'the rollback is undone'
is "$(now late) $(now a | xargs)" 'late one two' 'what the process wrote is there again'
is "$("$sg" events "$id" --json | jq -rs 'map(select(.kind == "snapshot.taken" and .body.why == "background")) | length > 0')" true 'for it was recorded first'
echo >stop && "$sg" sandbox cp -q stop work: && wait_for 20 has last
ok $? 'the process lives on over both'
"$sg" undo >"$t/out" 2>&1
has late
is "$? $(now a)" '1 one' 'an undo of the undo: gone again'
"$sg" undo >"$t/out" 2>&1
is "$(now late) $(now a | xargs) $(now last)" 'late one two last' 'and back, with its later writes'
"$sg" stop --now >/dev/null 2>&1
wait_for 20 sh -c "! '$sg' state"
"$sg" verify "$id" >"$t/out" 2>&1
ok $? 'the record verifies'
finish
