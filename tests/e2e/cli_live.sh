#!/usr/bin/env bash
# The verbs of the console from another shell: which session is meant, who decides first, what a watcher sees.
. "$(dirname "$0")/lib.sh"
sg=$SANDGLASS
if ! boxes; then
	skip 'no box can be opened here'
	finish
fi
cd "$t" || exit 1
cat >live.lua <<'LUA'
local sg = require "sandglass"
local box <close> = sg.sandbox {}
local r, err = box:exec "echo first"
print(r and "ran: " .. r.out or "not run: " .. tostring(err))
r, err = box:exec "echo second"
print(r and "ran: " .. r.out or "not run: " .. tostring(err))
LUA
held() { "$sg" state -S "$1" --json | grep -o '"action":[0-9]*' | head -1 | cut -d: -f2; }
is_held() { [ -n "$(held "$1")" ]; }
ended() { ! "$sg" ls --live --json | grep -q "\"$1\""; }

one=$("$sg" run -d live.lua --hold kind:exec --name one)
like "$one" '^s-[a-z0-9]{6}$' 'run -d prints the id'
wait_for 10 is_held "$one"
ok $? 'its first command is held'
like "$("$sg" state)" '^HELD #[0-9]+ .*exec: echo first' 'state says what waits'
like "$("$sg" ls --live)" "^$one +waiting .*\(1 held\)" 'ls says so'
like "$("$sg")" "^$one waiting  one  \(1 held\)" 'and sandglass alone'
a=$(held "$one")
like "$("$sg" complete -- approve '')" "^$a	" 'completion offers its number'
"$sg" approve 99999 >"$t/out" 2>&1
is $? 1 'what is not held cannot be approved'
"$sg" approve "$one#$a" -m 'fine with me' >"$t/out" 2>&1
is $? 0 'approve by session#number'
"$sg" approve "$a" -S "$one" >"$t/out" 2>&1
is $? 1 'the second decision is refused'
like "$(cat "$t/out")" "not held: approved by .* at " 'and told who was first and when'

two=$("$sg" run -d live.lua --hold kind:exec --name two)
wait_for 10 is_held "$two"
"$sg" pause >"$t/out" 2>&1
is $? 2 'with several sessions the one must be named'
like "$(cat "$t/out")" "several sessions run.*$one \(one\)" 'all are named'
"$sg" pause -S two
is $? 0 'by name'
like "$("$sg" state -S "${two%??}")" '^paused' 'by a beginning of the id'
"$sg" deny "$(held "$two")" -S two -m 'not today' >"$t/out" 2>&1
is $? 0 'deny'
"$sg" hold -S two --clear >/dev/null && "$sg" continue -S two
is $? 0 'clear the hold, continue'
wait_for 10 ended "$two"
ok $? 'it ends'
out=$("$sg" events "$two")
like "$out" 'not today' 'the reason is recorded'
like "$out" 'command deny, [0-9]+ by ' 'who asked for what, too'
like "$out" 'not run: .*not today' 'the script was told'

timeout 30 "$sg" events -f "$one" >"$t/follow" 2>&1 &
follower=$!
wait_for 10 is_held "$one"
b=$(held "$one")
echo 'echo edited' >"$t/edited"
EDITOR="cp $t/edited" "$sg" approve "$one#$b" --edit >"$t/out" 2>&1
is $? 0 'approve --edit'
wait_for 10 ended "$one"
wait $follower
is $? 0 'events -f ends with the session'
like "$(cat "$t/follow")" 'ran: edited|started as edited: .*echo edited' 'what ran is what was edited'
like "$(tail -1 "$t/follow")" 'session ends' 'the last line is the end'
"$sg" verify "$one" >/dev/null
is $? 0 'the record is whole'
[ -z "$(ls "$XDG_RUNTIME_DIR/sandglass" 2>/dev/null)" ]
ok $? 'no socket is left'

finish
