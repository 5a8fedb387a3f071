#!/usr/bin/env bash
# The wall clock jumps by a day, forward and backward, while a session runs: time limits, pending approvals, session
# approvals, the order of events, the lease, the catalog, and prune.
. "$(dirname "$0")/lib.sh"
sg=$SANDGLASS
need_boxes
need jq
cd "$t" || exit 1
${CC:-gcc} -shared -fPIC -O1 -w -o clock.so "$here/clock.c" -ldl 2>"$t/out" || { skip "no library can be built: $(head -1 "$t/out")"; finish; }
export FAKE_CLOCK=$t/clock
jump() { echo "$1" >clock.new && mv clock.new clock; }
now_sg() { LD_PRELOAD=$t/clock.so "$sg" "$@"; } # a program with this clock
cat >policy.lua <<'L'
local p = require "sandglass.policy"
return p.rules { default = "allow",
  p.ask "never" { cmd = "echo late", timeout = "400s" },
  p.ask "soon" { cmd = "echo soon", timeout = "2s" },
  p.ask "again" { cmd = "echo again *" } }
L
cat >jumps.lua <<'L'
local sg = require "sandglass"
local box <close> = sg.sandbox { name = "b" }
local function try(what, ...)
  local r, e = box:exec(...)
  print(what .. "=" .. (r and r.out:gsub("%s+", "") or e.code))
end
try("limit", "echo began >began; sleep 2; echo done", { timeout = 400 })
try("short", "sleep 300", { timeout = 2 })
try("late", "echo late")
try("soon", "echo soon")
try("first", "echo again 1")
try("second", "echo again 2")
sg.sleep(2)
try("third", "echo again 3")
L
state() { "$sg" state -S "$name" 2>/dev/null; }
held() { state | sed -n "s/^HELD #\([0-9]*\) .*$1.*/\1/p" | head -1; }
holds() { [ -n "$(held "$1")" ]; }
began() { "$sg" events "$name" 2>/dev/null | grep -q "$1"; }
said() { "$sg" events "$name" --json | jq -r 'select(.body.text? | tostring | startswith("'"$1"'=")) | .body.text' | tail -1 | tr -d '\n'; }
ended() { ! "$sg" ls --live 2>/dev/null | grep -q "$name"; }
through() { # name, seconds
	name=$1
	jump 0
	now_sg run -d jumps.lua --policy policy.lua --name "$name" >"$t/out" 2>&1 </dev/null
	wait_for 30 began 'sleep 2'
	jump "$2"
	wait_for 60 holds late
	ok $? "$name: time limits hold, and an approval waits"
	jump $(($2 * 2)) # once more, while it waits
	sleep 1
	holds late
	ok $? "$name: it waits on"
	"$sg" ls --live | grep -q "$name"
	ok $? "$name: its lease is held"
	"$sg" approve "$(held late)" -S "$name" >"$t/out" 2>&1
	is $? 0 "$name: it can be approved"
	wait_for 40 holds 'again 1'
	"$sg" approve "$(held 'again 1')" -S "$name" --session 'echo again *' --for 1s >"$t/out" 2>&1
	is $? 0 "$name: for the session, for 1 s"
	jump "$2"
	wait_for 40 holds 'again 3'
	ok $? "$name: which end"
	"$sg" deny "$(held 'again 3')" -S "$name" >"$t/out" 2>&1
	wait_for 40 ended
	ok $? "$name: it ends"
	got=
	for what in limit short late soon first second third; do got="$got $(said $what)"; done
	is "$got" ' limit=done short=timeout late=late soon=denied first=again1 second=again2 third=denied' "$name: what each command became"
	"$sg" events "$name" --json >events
	is "$(jq -s '[.[].seq] == ([.[].seq] | sort) and ([.[] | select(.kind == "clock.jump")] | length) >= 2' events)" true "$name: events are in order, and tell of the jumps"
	"$sg" verify "$name" >"$t/out" 2>&1
	is $? 0 "$name: it verifies"
}
through ahead 86400
through back -86400
jump 0
is "$("$sg" ls --json | jq -r .name | sort | tr '\n' ' ')" 'ahead back ' 'both are listed'
"$sg" index --catalog >"$t/out" 2>&1
is $? 0 'the catalog is built'
is "$("$sg" ls --json | jq -r .name | sort | tr '\n' ' ')" 'ahead back ' 'and lists both'
unlike "$("$sg" ls; "$sg" show back; "$sg" report)" '(^| )-[0-9]+(\.[0-9]+)?(s|m|h|d)\b' 'no span of time is negative'
"$sg" prune --older-than 12h --yes >"$t/out" 2>&1 </dev/null
is "$("$sg" ls --json | jq -r .name | sort | tr '\n' ' ')" 'ahead back ' 'prune removes neither: the newest time of a session counts'
finish
