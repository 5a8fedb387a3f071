#!/usr/bin/env bash
# Agents with real model APIs: the four dialects against an independent fake (npm @copilotkit/aimock, also with its
# faults), and a server of ours with all known provider faults. A failure is one clear line and an error value in the
# script. Nothing is lost, and no key leaks.
. "$(dirname "$0")/lib.sh"
need_boxes
sg=$SANDGLASS
pids=
stop_servers() { for p in $pids; do kill "$p" 2>/dev/null; done; end_all; }
trap stop_servers EXIT
export ANTHROPIC_API_KEY=sk-canary-anthropic-5512 OPENAI_API_KEY=sk-canary-openai-5512 GEMINI_API_KEY=sk-canary-gemini-5512
export MINE=sk-canary-mine-5512 no_proxy=127.0.0.1,localhost
cd "$t" || exit 1

cat >agent.lua <<'L'
local sg = require "sandglass"
local a = sg.args { model = "mine:m", task = "write the file", unknown = false }
local box <close> = sg.sandbox { accept = "reduced" }
local r, err = sg.agent.run { name = "m", task = a.task, box = box, model = a.model, tools = { "write", "shell" } }
local log = box:read "log"
print("log has " .. (log and select(2, log:gsub("\n", "")) or 0) .. " line(s)")
if not r then
  print("the key is in the error: " .. tostring(tostring(err):find("sk-" .. "canary", 1, true) ~= nil))
  print("code=" .. err.code .. ": " .. tostring(err))
  sg.exit(5, "%s", tostring(err))
