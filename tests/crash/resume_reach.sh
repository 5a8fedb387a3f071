#!/usr/bin/env bash
# A command in a sandbox made a connection, which has closed, and still ran when its supervisor was killed. The resume
# doesn't run it again: the script receives the error "interrupted".
. "$(dirname "$0")/../e2e/lib.sh"
need_boxes
need python3
sg=$SANDGLASS
cd "$t" || exit 1
. "$here/fetch.bash"
printf 'return require("sandglass.policy").rules { default = "allow" }\n' >any.lua
cat >reach.lua <<L
local sg = require "sandglass"
local box <close> = sg.sandbox { repo = "repo", name = "b", net = { "localhost:$port" } }
local r, err = box:run "bash fetch.sh x && sleep 300"
print(r and "ran" or err.code)
L
id=$("$sg" run -d --policy any.lua reach.lua 2>said)
over() { # the connection has ended
	"$sg" events "$id" --json >events 2>&1
	python3 -c '
import json, sys
events = [json.loads(l) for l in open("events")]
connects = {e["seq"] for e in events if e["kind"] == "action.requested" and e["body"].get("kind") == "connect"}
sys.exit(not any(e["kind"] == "action.ended" and e.get("action") in connects for e in events))'
}
wait_for 30 over
is "$? $(wc -l <hits)" '0 1' 'a command has made a connection, which has closed'
pid=$(supervisor "$id")
kill -9 "$pid"
wait_for 30 sh -c "! kill -0 $pid 2>&-"
timeout 60 "$sg" resume "$id" --no-input >said 2>&1 </dev/null
"$sg" events "$id" --json >events
like "$(grep '"kind":"note"' events)" '"text":"interrupted"' 'the script receives the error'
is "$(wc -l <hits)" 1 'and the connection is not made again'
finish
