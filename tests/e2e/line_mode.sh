#!/usr/bin/env bash
# Line mode offers the console's functions: a user at a terminal (a pty) decides by numbers and types commands. It
# prints no escape sequence and no line twice. Without a client the sandbox of a pending action is frozen.
. "$(dirname "$0")/lib.sh"
sg=$SANDGLASS
boxes || { skip 'no box can be opened here'; finish; }
cd "$t" || exit 1
cat >six.lua <<'L'
local sg = require "sandglass"
local box <close> = sg.sandbox { name = "six" }
for _, word in ipairs { "one", "two", "three", "four", "five" } do
  local r, err = box:exec("echo " .. word .. " | tee -a log")
  print(r and "ran: " .. r.out or "not run: " .. err.msg .. " " .. (err.why or ""))
end
L
begins() { # arguments...: line mode in a pty; its input is descriptor 7, its output $t/pty
	rm -f "$t/in"
	: >"$t/pty"
	mkfifo "$t/in"
	TERM=xterm script -qefc "$*" /dev/null <"$t/in" >"$t/pty" 2>&1 &
	pty=$!
	exec 7>"$t/in"
}
shows() { wait_for 30 grep -qE -- "$1" "$t/pty"; }
types() { printf '%s\r' "$1" >&7; }
step() { # the input, the expected text, name
	types "$1"
	shows "$2"
	ok $? "$3"
}
nth_ask() { wait_for 30 eval '[ "$(grep -c "^ask [0-9]" "$t/pty")" -ge '"$1"' ]'; }

begins "'$sg' run six.lua --no-tui --hold kind:exec --name six"
nth_ask 1
ok $? 'a pending action is asked about'
like "$(cat "$t/pty")" '1 approve once.*2 approve for session' 'by numbers'
step 'help' 'approve .*Approve a pending action' 'help lists the commands at the prompt'
step 'state' 'HELD #[0-9]+ .*echo one' 'state'
step 'nonsense' "unknown command 'nonsense'" 'an unknown command is reported'
types 1
shows 'ran: one'
ok $? '1: it runs'
nth_ask 2
id=$(grep -oE '^ask [0-9]+' "$t/pty" | tail -1 | cut -d' ' -f2)
step "deny $id -m 'not that, because of 4711'" 'not run: .*because of 4711' 'a command with an option and a quoted text, typed'
nth_ask 3
id=$(grep -oE '^ask [0-9]+' "$t/pty" | tail -1 | cut -d' ' -f2)
step "approve $id --cmd 'echo else'" 'ran: else' 'an edit, typed'
nth_ask 4
step "out $id" '^else' 'out: its output'
step 'pause' 'session event [0-9]+ pause: paused by' 'pause'
step 'continue' 'session event [0-9]+ continue: by' 'continue'
nth_ask 5
id=$(grep -oE '^ask [0-9]+' "$t/pty" | tail -1 | cut -d' ' -f2)
step "diff --stat" 'log' 'diff'
step "approve $id --session 'echo *'" 'ran: five' 'approve for the session'
shows 'session: (succeeded|failed|ended)'
ok $? 'the session ends'
exec 7>&-
wait $pty
is $? 0 'and line mode with it, with its status'
unlike "$(tr -d '\r' <"$t/pty" | tr '\033' '~')" '~' 'no escape sequence'

seq=$("$sg" events --json | grep '"kind":"action.held"' | head -1 | grep -oE '"seq":[0-9]+')
like "$("$sg" replay "#${seq#*:}" --screen --view approval 2>&1)" 'hold  it matches the breakpoint: kind:exec' 'the dialog names the filter that stopped it'

