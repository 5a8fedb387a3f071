#!/usr/bin/env bash
# The host list of a sandbox belongs to that sandbox, not to its name: a later sandbox of the same name reaches only its own hosts.
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
finish
