#!/usr/bin/env bash
# fork, rerun, and run --watch never repeat recorded effects.
. "$(dirname "$0")/lib.sh"
sg=$SANDGLASS
need_boxes
export SANDGLASS_SESSIONS=$t/sessions
cd "$t" || exit 1
cat >steps.lua <<'L'
local sg = require "sandglass"
local box = sg.sandbox {}
for i = 1, 3 do
  assert(box:run("echo step " .. i .. " >>log; cat log"))
end
print(math.random(1000000), sg.store("s"):add("n", 1))
print(assert(box:read "log"))
L
three='step 1
step 2
step 3'
ids() { "$sg" ls --json | sed 's/.*"session":"\([^"]*\)".*/\1/' | sort; }
log_of() { "$sg" events "$1" --json | grep '"kind":"note"' | tail -1; }
"$sg" run --no-tui steps.lua </dev/null >out 2>&1
is $? 0 "a script of three steps"
id=$(ids)
like "$("$sg" simulate "$id")" 'the same' "its rerun is the same"
last=$("$sg" events "$id" --json | grep '"kind":"host.end"' | sed 's/.*"seq":\([0-9]*\).*/\1/')
first=$("$sg" events "$id" --json | grep '"kind":"host.frame"' | head -1 | sed 's/.*"seq":\([0-9]*\).*/\1/')
wrong='' forks=0
for at in $(seq "$first" "${EVERY:-7}" $((last - 1))); do
	"$sg" fork "$id#$at" --name "f$at" --no-tui </dev/null >"fork.$at" 2>&1 || wrong="$wrong #$at:status"
	f=$(ls "$SANDGLASS_SESSIONS"/*-f"$at"-*.glass)
	case $(log_of "$f") in *'step 1\nstep 2\nstep 3\n"'*) ;; *) wrong="$wrong #$at:files" ;; esac
	"$sg" verify "$f" >/dev/null || wrong="$wrong #$at:verify"
	[ "$("$sg" events "$f" --json | head -"$at" | sed 's/"session":"[^"]*"//')" = \
		"$("$sg" events "$id" --json | head -"$at" | sed 's/"session":"[^"]*"//')" ] || wrong="$wrong #$at:events"
	"$sg" simulate "$f" >/dev/null || wrong="$wrong #$at:rerun"
	! "$sg" events "$f" | grep -q 'supervisor died' || wrong="$wrong #$at:died"
	head -1 "fork.$at" | grep -q '^sandglass: s-[a-z0-9]* runs; its events follow' || wrong="$wrong #$at:silent"
	forks=$((forks + 1))
done
is "$wrong" "" "$forks forks: the same events before, the same files after, each verifies and reruns"
at=$("$sg" events "$id" --json | grep '"kind":"action.started"' | head -1 | sed 's/.*"seq":\([0-9]*\).*/\1/')
f=$("$sg" fork -d "$id#$at" </dev/null)
like "$f" '^s-[a-z0-9]+$' "fork -d prints the new session's id, no more"
gone() { ! "$sg" ls --live --json | grep -q "\"$f\""; }
wait_for 20 gone
like "$("$sg" events "$f")" 'interrupted.*copied while it ran' "what ran when it was copied: nothing has died"
"$sg" fork "$id#$((last + 500))" </dev/null >out 2>&1
is $? 2 "an event that is not there"
like "$(cat out)" "has no event" "is told"
"$sg" fork "$id#1" -d </dev/null >out 2>&1
is "$? $(grep -c "script of session $id starts at #" out)" '2 1' "an event before the script, with the first possible one"
"$sg" fork "$id" </dev/null >out 2>&1
is $? 2 "no event"
like "$(cat out)" 'missing event' "is told"
"$sg" fork "$id#2" </dev/null >out 2>&1
is $? 2 "before the script began"
before=$(ls "$SANDGLASS_SESSIONS" | wc -l)
"$sg" fork "$id#$last" </dev/null >out 2>&1
is $? 2 "after its end"
is "$(ls "$SANDGLASS_SESSIONS" | wc -l)" "$before" "and nothing is left of it"

sed 's/echo step/echo stop/' steps.lua >other.lua
out=$("$sg" simulate "$id" --script other.lua)
is $? 10 "another script diverges"
like "$out" '/args/cmd' "the place"
like "$out" 'recorded *echo step 1' "what was"
like "$out" 'now *echo stop 1' "what would be"
is "$("$sg" simulate "$id" --script other.lua --json | sed 's/.*"same":\([a-z]*\).*/\1/')" false "as JSON, too"

# a prompt with one other character
cat >ask.lua <<'L'
local sg = require "sandglass"
local chat = sg.chat { model = "scripted:turns.lua", system = "You are terse." }
chat:user("Name the third letter of the word: gate")
print(assert(chat:send()).text)
L
echo 'return { { say = "t" } }' >turns.lua
"$sg" run --no-tui ask.lua </dev/null >out 2>&1
is $? 0 "a prompt"
sed 's/third letter/third Letter/' ask.lua >ask2.lua
out=$("$sg" simulate --script ask2.lua)
is $? 10 "one other character in it"
like "$out" '/args/messages/1/text' "is found with its place"
like "$out" 'third Letter' "and shown"

# --watch
cp steps.lua w.lua
"$sg" run --watch --no-tui w.lua </dev/null >watch.out 2>&1 &
pid=$!
waits() { [ "$(grep -c 'waiting for a change' watch.out)" = "$1" ]; }
wait_for 30 waits 1
sed -i 's/"echo step " .. i/"echo step " .. (i < 3 and i or "three")/' w.lua
wait_for 30 waits 2
new=$("$sg" ls --json | sed -n 's/.*"session":"\([^"]*\)".*/\1/p' | head -1)
like "$(log_of "$new")" 'step 1\\nstep 2\\nstep three' "a save goes on where the script asks something else"
is "$("$sg" events "$new" --json | grep '"kind":"action.requested"' | grep -c 'step')" 3 "and does the first two steps no second time"
like "$("$sg" events "$new" --json | grep host.changed)" '"us":' "the time from save to action is recorded"
kill -INT $pid
wait $pid
is $? 130 "Ctrl-C leaves"
echo 'print "nothing asked"' >w.lua
"$sg" run --watch --no-tui w.lua </dev/null >watch.out 2>&1 &
pid=$!
wait_for 30 waits 1
printf 'print "nothing asked"\nrequire("sandglass").sleep(0.01)\nprint "now it does"\n' >w.lua
said() { grep -q 'now it does' watch.out; }
wait_for 30 said
ok $? "a script that asked for nothing goes on where it asks for something"
kill -INT $pid
wait $pid
finish