end
print("stop=" .. r.stop .. " steps=" .. r.steps .. " text=" .. r.text)
print(("usage in=%d out=%d cached=%d written=%d"):format(r.usage["in"], r.usage.out, r.usage.cached, r.usage.written or -1))
print(box:read "a.txt" or "no file")
L
ask() { # model, task...: its output is $out, its status $status, its session $id
	timeout 150 "$sg" run --no-tui agent.lua -- --model "$1" --task "${2:-write the file}" >"$t/out" 2>&1 </dev/null
	status=$? out=$(cat "$t/out") file=$(ls -t "$HOME"/.local/share/sandglass/sessions/*.glass | head -1)
}
events() { "$sg" events "$file" --json 2>/dev/null; }

# --- the four dialects ------------------------------------------------------------------------------------------------
llmock=$(dirname "$sg")/npm/node_modules/.bin/llmock
if [ -x "$llmock" ] && command -v node >/dev/null; then
	mkdir fixtures
	cat >fixtures/f.json <<'J'
{"fixtures":[
 {"match":{"userMessage":"write the file","hasToolResult":false},"response":{"toolCalls":[
  {"name":"write","arguments":"{\"path\":\"a.txt\",\"data\":\"from the model \u00e9\u4e16\\n\"}"},
  {"name":"shell","arguments":"{\"cmd\":\"echo one >> log\"}"}]}},
 {"match":{"userMessage":"write the file","hasToolResult":true},"response":{"content":"The file is written \u2014 done."}}]}
J
	mock() { # options...: a server on $port
		for _ in $(seq 20); do
			port=$((20000 + RANDOM % 20000))
			node "$llmock" -p $port -f fixtures/ --chunk-size 8 "$@" >llmock.log 2>&1 </dev/null &
			pids="$pids $!"
			wait_for 10 grep -q 'listening' llmock.log && break
		done
		export ANTHROPIC_BASE_URL=http://127.0.0.1:$port OPENAI_BASE_URL=http://127.0.0.1:$port/v1
		export GEMINI_BASE_URL=http://127.0.0.1:$port/v1beta
	}
	mock --latency 2
	for m in anthropic:sonnet openai:gpt-5 openai-chat:gpt-5 gemini:gemini-3-pro; do
		ask $m
		is $status 0 "$m: an agent works to its end"
		like "$out" 'stop=end steps=2 text=The file is written — done' "$m: its last word"
		like "$out" 'from the model é世' "$m: its file is in the box"
		like "$out" 'log has 1 line' "$m: its second call of the turn ran once"
		is "$(events | grep -c '"kind":"model.reply"')" 2 "$m: two answers are in the record"
		"$sg" verify "$file" >"$t/out" 2>&1
		ok $? "$m: the record verifies"
	done
	# its faults: every second request or so; many in a row are waited for longer and longer
	mock --latency 2 --chaos-ratelimit 0.25 --chaos-disconnect 0.15 --chaos-malformed 0.15
	cat >tries.lua <<'C'
local c = require "sandglass.config"
c.models = { anthropic = { tries = 30 }, ["openai-chat"] = { tries = 30 }, openai = { tries = 30 }, gemini = { tries = 30 } }
return c
C
	for m in anthropic:sonnet openai:gpt-5 openai-chat:gpt-5 gemini:gemini-3-pro; do
		SANDGLASS_CONFIG=$t/tries.lua ask $m
		like "$out" 'stop=end|code=(net|model|limit)' "$m: with faults: an end, or an error value"
		like "$out" 'log has [01] line' "$m: with faults: no call ran twice"
		"$sg" verify "$file" >"$t/out" 2>&1
		ok $? "$m: with faults: the record verifies"
	done
else
	skip "no aimock: install Node.js >= 20 and npm, then 'make deps' fetches it into $(dirname "$llmock")"
fi

# --- a server that misbehaves -----------------------------------------------------------------------------------------
python3 "$here/model_server.py" >port 2>server.log </dev/null &
pids="$pids $!"
wait_for 10 test -s port
port=$(cat port)
{
	echo 'local c = require "sandglass.config"'
	echo 'c.models = {'
	for how in key unknown bad html gateway limited quota repair trickle silent cut overload pause refused window room length slow fine many; do
		window=
		case $how in window | room) window=', window = 1000000' ;; esac
		echo "$how = { plugin = 'anthropic', url = 'http://127.0.0.1:$port/$how', key = 'MINE', tries = 4, idle = '1s', first = '2s'$window },"
	done
	echo "closed = { plugin = 'anthropic', url = 'http://127.0.0.1:9', key = 'MINE', tries = 2 },"
	echo "nokey = { plugin = 'anthropic', url = 'http://127.0.0.1:$port/fine', key = 'NOT_SET_ANYWHERE' },"
	echo '}'
	echo 'return c'
} >config.lua
export SANDGLASS_CONFIG=$t/config.lua
seen() { curl -sS "http://127.0.0.1:$port/count/$1" 2>/dev/null || python3 -c "import urllib.request as u; print(u.urlopen('http://127.0.0.1:$port/count/$1').read().decode(), end='')"; }
wrong() { # how, code, what the line says, requests
	ask "$1:m"
	is $status 5 "$1: the script ends as it wants"
	like "$out" "code=$2: .*$3" "$1: an error value"
	is "$(printf '%s\n' "$out" | grep -cE "model.* FAILED|FAILED.*$3")" 1 "$1: one line says so"
	[ -z "${4:-}" ] || is "$(seen "$1")" "$4" "$1: asked so many times"
	is "$(events | grep -c '"kind":"model.again"')" $((${4:-2} > 0 ? ${4:-2} - 1 : 0)) "$1: every further try is in the record"
	"$sg" verify "$file" >"$t/out" 2>&1
	ok $? "$1: the record verifies"
}
wrong key model 'HTTP 401: invalid x-api-key' 1
like "$(printf '%s' "$out")" 'the key is in the error: false' 'a key that the server repeats is not told to the script'
wrong unknown model 'HTTP 404: model: m' 1
wrong bad model 'HTTP 400: messages.0: all messages must have' 1
wrong html model 'Welcome' 1
wrong quota model 'exceeded your current quota' 1
wrong trickle net 'nothing more came for 1' 4
wrong silent net 'no answer within 2' 4
wrong closed net "([Cc]onnect|refused)"
ask nokey:m
like "$out" 'code=model: .*NOT_SET_ANYWHERE' 'no key: says which one is missing'
is "$(seen fine)" 0 'no key: nothing is sent'

well() { # how, text, requests, tries again
	ask "$1:m"
	is $status 0 "$1: ends well"
	like "$out" "stop=end .*text=$2" "$1: its last word"
	is "$(seen "$1")" "$3" "$1: asked so many times"
	is "$(events | grep -c '"kind":"model.again"')" "$4" "$1: every further try is in the record"
	"$sg" verify "$file" >"$t/out" 2>&1
	ok $? "$1: the record verifies"
}
well gateway 'at last' 3 2
well limited 'at last' 3 2
well overload 'whole' 3 2
well repair 'repaired' 3 0
well cut 'done' 4 2
like "$out" 'log has 1 line' 'cut: half an answer has no effect'
well pause 'second half' 2 0
well length 'The first part, and the second' 2 0
well window 'fits now' 4 0
well room 'fits now' 4 0
ask refused:m
like "$out" 'code=model: .*refused' 'refused: an error value'
is "$(seen refused)" 1 'refused: not asked again'
ask fine:m
like "$out" 'usage in=150 out=20 cached=40 written=10' 'usage: cached and written tokens'

# --- a hundred at once ------------------------------------------------------------------------------------------------
cat >many.lua <<'L'
local sg = require "sandglass"
local list = {}
for i = 1, 100 do list[i] = i end
local texts = sg.map(list, function(i)
  local c = sg.chat { model = "many:m" }
  c:user("number " .. i)
  return assert(c:send()).text
end, { limit = 100 })
local good = 0
for i = 1, 100 do good = good + (texts[i] == ("number " .. i .. " "):rep(50) and 1 or 0) end
print("good " .. good)
L
timeout 60 "$sg" run --no-tui many.lua >"$t/out" 2>&1 </dev/null
like "$(cat "$t/out")" 'good 100' 'a hundred streams at once, each its own answer'
like "$(cat "$t/out")" 'tokens, \$\?' 'a price that is not known is shown as such'
"$sg" verify "$(ls -t "$HOME"/.local/share/sandglass/sessions/*.glass | head -1)" >"$t/out" 2>&1
ok $? 'a hundred streams: the record verifies'

# --- killed in the middle of an answer --------------------------------------------------------------------------------
line=$("$sg" run -d agent.lua --json -- --model slow:m 2>"$t/out")
id=$(printf '%s' "$line" | grep -oE '"session":"[^"]*' | cut -d'"' -f4)
pid=$(printf '%s' "$line" | grep -oE '"pid":[0-9]+' | cut -d: -f2)
half() { [ "$(seen slow)" = 2 ]; }
wait_for 20 half
sleep 0.3
kill -9 "$pid"
wait_for 10 sh -c "! kill -0 $pid"
timeout 60 "$sg" resume "$id" --no-tui --no-input >"$t/out" 2>&1 </dev/null
is $? 0 'killed in an answer: resume continues and succeeds'
like "$(cat "$t/out")" 'text=all of it' 'killed in an answer: it is asked again'
like "$(cat "$t/out")" 'log has 1 line' 'killed in an answer: earlier effects are not repeated'
"$sg" verify "$id" >"$t/out" 2>&1
ok $? 'killed in an answer: the record verifies'

# --- no key anywhere --------------------------------------------------------------------------------------------------
grep -rlaE 'sk-canary-[a-z]+-5512' "$HOME" "$XDG_RUNTIME_DIR" 2>/dev/null | sed 's/^/# /' >keys
is "$(wc -l <keys)" 0 'no key in any session, state or runtime file'
grep -laE 'sk-canary-[a-z]+-5512' "$t"/out* >/dev/null 2>&1
is $? 1 'no key in any output'
finish
