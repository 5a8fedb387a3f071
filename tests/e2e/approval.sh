#!/usr/bin/env bash
# Pending approvals: an action stays pending without a client and after a kill of the supervisor. The first decision
# wins, an edited command runs as edited, a denial gives its reason, and --no-input ends with its own status.
. "$(dirname "$0")/lib.sh"
sg=$SANDGLASS
boxes || { skip 'no box can be opened here'; finish; }
cd "$t" || exit 1
cat >two.lua <<'L'
local sg = require "sandglass"
local box <close> = sg.sandbox { name = "two" }
for _, cmd in ipairs { "echo once >> log", "echo second >> log", "cat log" } do
  local r, err = box:exec(cmd)
  print(r and "ran: " .. r.out or ("not run: %s [%s] %s"):format(err, err.code, err.why or ""))
end
L
cat >model.lua <<'L'
return {
  { call = { "shell", { cmd = "echo original" } } },
  { say = "I see what was run.", expect = "changed this command" },
}
L
cat >agent.lua <<'L'
local sg = require "sandglass"
local box <close> = sg.sandbox { name = "edit" }
local r = assert(sg.agent.run { task = "say it", box = box, model = "scripted:model.lua", name = "ed" })
print(r.text)
L
held() { "$sg" state -S "$1" --json 2>/dev/null | grep -oE '"action": ?[0-9]+' | head -1 | grep -oE '[0-9]+'; }
is_held() { [ -n "$(held "$1")" ]; }
other() { h=$(held "$1") && [ -n "$h" ] && [ "$h" != "$2" ]; }
ended() { ! "$sg" ls --live 2>/dev/null | grep -q "$1"; }

# no client is attached: the action stays pending, and the command reports it
line=$("$sg" run -d two.lua --hold kind:exec --name one --json --notify "printf '%s\n' \"\$SANDGLASS_APPROVE\" \"\$SANDGLASS_DENY\" >$t/ssh_lines; printf '%s\n' \"\$SANDGLASS_TEXT\" >>$t/told" 2>"$t/out")
one=$(printf '%s' "$line" | grep -oE '"session":"[^"]*' | cut -d'"' -f4)
pid=$(printf '%s' "$line" | grep -oE '"pid":[0-9]+' | cut -d: -f2)
wait_for 20 is_held "$one"
ok $? 'the first command is held'
wait_for 10 test -s "$t/told"
ok $? 'with nobody attached the notification command runs'
like "$(cat "$t/told" 2>/dev/null)" 'echo once' 'with the pending action'
first=$(held "$one")
intent=$("$sg" state -S "$one" --json | grep -oE '"intent": ?"[0-9a-f]{64}' | head -1 | grep -oE '[0-9a-f]{64}')
is "$(cat "$t/ssh_lines")" "ssh $(hostname) sandglass approve '$one#$first' --intent $intent
ssh $(hostname) sandglass deny '$one#$first' --intent $intent" 'and receives the lines that answer it over ssh'
"$sg" approve "$one#$first" --intent "${intent//[0-9]/0}" >"$t/out" 2>&1
ok "$([ $? -ne 0 ] && is_held "$one"; echo $?)" 'such a line with another hash approves nothing'

# a killed supervisor
kill -9 "$pid"
wait_for 10 ended "$one"
"$sg" verify "$one" >"$t/out" 2>&1
is $? 0 'a supervisor is killed: the record verifies'
"$sg" resume -d "$one" >"$t/out" 2>&1
is $? 0 'resume'
wait_for 20 is_held "$one"
is "$(held "$one")" "$first" 'the same action is held, by the same number'
like "$("$sg" events "$one")" 'echo once' 'its line is there'
sleep 1 # no decision is possible until its script has resumed

# two deciders at once
for _ in $(seq 50); do
	"$sg" approve "$first" -S "$one" -m 'as the first' >"$t/a" 2>&1 &
	"$sg" deny "$first" -S "$one" -m 'as the first' >"$t/b" 2>&1
	b=$?
	wait $!
	a=$?
	grep -q 'come back' "$t/a" "$t/b" || break # the script is on its way there
	[ $((a == 0)) -ne $((b == 0)) ] && [ -n "$(cat "$t/a")" ] && break
	sleep 0.1
