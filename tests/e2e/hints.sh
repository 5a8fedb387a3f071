#!/usr/bin/env bash
# The "do this" part of a failure reaches its reader: a script's error value, and a model as the result of its call.
# 'ls' cuts long lines at the width of the terminal.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
sg=$SANDGLASS
cd "$t" || exit 1

cat >hint.lua <<'L'
local sg = require "sandglass"
local ok, e = pcall(sg.sandbox, { repo = "/" })
assert(not ok and sg.is_error(e) and e.hint == "Name a directory.", "the error has a hint")
local open = sg.tool { name = "open", about = "opens a sandbox", run = function() return sg.sandbox { repo = "/" } end }
local box <close> = sg.sandbox {}
local r = assert(sg.agent.run { task = "open one", box = box, model = "scripted:turns.lua", tools = { open } })
assert(r.text == "I read the hint.")
sg.ask { text = "continue?" }
assert(sg.sandbox { repo = "/" })
L
echo 'return { { call = { "open", {} } }, { say = "I read the hint.", expect = "Name a directory%." } }' >turns.lua
"$sg" run --detach hint.lua >"$t/out" 2>&1
asks() { "$sg" ls --waiting | grep -q 'continue'; }
wait_for 30 asks
ok $? 'the script has read the hint of its error, and the model that of its call'

id=$("$sg" ls --live | grep -oE 's-[0-9a-z]+' | head -1)
"$sg" answer "$("$sg" ls --waiting | grep -oE '#[0-9]+' | tr -d '#')" yes >"$t/out" 2>&1
is $? 0 'the question is answered'
over() { ! "$sg" state -S "$id"; }
wait_for 30 over
is "$("$sg" events "$id" --json | jq -r 'select(.kind == "session.end") | .body.why' | grep -c 'Name a directory')" 1 \
	'an uncaught error ends the session with its hint'

# the name of this session is followed by its reason, which is longer than a line
width() { script -qec "stty cols 80; '$sg' ls" /dev/null </dev/null | tr -d '\r' | awk '{ if (length > m) m = length } END { print m + 0 }'; }
most=$(width)
[ "$most" -gt 60 ] && [ "$most" -le 80 ]
ok $? "ls fits 80 columns ($most)"
[ "$("$sg" ls | awk '{ if (length > m) m = length } END { print m }')" -gt 80 ]
ok $? 'and is whole for programs'
finish
