#!/usr/bin/env bash
# The host list of a sandbox belongs to that sandbox, not to its name: a later sandbox of the same name reaches only its
# own hosts.
. "$(dirname "$0")/lib.sh"
need_boxes
need python3
sg=$SANDGLASS
cd "$t" || exit 1
cat >names.lua <<'L'
local sg = require "sandglass"
local function ask(box, host) box:exec { "bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/3128; printf 'CONNECT " .. host .. ":443 HTTP/1.1\r\n\r\n' >&3; head -1 <&3" } end
local one = sg.sandbox { name = "b", net = { "one.invalid" } }
ask(one, "one.invalid")
ask(one, "two.invalid")
one:close()
local two
repeat -- the name is free once the first one has gone
	if two then two:close() end
	two = sg.sandbox { name = "b", net = { "two.invalid" } }
until two.name == "b"
ask(two, "one.invalid")
ask(two, "two.invalid")
two:close()
L
"$sg" run --no-tui --no-input names.lua >"$t/out" 2>&1 </dev/null
is $? 0 "the script ends"
verdicts=$("$sg" events "$(ls -t "$HOME"/.local/share/sandglass/sessions/*.glass | head -1)" --json | python3 -c '
import json, sys
host = {}
for e in map(json.loads, sys.stdin):
    b = e["body"]
    if e["kind"] == "action.requested" and b.get("kind") == "connect": host[e["seq"]] = b["host"]
    if e["kind"] == "action.judged" and e["action"] in host: print(host[e["action"]], b["verdict"])' | tr '\n' ' ')
is "$verdicts" "one.invalid allow two.invalid deny one.invalid deny two.invalid allow " "each sandbox has its own list"
echo 'return { { say = "x", call = { "shell", { cmd = "curl -s https://two.invalid/" } } }, { say = "done" } }' >model.lua
cat >told.lua <<'L'
local sg = require "sandglass"
local box <close> = sg.sandbox { net = { "one.invalid" } }
local r = box:exec "curl -s http://two.invalid/; curl -s http://one.invalid/"
for i, c in ipairs(r.refused) do print(i, c.host, c.port) end
sg.agent.run { task = "x", model = "scripted:model.lua", box = box, tools = { "shell" } }
L
"$sg" run --no-tui --no-input told.lua >"$t/out" 2>&1 </dev/null
events=$("$sg" events "$(ls -t "$HOME"/.local/share/sandglass/sessions/*.glass | head -1)" --json)
is "$(grep -o '"text":"[12][^"]*' <<<"$events" | tr '\n' ' ')" '"text":"1\ttwo.invalid\t80 "text":"2\tone.invalid\t80 ' "a command names the connections that failed while it ran"
said=$("$sg" export "$(ls -t "$HOME"/.local/share/sandglass/sessions/*.glass | head -1)" -F atif)
like "$said" '"content":"[^"]*two.invalid:443' "and so does the tool result that its model reads"
finish