# no client is attached: the sandbox of a pending action is frozen until a client attaches or decides
cat >still.lua <<'L'
local sg = require "sandglass"
local box <close> = sg.sandbox { name = "still" }
box:spawn "while :; do echo x >> ticks; sleep 0.1; done"
sg.sleep(0.5)
local r, err = box:exec "echo held"
print(r and "ran: " .. r.out or "not run: " .. err.msg)
r, err = box:exec "echo again"
print(r and "ran: " .. r.out or "not run: " .. err.msg)
L
frozen() { "$sg" events "$one" --json | grep '"kind": *"box.frozen"' | tail -1 | grep -q "\"frozen\": *$1"; }
held() { "$sg" state -S "$one" --json 2>/dev/null | grep -oE '"action": ?[0-9]+' | head -1 | grep -oE '[0-9]+'; }
one=$("$sg" run -d still.lua --hold 'cmd:echo*' --name still 2>"$t/out")
wait_for 20 frozen true
ok $? 'nobody is there: the box stands still'
like "$("$sg" events "$one" --json | grep '"box.frozen"')" 'attached who could decide' 'recorded, with the reason'
begins "'$sg' attach --no-tui $one"
wait_for 20 frozen false
ok $? 'a client attaches: it continues'
like "$("$sg" events "$one" --json | grep '"box.frozen"' | tail -1)" 'a user is attached' 'recorded'
exec 7>&-
kill -HUP $pty 2>/dev/null
wait_for 20 frozen true
ok $? 'he leaves: it stands again'
begins "'$sg' attach --no-tui --json $one >$t/json"
wait_for 20 frozen false
for word in state 'kill nobody' nonsense 'completion bash' ls; do types "$word"; done
wait_for 10 eval '[ "$(grep -c "\"error\"" "$t/json")" -ge 3 ]'
ok $? '--json: what cannot be done is an object, too'
types quit
wait $pty
exec 7>&-
python3 -c 'import json, sys; [json.loads(line) for line in sys.stdin]' <"$t/json"
ok $? 'and so is every line that answers what is typed'
is "$(jq -r '.error.hint // empty' "$t/json" | grep -c "'sandglass help completion'")" 1 'with what to do as a field'
wait_for 20 frozen true
first=$(held)
"$sg" approve "$first" -S "$one" >"$t/out" 2>&1
other() { h=$(held) && [ -n "$h" ] && [ "$h" != "$first" ]; }
wait_for 20 other
ok $? 'decided from another shell: it runs'
like "$("$sg" events "$one")" 'ran: held' 'and is done'
"$sg" approve "$(held)" -S "$one" >"$t/out" 2>&1
"$sg" stop --now -S "$one" >"$t/out" 2>&1
wait_for 20 eval '! "$sg" ls --live | grep -q "$one"'
"$sg" verify "$one" >"$t/out" 2>&1
is $? 0 'the record verifies'
# an interrupt leaves an attached session and stops nothing
sleeps() { # session, agents that sleep
	"$sg" run -d sleeps.lua --name "$1"
}
echo 'require("sandglass").sleep(300)' >sleeps.lua
two=$(sleeps stays)
for how in INT:130 TERM:143; do
	for cmd in attach watch; do
		: >"$t/left"
		env --default-signal=INT timeout 60 "$sg" $cmd --no-tui "$two" >"$t/left" 2>&1 </dev/null &
		front=$!
		wait_for 30 grep -q 'session.*stays' "$t/left"
		kill -"${how%:*}" "$(pgrep -P $front)"
		wait $front
		is $? "${how#*:}" "$cmd: leaves on SIG${how%:*}"
		like "$(cat "$t/left")" "the agents continue; 'sandglass attach $two' returns" 'and the message says that the agents continue'
	done
done
begins "'$sg' attach --no-tui $two"
shows 'session.*stays'
types 'detach'
wait $pty
is $? 0 'detach leaves'
like "$(cat "$t/pty")" "the agents continue; 'sandglass attach $two' returns" 'with the same words'
exec 7>&-
like "$("$sg" ls --live)" "^$two +running" 'nothing of it stopped the session'
unlike "$("$sg" events "$two" --json)" '"command": ?"stop"' 'nor asked it to'
"$sg" stop --now -S "$two" >"$t/out" 2>&1
env --default-signal=INT timeout 60 "$sg" run sleeps.lua --no-tui --name front >"$t/left" 2>&1 </dev/null &
front=$!
wait_for 30 grep -q 'session.*front' "$t/left"
kill -INT "$(pgrep -P $front)"
wait $front
is $? 130 'a foreground command stops'
like "$("$sg" events --json | grep '"kind":"session.end"')" 'stopped by a user' 'cleanly'

# high risk takes two answers
cat >high.lua <<'L'
local sg = require "sandglass"
local box <close> = sg.sandbox { name = "high" }
local r, err = box:exec "echo risky"
print(r and "ran: " .. r.out or "not run: " .. err.msg)
L
cat >high_policy.lua <<'L'
local p = require "sandglass.policy"
return p.rules { default = "boxed", p.ask "risky" { cmd = "echo risky", why = "look twice", risk = "high" } }
L
begins "'$sg' run high.lua --no-tui --policy high_policy.lua --name high"
nth_ask 1
like "$(cat "$t/pty")" 'ask [0-9]+, risk high' 'a high risk is named'
step 1 'high risk: type 1 again to approve' '1: said once'
step state 'HELD #[0-9]+' 'something else between'
types 1
wait_for 30 eval '[ "$(grep -c "type 1 again" "$t/pty")" -ge 2 ]'
ok $? 'takes it back'
step 1 'ran: risky' 'said twice it runs'
shows 'session: (succeeded|failed|ended)'
exec 7>&-
wait $pty

# a late client does not get all earlier events
echo 'local sg = require "sandglass"; for i = 1, 900 do sg.note("note number %d.", i) end; sg.sleep(300)' >notes.lua
three=$("$sg" run -d notes.lua --name notes)
wait_for 30 eval '"$sg" events "$three" | grep -q "number 900"'
begins "'$sg' attach --no-tui $three"
shows 'note number 900'
ok $? 'the newest event is printed'
like "$(cat "$t/pty")" "[0-9]+ earlier events: 'events' lists them" 'earlier events are counted'
unlike "$(cat "$t/pty")" 'note number 1[.]' 'and not repeated'
types quit
wait $pty
exec 7>&-
"$sg" attach --no-tui --json "$three" </dev/null >"$t/all" 2>&1 &
front=$!
wait_for 30 grep -q 'note number 900' "$t/all"
kill $front
like "$(cat "$t/all")" 'note number 1[.]' 'a program hears all'
echo 'require("sandglass").note "one"' >note.lua
"$sg" run --no-tui --json --name same note.lua </dev/null >"$t/all" 2>/dev/null
is "$(cat "$t/all")" "$("$sg" events same --json)" 'in the words that events has for it'
finish