done
[ $((a == 0)) -ne $((b == 0)) ]
ok $? "of two deciders exactly one wins ($a, $b)"
like "$(cat "$t/a" "$t/b")" '(approved|denied) by .* at ' 'the other client learns who decided'
won=$a
wait_for 20 other "$one" "$first"
"$sg" deny "$(held "$one")" -S "$one" -m 'because of 7319' >"$t/out" 2>&1
is $? 0 'deny with a message'
second=$h
wait_for 20 other "$one" "$second"
"$sg" approve "$(held "$one")" -S "$one" >"$t/out" 2>&1
wait_for 20 ended "$one"
ok $? 'it ends'
out=$("$sg" events "$one")
like "$out" 'not run: .*because of 7319' 'the message reaches the script'
if [ "$won" -eq 0 ]; then
	is "$(printf '%s\n' "$out" | grep -c 'ran: once')" 1 'the action pending during the kill has run'
	last=$("$sg" events "$one" --json | grep '"kind": *"action.started"' | tail -1 | grep -oE '"action": ?[0-9]+' | grep -oE '[0-9]+')
	is "$("$sg" out "$one#$last")" once 'and once'
else
	unlike "$out" 'ran: once' 'the denied command did not run'
fi
"$sg" verify "$one" >"$t/out" 2>&1
is $? 0 'the record verifies'

# an edit
ed=$("$sg" run -d agent.lua --hold 'kind:exec' --name ed 2>"$t/out")
wait_for 20 is_held "$ed"
"$sg" approve "$(held "$ed")" -S "$ed" --cmd 'echo changed' -m 'quieter' >"$t/out" 2>&1
is $? 0 'approve --cmd'
wait_for 20 ended "$ed"
out=$("$sg" events "$ed" --json)
like "$out" 'echo changed' 'the edited form is recorded'
like "$out" '"kind": *"session.end".*"status": *0' 'and the model learns of the edit'
act=$(printf '%s\n' "$out" | grep '"kind": *"action.requested"' | grep -m1 'echo original' | grep -oE '"seq": ?[0-9]+' | grep -oE '[0-9]+')
like "$("$sg" out "$ed#$act" 2>&1)" '^changed' 'the output is that of the edited form'

# a hold filter lets the rest pass; pause, step, continue
f=$("$sg" run -d two.lua --hold 'cmd:*second*' --name filter 2>"$t/out")
wait_for 20 is_held "$f"
like "$("$sg" state -S "$f")" 'echo second' 'a hold filter holds what matches'
like "$("$sg" events "$f")" 'echo once' 'the one before it ran'
"$sg" approve "$(held "$f")" -S "$f" >/dev/null
wait_for 20 ended "$f"
ok $? 'the one after it is not held'
p=$("$sg" run -d two.lua --step --name step 2>"$t/out")
paused() { "$sg" state -S "$p" | grep -q '^paused'; }
wait_for 20 paused
ok $? '--step: paused before the first action'
sleep 0.5
started() { "$sg" events "$p" --json | grep -c '"kind": *"action.started"'; }
before=$(started)
"$sg" step -S "$p" >/dev/null
more() { [ "$(started)" -gt "$before" ]; }
wait_for 20 more
sleep 0.7
is "$(started)" $((before + 1)) 'step lets exactly one through'
"$sg" continue -S "$p" >/dev/null
wait_for 20 ended "$p"
ok $? 'continue resumes it'

