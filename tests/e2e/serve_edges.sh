#!/usr/bin/env bash
# `sandglass serve` for clients that do what no SDK does: floods, WebSockets beyond measure, times that are none, events that
# nobody fetches, boxes whose tools are busybox's.
. "$(dirname "$0")/lib.sh"
need_boxes
sg=$SANDGLASS
cd "$t" || exit 1
echo 'return require("sandglass.policy").rules { default = "allow" }' >allow.lua
cat >held.lua <<'L'
local p = require "sandglass.policy"
return p.rules { default = "allow", p.ask "held" { cmd = "bash -i" } }
L
edges() { # the API, the cases, the policy
	rm -f said
	"$sg" serve "$1" --json --policy "$3" >said 2>"$t/out" </dev/null &
	server=$!
	wait_for 20 test -s said
	session=$(sed 's/.*"session":"\([^"]*\)".*/\1/' said)
	SERVER=$server timeout 100 python3 "$here/serve/edges.py" "$2" "$(sed 's/.*"url":"\([^"]*\)".*/\1/' said)" \
		"$(sed 's/.*_API_KEY":"\([^"]*\)".*/\1/' said)" "$sg" "$session" >got 2>"$t/out"
	is $? 0 "$2: its cases come to their end"
	while IFS= read -r line; do
		case $line in 'ok # skip '*) skip "${line#ok # skip }" ;; 'ok '*) ok 0 "$2: ${line#ok }" ;; 'not ok '*) ok 1 "$2: ${line#not ok }" ;; esac
	done <got
	"$sg" events "$session" --json >"$2.events"
	kill "$server"
	wait "$server" 2>/dev/null
}
edges daytona daytona allow.lua
edges daytona held held.lua
edges e2b e2b allow.lua
[ -e /usr/bin/busybox ] && watchers=5 || watchers=4
is "$(grep '"kind":"control.command"' e2b.events | grep -c CreateWatcher):$(grep '"kind":"host.frame"' e2b.events | grep -c CreateWatcher)" "0:$watchers" 'a request stands once in the record, where the script gets it'
finish
