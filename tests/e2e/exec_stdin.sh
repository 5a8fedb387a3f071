#!/usr/bin/env bash
# Input piped into `sandbox exec -i` reaches the command byte for byte, after its policy check and its recording, and so
# does its end. An ended command takes no more input. A command that does not read uses no memory. Without -i no input
# is read.
. "$(dirname "$0")/lib.sh"
cd "$t" || exit 1
boxes || { skip "no box can be opened here: $(tail -1 "$t/boxes")"; finish; }
newest() { ls -t "$HOME"/.local/share/sandglass/sessions/*.glass | head -1; }

# a secret in it, in text and between bytes that are none, is passed on and not kept
echo sk-7f3a9c1e5b2d8046 | "$SANDGLASS" secret set TEST_KEY >"$t/out" 2>&1
printf 'key = sk-7f3a9c1e5b2d8046\na\0b\377 sk-7f3a9c1e5b2d8046 no newline' >bytes
"$SANDGLASS" sandbox exec -i -- cat <bytes >got 2>>"$t/out"
is $? 0 'the status of the command'
sed 's/sk-7f3a9c1e5b2d8046/<secret:TEST_KEY>/g' bytes | cmp - got >>"$t/out" 2>&1
ok $? 'every byte, and the end of input'
"$SANDGLASS" events "$(newest)" --json | jq -r 'select(.kind == "proc.stdin") | .body.data | if type == "string" then . else .b64 | @base64d end' >kept 2>>"$t/out"
is "$(grep -ac 'sk-7f3a' kept) $(grep -ao '<secret:TEST_KEY>' kept | wc -l)" '0 2' 'a secret in it is not kept'
{ printf 'a sk-7f3a9'; sleep 0.3; echo c1e5b2d8046 z; } | "$SANDGLASS" sandbox exec -i -- cat >"$t/out" 2>&1
"$SANDGLASS" events "$(newest)" --json | jq -rj 'select(.kind == "proc.stdin") | .body.data' >kept 2>>"$t/out"
is "$(cat kept)" 'a <secret:TEST_KEY> z' 'nor is one that comes in two pieces'
{ printf 'a sk-7f3a9'; sleep 2; } | timeout 60 "$SANDGLASS" sandbox exec -i -- head -c 10 >"$t/out" 2>&1
"$SANDGLASS" events "$(newest)" --json | jq -rj 'select(.kind == "proc.stdin") | .body.data' >kept 2>>"$t/out"
is "$(cat kept)" 'a sk-7f3a9' 'what only began like one is kept, also when the command ends before its input'
"$SANDGLASS" verify "$(newest)" >"$t/out" 2>&1
is $? 0 'and the session verifies'
is "$( (echo one; echo two) | { "$SANDGLASS" sandbox exec -- cat; cat; })" "$(printf 'one\ntwo')" 'without -i the command has none, and ours is not read'
"$SANDGLASS" sandbox exec --stdin -- sh -c 'cat; kill -9 $$' </dev/null >"$t/out" 2>&1
is $? 137 'empty input ends at once; a command that is killed'
yes 'no end' | timeout 30 "$SANDGLASS" sandbox exec -i -- head -1 >got 2>"$t/out"
is "$? $(cat got)" '0 no end' 'a command that has enough'

# more than the record keeps: by length and hash
seq 1000000 >big
sum=$(sha256sum <big)
is "$("$SANDGLASS" sandbox exec -i -- sha256sum <big)" "$sum" 'seven megabytes'
"$SANDGLASS" verify "$(newest)" >"$t/out" 2>&1
is $? 0 'the session verifies'
"$SANDGLASS" events "$(newest)" --json >events 2>"$t/out"
is "$(jq -s '[.[] | select(.kind == "proc.stdin") | .body | .data_bytes // (.data | length)] | add' events)" "$(wc -c <big | tr -d ' ')" 'all of it is accounted for'
[ "$(wc -c <"$(newest)")" -lt 3000000 ]
ok $? 'the record does not hold it all'
is "$(jq -r 'select(.kind == "action.started" or .kind == "proc.stdin" or .kind == "action.ended") | .kind' events | uniq | tr '\n' ' ')" \
	'action.started proc.stdin action.ended ' 'after the start, before the end'
is "$(jq -r 'select(.kind == "control.command") | .body.opts | select(has("base64")) | .base64 | type' events | sort -u)" number 'and not a second time with the command that brings it'

# a command that does not read: who sends waits
(trap '' PIPE; exec dd if=/dev/zero bs=1M count=200 2>dd) | "$SANDGLASS" sandbox exec -i -- sleep 0.5 >"$t/out" 2>&1
is $? 0 'a command that reads nothing'
took=$(grep -oE '^[0-9]+ bytes' dd)
[ -n "$took" ] && [ "${took% bytes}" -lt 50000000 ]
ok $? 'took no more than some megabytes'

# the sender is killed: the input ends, and so does the command
mkfifo pipe
"$SANDGLASS" sandbox exec -i -- cat <pipe >got 2>"$t/out" &
front=$!
exec 5>pipe
echo first >&5
wait_for 20 grep -q first got
kill -9 $front
ended() { "$SANDGLASS" events "$(newest)" --json 2>/dev/null | grep -q '"session.end"'; }
wait_for 20 ended
ok $? 'the sender was killed: nobody waits for input that cannot come'
exec 5>&-

# the rules come first
mkdir -p "$HOME/.config/sandglass"
printf 'local p = require "sandglass.policy"\nreturn p.rules { default = "boxed", p.deny "no" { cmd = "cat*", say = "not that one" } }\n' \
	>"$HOME/.config/sandglass/policy.lua"
is "$( (echo kept) | { "$SANDGLASS" sandbox exec -i -- cat >"$t/out" 2>&1; cat; })" kept 'no input of a denied command is read'
like "$(cat "$t/out")" 'not that one' 'and it says why'

"$SANDGLASS" sandbox shell -i >"$t/out" 2>&1
is $? 2 'only exec has it'
finish