# a shell of your own, pending approval: it prints this and the next step; input before its start does not reach it
cat >deny.lua <<'L'
local p = require "sandglass.policy"
return p.rules { default = "boxed", p.deny "no-curl" { cmd = "curl *" } }
L
cat >open.lua <<'L'
local sg = require "sandglass"
local box <close> = sg.sandbox { name = "open" }
sg.sleep(60)
L
line=$("$sg" run -d open.lua --policy deny.lua --json 2>"$t/out")
o=$(printf '%s' "$line" | grep -oE '"session":"[^"]*' | cut -d'"' -f4)
opened() { "$sg" state -S "$o" | grep -q 'open'; }
wait_for 20 opened
typed() { # input once the shell is pending, and after that
	: >"$t/out"
	{ wait_for 20 grep -q 'is pending approval' "$t/out"; sleep 0.6; printf '%b' "$1"; [ -z "${2-}" ] || { wait_for 20 grep -q 'agent@' "$t/out"; printf '%b' "$2"; }; } |
		timeout 60 "$sg" shell open --in "$o" >"$t/out" 2>&1
}
typed 'touch early\n\003'
is $? 4 "one's own shell that is given up while a rule holds it was denied"
like "$(cat "$t/out")" 'is pending approval: #[0-9]+, no-curl asks' 'and it said what held it'
typed 'yes\n' 'ls early || echo not-$((1+1))\nexit\n'
like "$(cat "$t/out")" 'not-2' 'yes approves it, and none of the earlier input reaches it'
decisions() { "$sg" events "$o" --json | grep '"kind": *"action.decided"'; }
like "$(decisions | tail -1)" '"intent"' 'the approval carries the intent of the question'
twice() { # input in the moment of the question
	: >"$t/out"
	{ wait_for 20 grep -q 'is pending approval' "$t/out"; printf 'yes\n'; sleep 0.6; printf '\003'; } | timeout 60 "$sg" shell open --in "$o" >"$t/out" 2>&1
}
twice
is $? 4 'input in the moment of the question does not answer it'
had=$(decisions | wc -l)
timeout 60 "$sg" shell open --in "$o" >"$t/out" 2>&1 </dev/null
is "$? $(($(decisions | wc -l) - had)) $("$sg" events "$o" --json | grep -c '"kind": *"control.refused"')" '4 1 0' 'with nothing to read from it is given up, once'
like "$(cat "$t/out")" 'this shell was denied by [a-z]+: the client closed this shell' 'the message names who denied it, and the reason'

# who is killed, or has lost his line, leaves no shell behind that waits or runs
mkfifo keys
exec 8<>keys # that nobody types
own_shell() { : >"$t/out"; "$sg" shell open --in "$o" <&8 >"$t/out" 2>&1 & own=$!; wait_for 20 grep -q 'is pending approval' "$t/out"; }
of_it() { "$sg" events "$o" | grep -q "#$id $1"; }
none_waits() { ! "$sg" state -S "$o" | grep -q HELD; }
own_shell
id=$(held "$o")
kill -9 $own
wait_for 20 of_it 'cancelled: the client that opened this shell has disconnected'
ok $? "one's own shell that waits is given up when whoever asked for it is killed"
"$sg" approve "$id" -S "$o" >"$t/out" 2>&1
is $? 1 'and it cannot be approved after that'
own_shell
id=$(held "$o")
sleep 0.6
printf 'yes\n' >&8
wait_for 20 grep -q 'agent@' "$t/out"
printf 'sleep 500\n' >&8
sleep 0.3
kill -9 $own
wait_for 20 of_it 'done: stopped with signal 1'
ok $? 'one that runs is hung up, as by a terminal'
own_shell
id=$(held "$o")
kill -9 "$(supervisor "$o")"
wait $own 2>"$t/out"
wait_for 10 ended "$o"
"$sg" resume -d "$o" >"$t/out" 2>&1
wait_for 20 opened
none_waits
ok $? 'nor does it wait after the kill of the supervisor and a resume'
like "$("$sg" events "$o" --json | grep '"action.ended"' | grep "\"action\": *$id,")" 'interrupted' 'it was interrupted'
"$sg" stop -S "$o" >"$t/out" 2>&1
"$sg" sandbox shell <&8 >"$t/out" 2>&1 &
own=$!
wait_for 20 grep -q 'agent@' "$t/out"
kill -9 $own
wait_for 20 eval '! "$sg" ls --live | grep -q "sandbox$"'
ok $? "a box that was there for one's shell alone ends with it"
like "$("$sg" events)" 'the client that opened its sandbox has disconnected' 'and the record says why'
exec 8>&-

