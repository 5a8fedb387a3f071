#!/usr/bin/env bash
# Model traffic from a cassette: no network, no key. Variable parts are ignored; any other difference is shown.
. "$(dirname "$0")/lib.sh"
sg=$SANDGLASS
export SANDGLASS_SESSIONS=$t/sessions
unset ANTHROPIC_API_KEY ANTHROPIC_BASE_URL
cp "$here"/cassette/chat.* "$t" && cd "$t" || exit 1
"$sg" run --no-tui --cassette chat.jsonl chat.lua </dev/null >out 2>&1
is $? 0 "a chat off a cassette"
like "$(cat out)" 'REPLY It is fixed\.\|0\|end\|7' "the first reply, though its run and its seconds are others"
like "$(cat out)" 'REPLY Nothing more\.' "the second one"
ev=$("$sg" events --json)
like "$ev" '"url":"https://api.anthropic.com/v1/messages"' "what would have been asked is recorded"
like "$(printf '%s' "$ev" | grep '"kind":"model.reply"' | head -1)" '"usage":\{"cached":10,"in":30,"out":7' "usage is counted"
like "$(printf '%s' "$ev" | grep '"kind":"model.reply"' | head -1)" '"cost_uusd":1[0-9][0-9]' "and has its price"
"$sg" verify >/dev/null
is $? 0 "it verifies"
sed 's/and now/and then/' chat.lua >other.lua
"$sg" run --no-tui --cassette chat.jsonl other.lua </dev/null >out 2>&1
like "$(cat out)" 'ERROR .*nearest recorded: .*and now.*this one: .*and then' "a miss shows where it differs"
is "$(wc -l <chat.jsonl)" 3 "and adds nothing"
"$sg" run --no-tui --cassette none.jsonl chat.lua </dev/null >out 2>&1
is $? 2 "a cassette that is not there"
like "$(cat out)" '--record' "one line that says what to do"
sed '2s/.*/{"path":/' chat.jsonl >bad.jsonl
"$sg" run --no-tui --cassette bad.jsonl chat.lua </dev/null >out 2>&1
is $? 3 "a damaged one"
like "$(cat out)" "bad.jsonl', line 2" "names the line"
echo '{}' >foreign.jsonl
"$sg" run --no-tui --cassette foreign.jsonl chat.lua </dev/null >out 2>&1
like "$(cat out)" 'not a cassette' "a foreign one"
head -c -20 chat.jsonl >torn.jsonl
"$sg" run --no-tui --cassette torn.jsonl chat.lua </dev/null >out 2>&1
like "$(cat out)" 'REPLY It is fixed' "one whose last line was cut off still has the others"

# a server that echoes our key, cut in the middle: the cassette has no key, and plays
python3 "$here/model_server.py" >port 2>server.log </dev/null &
server=$!
wait_for 10 test -s port
export ANTHROPIC_API_KEY=sk-ant-cassette-0123456789abcdef
ANTHROPIC_BASE_URL=http://127.0.0.1:$(cat port)/echo "$sg" run --no-tui --cassette key.jsonl --record chat.lua </dev/null >out 2>&1
is $? 0 "a cassette is recorded"
like "$(cat out)" 'REPLY your key is <secret:' "the script does not get the key"
is "$(wc -l <key.jsonl):$(grep -c 'cassette-0\|456789abcdef' key.jsonl)" 3:0 "nor does the cassette, in pieces or whole"
kill "$server"
unset ANTHROPIC_API_KEY
"$sg" run --no-tui --cassette key.jsonl chat.lua </dev/null >out 2>&1
like "$(cat out)" 'REPLY your key is <secret:' "it plays without server and key"
"$sg" run --no-tui --record chat.lua </dev/null >out 2>&1
is $? 2 "--record alone makes no sense"
finish
