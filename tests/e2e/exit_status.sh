#!/usr/bin/env bash
# Each exit status for its reason ('help exit'), printed and with --json, whose last line has it, too.
. "$(dirname "$0")/lib.sh"
need_boxes
sg=$SANDGLASS
cd "$t" || exit 1
unset ANTHROPIC_API_KEY
printf 'return require("sandglass.policy").rules { require("sandglass.policy").deny "never" { cmd = "echo never" } }\n' >deny.lua
script() { printf 'local sg = require "sandglass"\n%s\n' "$2" >"$1.lua"; }
box='local box <close> = sg.sandbox { name = "b" }'
script fine 'print "fine"'
script unsuccessful 'sg.exit(1, "the tests still fail")'
script wrong 'nothing.here()'
script denied "$box
assert(box:exec 'echo never')"
script budget "$box
for i = 1, 3 do assert(box:exec('echo ' .. i)) end"
script backend 'local box = assert(sg.sandbox { backend = "container", image = "x", options = { engine = "/nowhere/engine.sock" } })'
script model 'local r = assert(sg.agent.run { task = "x", model = "anthropic:sonnet" })'
script person "$box
assert(box:exec 'echo hold me')"
script whole 'sg.sleep(0.01) print "fine"'
script asks 'sg.sleep(0.02) print "fine"'
script waits 'print "waits" sg.sleep(60)'

st() { # status, expression for the message, name, arguments of run...
	local want=$1 says=$2 name=$3
	shift 3
	timeout 60 "$sg" run --no-tui "$@" >"$t/out" 2>&1 </dev/null
	is $? "$want" "$want: $name"
	like "$(tail -3 "$t/out")" "$says" "$want: $name: and why"
	timeout 60 "$sg" run --json "$@" >"$t/lines" 2>"$t/out" </dev/null
	is $? "$want" "$want: $name, --json"
	like "$(tail -1 "$t/lines")" "\"(status|exit)\":$want[,}]" "$want: $name, --json: the last line says so"
}
st 0 'succeeded' 'a script comes to its end' fine.lua
st 1 'the tests still fail' 'it says that it was not successful' unsuccessful.lua
st 2 'polcy' 'a wrong option' fine.lua --polcy x
st 3 'wrong\.lua:2' 'a mistake in the script' wrong.lua
st 4 'never' 'a rule has denied, the script gave up' denied.lua --policy deny.lua
st 5 'budget|actions' 'a budget is used up' budget.lua --budget actions=2 --no-input
st 6 'engine' 'the backend is not there' backend.lua
like "$("$sg" ls budget | head -1)" 'failed .*budget: .*(budget|actions)' 'the list says why'
like "$("$sg" show "$("$sg" ls budget --json | head -1 | grep -oE 's-[a-z0-9]+' | head -1)")" '^why .*(budget|actions)' 'and so does show'
st 7 "secret 'ANTHROPIC_API_KEY' not found" 'the model cannot be asked' model.lua
st 8 'needed|denied|person' 'a person was needed' person.lua --hold kind:exec --no-input
"$sg" run --no-tui whole.lua >"$t/out" 2>&1 </dev/null
file=$(ls "$HOME"/.local/share/sandglass/sessions/*-whole-*)
cp "$file" bad.glass
printf 'X' | dd of=bad.glass bs=1 seek=$(($(grep -abo '"fine"' bad.glass | head -1 | cut -d: -f1) + 2)) conv=notrunc 2>/dev/null
"$sg" verify bad.glass --anchor '' >"$t/out" 2>&1
is $? 9 '9: a record is damaged'
like "$("$sg" verify bad.glass --anchor '' --json | tail -1)" '"verdict":"(broken|damaged|failed)"' '9: --json has the verdict'
"$sg" simulate whole --script asks.lua >"$t/out" 2>&1
is $? 10 '10: a rerun takes another way'
for signal in INT TERM; do
	[ $signal = INT ] && want=130 || want=143
	env --default-signal=INT "$sg" run --json waits.lua >"$t/lines" 2>"$t/out" </dev/null &
	pid=$!
	wait_for 20 grep -q '"waits"' "$t/lines"
	kill -s $signal $pid
	wait $pid
	is $? $want "$want: SIG$signal ends it in order"
	id=$("$sg" ls --json | head -1 | grep -oE 's-[a-z0-9]+' | head -1)
	like "$("$sg" show "$id")" '^state +stopped' "$want: its record was closed, it was stopped"
done
finish
