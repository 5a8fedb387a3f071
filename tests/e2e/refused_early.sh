#!/usr/bin/env bash
# What is refused before a session exists, and which session a command takes.
. "$(dirname "$0")/lib.sh"
cd "$t" || exit 1
sg=$SANDGLASS
printf 'local sg = require "sandglass"\nsg.note "here"\n' >one.lua
printf 'return 3\n' >wrong.lua
recorded() { "$sg" ls --json 2>/dev/null | wc -l; }
refuse() { # status, arguments
	local want=$1
	shift
	"$sg" run one.lua --no-tui "$@" >out 2>&1 </dev/null
	is "$? $(grep -c '^sandglass: run: ' out) $(recorded)" "$want 1 0" "run $*: one error, no session"
}
refuse 3 --model nobody:x
refuse 3 --model nobody
refuse 3 --policy wrong.lua
refuse 2 --policy missing.lua
refuse 2 --hold kidn:exec
refuse 2 --config missing.lua
refuse 2 --budget gold=1
"$sg" --config missing.lua ls >out 2>&1
is $? 2 'a configuration that is missing is refused by every command'
env -u SANDGLASS_MODEL "$sg" run -e 'say hello' --no-tui >out 2>&1 </dev/null
is "$? $(grep -c -- '--model' out) $(recorded)" '2 1 0' 'run -e without a model names the option and starts nothing'
"$sg" approve --json >out 2>/dev/null
is "$? $(python3 -c 'import json; e = json.load(open("out")); print(e["exit"], e["error"]["code"], "hint" in e["error"])')" \
	'2 2 usage True' 'JSON has the error and the hint'

echo noise >noise.glass
for command in verify replay show events; do
	"$sg" "$command" ./noise.glass </dev/null >out 2>&1
	is $? 2 "$command: a file that is not a session has one status"
done

cp one.lua 日本.lua
"$sg" run --no-tui 日本.lua >out 2>&1 </dev/null
is "$("$sg" ls --json | python3 -c 'import json,sys; print(json.loads(sys.stdin.readline())["name"])')" 日本 'a name keeps letters of every script'

if boxes; then
	printf 'local p = require "sandglass.policy"\nreturn p.rules { p.ask "all" { kind = "exec" } }\n' >ask.lua
	printf 'local sg = require "sandglass"\nlocal b <close> = sg.sandbox {}\nb:exec "printf a\\nprintf b"\n' >held.lua
	id=$("$sg" run -d held.lua --policy ask.lua)
	held() { "$sg" state 2>/dev/null | grep -q '^HELD'; }
	wait_for 30 held
	is "$("$sg" state | grep -c '^    printf b')" 1 'each line of a pending command is a line'
	"$sg" run --no-tui one.lua >/dev/null 2>&1 </dev/null
	touch -d '1 hour' "$(ls -t "$HOME"/.local/share/sandglass/sessions/*-one-*.glass | head -1)" # newer for sure
	"$sg" show >out 2>err
	is "$(cat err)" "session $id (running)" 'a running session is taken before a newer one, and named'
	"$sg" stop -S "$id" --now >/dev/null 2>&1
else
	skip 'no sandbox can be opened here'
fi
finish
