#!/usr/bin/env bash
# A command started in a frozen sandbox waits for the thaw. Until then it can be cancelled, and its session can be
# stopped.
. "$(dirname "$0")/lib.sh"
need_boxes
sg=$SANDGLASS
cd "$t" || exit 1
cat >cancel.lua <<'L'
local sg = require "sandglass"
local box <close> = sg.sandbox { name = "b" }
assert(box:run("true"))
assert(box:freeze())
local t = sg.spawn(function() box:run("touch began") end)
sg.sleep(0.3)
t:close()
local r, err = box:run("touch began", { timeout = 0.3 })
print("timeout", err and err.code)
local late = sg.spawn(function() return box:run("cat", { stdin = "told" }).out end)
sg.sleep(0.3)
assert(box:thaw())
print("late", late:await(30))
print("began", box:run("ls; echo nothing").out)
L
timeout 60 "$sg" run --no-tui -q cancel.lua >out 2>&1 </dev/null
is $? 0 'cancelled, timed out, and one that waits for the thaw'
file=$(ls -t "$HOME"/.local/share/sandglass/sessions/*.glass | head -1)
is "$("$sg" events "$file" --json | grep '"kind":"action.ended"' | grep -c 'its sandbox was frozen: nothing was started')" 2 'two ended while it was frozen'
like "$(cat out)" 'timeout +timeout' 'the second by its time'
like "$(cat out)" 'late +told' 'the one that waited has run, with its stdin'
like "$(cat out)" 'began +nothing' 'the others never'
cat >stop.lua <<'L'
local sg = require "sandglass"
local box <close> = sg.sandbox { name = "b" }
assert(box:run("true"))
assert(box:freeze())
box:run("true")
L
timeout 100 "$sg" run --no-tui -q stop.lua >out 2>&1 </dev/null &
started() { file=$(ls -t "$HOME"/.local/share/sandglass/sessions/*.glass | head -1) && [ "$("$sg" events "$file" --json 2>/dev/null | grep -c '"kind":"action.started"')" = 2 ]; }
wait_for 30 started
"$sg" stop >stop.out 2>&1
wait
like "$("$sg" events "$file" --json | grep '"kind":"session.end"')" 'stopped by a user' 'a session whose command waits there unwinds'
"$sg" verify "$file" >/dev/null 2>&1
is $? 0 'and its record is whole'
cat >kill.lua <<'L'
local sg = require "sandglass"
local box <close> = sg.sandbox { name = "b" }
local function ticks() return #(box:read("tick") or "") end
local function until_ticks(n) for _ = 1, 600 do if ticks() > n then return true end sg.sleep(0.1) end end
local other = box:spawn "while :; do echo . >>tick; sleep 0.01; done"
local it = sg.spawn(function() local _, err = box:run("touch began; exec sleep 300"); return err and err.code end)
until_ticks(0)
for _ = 1, 600 do if box:read "began" then break end sg.sleep(0.1) end
assert(box:freeze())
print("frozen")
print("it", it:await(60))
local before = ticks()
sg.sleep(0.3)
print("still", ticks() == before)
assert(box:thaw())
print("goes on", until_ticks(before))
other:kill()
L
timeout 100 "$sg" run --no-tui -q kill.lua >out 2>&1 </dev/null &
wait_for 60 grep -q 'note.*frozen' out
id=$("$sg" events --json | grep '"kind":"action.requested"' | grep 'sleep 300' | grep -o '"seq":[0-9]*')
"$sg" kill "${id#*:}" >kill.out 2>&1
wait
like "$(cat out)" 'it +cancelled' 'a command killed in a frozen sandbox ends there'
like "$(cat out)" 'still +true' 'and nothing else moves meanwhile'
like "$(cat out)" 'goes on +true' 'until it is thawed'
is "$("$sg" events --json | grep -oE '"kind":"(box.frozen|note)"' | head -1)" '"kind":"box.frozen"' 'freeze answers once the box stands still'
cat >open.lua <<'L'
local sg = require "sandglass"
local t = sg.spawn(function() sg.sandbox { name = "b" } end)
sg.sleep(0)
t:close()
sg.sleep(90)
L
timeout 100 "$sg" run --no-tui -q open.lua >out 2>&1 </dev/null &
begun() { "$sg" ls --live | grep -q '^s-'; } # only then it is the newest one
opened() { "$sg" events --json | grep -q '"kind":"box.open"'; }
closed() { "$sg" events --json | grep -q '"kind":"box.closed"'; }
wait_for 60 begun
wait_for 60 opened
wait_for 60 closed
ok $? 'a box whose opening is cancelled does not stay'
"$sg" stop >/dev/null 2>&1
wait

# 'continue AGENT' lets go what this agent uses, and nothing that another one uses who stands
cat >turns.lua <<'L'
return { { call = { "shell", { cmd = "while :; do date >>tick; sleep 0.05; done", timeout = 300 } } }, { say = "done" } }
L
cat >several.lua <<'L'
local sg = require "sandglass"
local box = { a = sg.sandbox { name = "one" }, b = sg.sandbox { name = "two" }, c = sg.sandbox { name = "both" } }
box.d = box.c
for _, name in ipairs { "a", "b", "c", "d" } do
  sg.spawn(function() sg.agent.run { name = name, task = "go", model = "scripted:turns.lua", tools = { "shell" }, box = box[name] } end)
  sg.sleep(0.3)
end
sg.sleep(600)
L
id=$("$sg" run -d several.lua 2>several.out)
of() { "$sg" events "$id" --json 2>/dev/null | grep "\"kind\":\"$1\""; }
requested() { [ "$(of action.requested | grep -c 'date >>tick')" = 4 ] && [ "$(of action.started | wc -l)" -ge 3 ]; }
wait_for 60 requested
ok $? 'four agents, two of them in one box'
stands() { # boxes that stand, in order
	local b n
	for n in one two both; do
		b=$(of box.open | grep "\"name\": *\"$n\"" | grep -oE '"seq":[0-9]+' | head -1)
		of box.frozen | grep -E "\"box\": *${b#*:}[,}]" | tail -1 | grep -q '"frozen": *true' && printf '%s ' "$n"
	done
}
stand() { [ "$(stands)" = "$1" ]; }
tells() { # words of continue, what then stands, name
	# shellcheck disable=SC2086
	timeout 30 "$sg" continue $1 -S "$id" >out 2>&1
	wait_for 30 stand "$2"
	is "$(stands)" "$2" "$3"
}
timeout 30 "$sg" freeze -S "$id" >out 2>&1
is "$(stands)" 'one two both ' 'all stand'
tells a 'two both ' 'one agent continues: only its own sandbox thaws'
tells c 'two both ' 'one agent continues: a sandbox shared with a paused agent stays frozen'
like "$(cat out)" "sandbox 'both' stays frozen: d uses it, too; 'thaw both' continues it for all" 'which the message explains'
tells d 'two ' 'it thaws after both continue'
timeout 30 "$sg" freeze both -S "$id" >out 2>&1
tells c 'two both ' 'a new freeze needs both again'
tells '' '' 'without a name: all'
last() { of "$1" | tail -1 | grep -oE '"body":\{"agent":[0-9]+(,"freeze":true)?'; }
timeout 30 "$sg" pause a -S "$id" >out 2>&1
timeout 30 "$sg" freeze -S "$id" >out 2>&1
is "$(stands) $(last latch.pause)" 'one two both  "body":{"agent":0,"freeze":true' 'a freeze of all says in the record that its pause is its own'
timeout 30 "$sg" thaw -S "$id" >out 2>&1
is "$(stands) $(last latch.continue)" ' "body":{"agent":0,"freeze":true' 'and a thaw, that it ends that one'
like "$("$sg" state -S "$id" --json)" '"paused":\[[1-9]' 'whom a person had paused is still paused'
timeout 30 "$sg" continue -S "$id" >out 2>&1
timeout 30 "$sg" stop --now -S "$id" >out 2>&1

# input to a shell of a frozen sandbox waits, within a limit, with a message
printf 'local sg = require "sandglass"\nlocal box <close> = sg.sandbox { name = "still" }\nsg.sleep(600)\n' >still.lua
id=$("$sg" run -d still.lua 2>still.out)
opened() { "$sg" state -S "$id" 2>/dev/null | grep -q still; }
wait_for 60 opened
: >typed
{
	wait_for 60 grep -q 'agent@' typed
	timeout 30 "$sg" freeze still -S "$id" >out 2>&1
	echo 'echo $((6 * 7))'
	wait_for 60 grep -q 'your input waits' typed
	head -c 2000000 /dev/zero | tr '\0' a
	wait_for 60 grep -q 'thrown away' typed
	was=-1 # all of it has been answered: nothing more comes into the record
	until [ "$was" = "$(of proc.stdin | wc -c)" ]; do was=$(of proc.stdin | wc -c); sleep 2; done
	echo "$was" >kept
	timeout 30 "$sg" thaw still -S "$id" >out 2>&1
	wait_for 60 grep -q '42' typed
	printf '\003exit\n'
} | timeout 200 "$sg" shell still --in "$id" >typed 2>&1
like "$(cut -c1-100 typed)" 'the sandbox is frozen: your input waits until it is thawed' 'the message explains that input waits'
like "$(cut -c1-100 typed)" 'input dropped: .*; its sandbox is frozen' 'and when there is too much of it'
like "$(cut -c1-100 typed)" '42' 'it is done once the box is thawed'
kept=$(cat kept)
[ "$kept" -lt 1000000 ]
ok $? "what was thrown away is not recorded either ($kept bytes)"
timeout 30 "$sg" stop --now -S "$id" >out 2>&1

# a shell starts its programs with vfork: one on its way into that does not hear the first call to freeze (cgroups, version 1)
cat >forks.lua <<'L'
local sg = require "sandglass"
local box <close> = sg.sandbox { name = "b" }
local p = assert(box:spawn "for i in 1 2 3 4; do while :; do /bin/true; done & done; wait")
sg.sleep(0.1)
local failed = 0
for i = 1, 120 do
  if box:freeze() then assert(box:thaw()) else failed = failed + 1 end
  sg.sleep(0.002)
end
print("failed " .. failed .. " times")
p:kill()
L
timeout 120 "$sg" run --no-tui -q forks.lua >out 2>&1 </dev/null
like "$(cat out)" 'failed 0 times' 'a box that starts programs all the time freezes each time'
finish
