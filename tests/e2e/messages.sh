#!/usr/bin/env bash
# A user's message to an agent comes before the next call of its model, once, in order, whatever happens meanwhile.
. "$(dirname "$0")/lib.sh"
need_boxes
sg=$SANDGLASS
cd "$t" || exit 1
export SANDGLASS_SESSIONS=$t/sessions MINE=sk-canary-say no_proxy='*'
python3 "$here/model_server.py" >port 2>server.log </dev/null &
server=$!
trap 'kill $server 2>/dev/null; end_all' EXIT
wait_for 10 test -s port
port=$(cat port)
printf 'local c = require "sandglass.config"\nc.models = { turns = { plugin = "anthropic", url = "http://127.0.0.1:%s/turns", key = "MINE" } }\nreturn c\n' "$port" >config.lua
export SANDGLASS_CONFIG=$t/config.lua
cat >agent.lua <<'L'
local sg = require "sandglass"
local box <close> = sg.sandbox { name = "b" }
local r = assert(sg.agent.run { name = "fixer", task = "wait", model = "turns:m", box = box, tools = { "shell" } })
for i, m in ipairs(r.messages) do print(i .. " " .. m.role .. ": " .. m.text) end
L
begin() { # the agent is in the middle of its second turn
	id=$("$sg" run -d agent.lua </dev/null 2>"$t/out")
	in_turn() { "$sg" events "$id" 2>/dev/null | grep -q 'exec.*touch here'; }
	wait_for 20 in_turn
	ok $? 'an agent works'
}
ended() { "$sg" events "$id" --json 2>/dev/null | grep -q '"kind": *"session.end"'; }
told() { "$sg" events "$id" --json | python3 -c '
import json, sys
for l in sys.stdin:
    e = json.loads(l)
    if e.get("kind") == "note": print(e["body"]["text"])'; }
last() { curl -sS --noproxy '*' "http://127.0.0.1:$port/last/turns"; }

begin
"$sg" say -S "$id" fixer 'use tabs "quoted" é' >"$t/out" 2>&1 </dev/null
ok $? 'a person says something'
"$sg" say -S "$id" fixer and then stop >"$t/out" 2>&1 </dev/null
ok $? 'and something more, in words of its own'
unlike "$(last)" 'use tabs' 'the call that is over does not have it'
wait_for 30 ended
ok $? 'it comes to its end'
out=$(told)
like "$out" '\(message of the user\) use tabs "quoted" é' 'it has it'
is "$(printf '%s\n' "$out" | grep -c 'use tabs')" 1 'once'
like "$(printf '%s\n' "$out" | tr '\n' ' ')" 'use tabs.*and then stop' 'in the order in which it was said'
like "$(printf '%s\n' "$out" | tr '\n' ' ')" 'tool: .*message of the user' 'behind the result of the turn that ran'
like "$(last)" 'message of the user' 'the model was sent it'
is "$("$sg" events "$id" --json | grep -c '"kind":"agent.say"')" 2 'both are in the record'
like "$("$sg" events "$id" --json | grep '"kind":"agent.say"')" '"who":\{"uid":' 'with who said them'
"$sg" simulate "$id" >"$t/out" 2>&1 </dev/null
ok $? 'a rerun says the same'
"$sg" say -S "$id" fixer late >"$t/out" 2>&1 </dev/null
[ $? -ne 0 ]
ok $? 'a session that has ended hears nothing'

begin
"$sg" say -S "$id" nobody hello >"$t/out" 2>&1 </dev/null
[ $? -ne 0 ]
ok $? 'an agent that is gone receives no message'
like "$(cat "$t/out")" "nobody" 'and the sender gets an error'
"$sg" say -S "$id" fixer 'before the crash' >"$t/out" 2>&1 </dev/null
wait_for 10 sh -c "'$sg' events '$id' | grep -q 'before the crash'"
pid=$("$sg" events "$id" --json | grep -m1 '"session.start"' | grep -oE '"pid":[0-9]+' | cut -d: -f2)
kill -9 "$pid"
wait_for 10 sh -c "! kill -0 $pid"
timeout 60 "$sg" resume "$id" -d >"$t/out" 2>&1 </dev/null
ok $? 'the supervisor is killed before the next turn, and the session resumes'
wait_for 30 ended
ok $? 'to its end'
is "$(told | grep -c 'before the crash')" 1 'the message is not lost and arrives once'
"$sg" verify "$id" >"$t/out" 2>&1
ok $? 'the record verifies'

# an agent of a scripted model, in its last turn: a message still reaches it
cat >turns.lua <<'L'
return { { say = "thinking", think = 8 }, { say = "heard" } }
L
printf 'local sg = require "sandglass"\nlocal r = assert(sg.agent.run { name = "s", task = "x", model = "scripted:turns.lua", tools = {} })\nprint("last: " .. r.text .. " in " .. r.steps)\n' >last.lua
id=$("$sg" run -d last.lua </dev/null 2>"$t/out")
wait_for 10 sh -c "'$sg' events '$id' | grep -q 'turn 1'"
"$sg" say -S "$id" s one more thing >"$t/out" 2>&1 </dev/null
wait_for 40 ended
like "$(told)" 'last: (heard in 2|thinking in 1)' 'a message in the last turn'
like "$(told)" 'last: heard in 2' 'is answered in another one'
finish
