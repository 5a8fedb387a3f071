#!/usr/bin/env bash
# `sandglass serve` with unusual clients: floods, oversized WebSocket messages, invalid times, unread events, and
# sandboxes with busybox tools.
. "$(dirname "$0")/lib.sh"
need_boxes
sg=$SANDGLASS
cd "$t" || exit 1
echo 'return require("sandglass.policy").rules { default = "allow" }' >allow.lua
edges() { # the API, the cases: in a folder of their own
	mkdir "$2" && cd "$2" || return
	"$sg" serve "$1" --json --policy ../allow.lua >said 2>err </dev/null &
	server=$!
	wait_for 60 test -s said
	session=$(sed 's/.*"session":"\([^"]*\)".*/\1/' said)
	SERVER=$server timeout 100 python3 "$here/serve/edges.py" "$2" "$(sed 's/.*"url":"\([^"]*\)".*/\1/' said)" \
		"$(sed 's/.*_API_KEY":"\([^"]*\)".*/\1/' said)" "$sg" "$session" >got 2>>err
	echo $? >rc
	"$sg" events "$session" --json >events
	kill "$server"
	wait "$server" 2>/dev/null
}
edges daytona daytona &
edges daytona many &
edges e2b e2b &
wait
for of in daytona many e2b; do
	cp "$of/err" "$t/out"
	is "$(cat "$of/rc")" 0 "$of: its cases come to their end"
	while IFS= read -r line; do
		case $line in 'ok # skip '*) skip "${line#ok # skip }" ;; 'ok '*) ok 0 "$of: ${line#ok }" ;; 'not ok '*) ok 1 "$of: ${line#not ok }" ;; esac
	done <"$of/got"
done
[ -e /usr/bin/busybox ] && watchers=4 || watchers=3
is "$(grep '"kind":"control.command"' e2b/events | grep -c CreateWatcher):$(grep '"kind":"host.frame"' e2b/events | grep -c CreateWatcher)" "0:$watchers" 'a request stands once in the record, where the script gets it'
finish