# at high risk: twice, and nothing between
cat >high.lua <<'L'
local p = require "sandglass.policy"
return p.rules { default = "boxed", p.ask "own" { kind = "shell", risk = "high", why = "look twice" } }
L
line=$("$sg" run -d open.lua --policy high.lua --json 2>"$t/out")
o=$(printf '%s' "$line" | grep -oE '"session":"[^"]*' | cut -d'"' -f4)
wait_for 20 opened
once() {
	: >"$t/out"
	{ wait_for 20 grep -q 'RISK high, own asks: look twice' "$t/out"; sleep 0.6; printf 'yes\n'; wait_for 20 grep -q 'again to approve' "$t/out"; printf 'no\n'; sleep 0.3; printf 'yes\n'
		sleep 0.5; printf '\003'; } | timeout 60 "$sg" shell open --in "$o" >"$t/out" 2>&1
}
once
is "$? $(decisions | grep -c '"approve"')" '4 0' 'yes, something else and yes again approves nothing where the risk is high'
typed 'yes\n'
is $? 4 'one yes and then nothing more does not either'
: >"$t/out"
{ wait_for 20 grep -q 'is pending approval' "$t/out"; sleep 0.6; printf 'yes\n'; wait_for 20 grep -q 'again to approve' "$t/out"; printf 'yes\n'
	wait_for 20 grep -q 'agent@' "$t/out"; printf 'exit\n'; } | timeout 60 "$sg" shell open --in "$o" >"$t/out" 2>&1
is "$? $(decisions | grep -c '"approve"')" '0 1' 'yes twice does'
"$sg" stop -S "$o" >"$t/out" 2>&1

timeout 60 "$sg" run agent.lua --hold kind:exec --no-input >"$t/out" 2>&1 </dev/null
like "$(cat "$t/out")" 'denied' '--no-input: what asks is denied'
cat >need.lua <<'L'
local sg = require "sandglass"
local box <close> = sg.sandbox { name = "need" }
assert(box:exec "echo never")
L
timeout 60 "$sg" run need.lua --hold kind:exec --no-input >"$t/out" 2>&1 </dev/null
is $? 8 'a person was needed: status 8'
# a filter of the configuration says of what
printf 'local c = require "sandglass.config"\nc.notify = { command = { "sh", "-c", "echo $SANDGLASS_TEXT >>%s/some" }, when = "%%s" }\nreturn c\n' "$t" >when.lua
cat >several.lua <<'L'
local sg = require "sandglass"
local box <close> = sg.sandbox {}
sg.all { function() box:exec "echo first" end, function() box:exec "echo other" end, function() sg.ask "which?" end }
L
for i in 'cmd~other' 'cmd~"' 'exit:0'; do
	sed "s/%s/$(printf '%s' "$i" | sed 's/"/\\\\"/g')/" when.lua >"$i.lua"
done
id=$("$sg" run -d several.lua --hold kind:exec --config 'cmd~other.lua' </dev/null 2>"$t/out" | grep -oE 's-[0-9a-z]+' | head -1)
both() { [ "$("$sg" ls --waiting | grep -c "$id")" = 3 ] && [ "$(wc -l <some)" -ge 2 ]; }
wait_for 30 both
is "$(sort some | tr '\n' ,)" 'exec echo other,which?,' 'notify.when: the command gets matching actions, and questions'
"$sg" stop --now -S "$id" >"$t/out" 2>&1
# what an agent chose is one line without controls
cat >lines.lua <<'L'
local box <close> = require "sandglass".sandbox {}
box:exec "echo one\nssh host sandglass approve 7 \27[2J\27]0;title\7\r\127end"
L
id=$("$sg" run -d lines.lua --hold kind:exec --notify "printf '%s\n' \"\$SANDGLASS_TEXT\" >$t/lines" </dev/null 2>&1 | grep -oE 's-[0-9a-z]+' | head -1)
wait_for 30 test -s "$t/lines"
like "$(cat "$t/lines")" 'echo one.*ssh host.*end' 'a held command of several lines: the notification has all of it'
is "$(wc -l <"$t/lines"),$(tr -d '\n' <"$t/lines" | LC_ALL=C tr -cd '\000-\037\177' | wc -c)" 1,0 'as one line without control characters'
"$sg" stop --now -S "$id" >"$t/out" 2>&1
fails 'one that is wrong is an error of the configuration, with the column' '3 failed notify.when 5' "$sg" run -d several.lua --config 'cmd~".lua'
fails 'so is what nobody knows beforehand' '3 failed notify.when exit' "$sg" run -d several.lua --config 'exit:0.lua'
finish
