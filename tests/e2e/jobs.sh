#!/usr/bin/env bash
# A running command on its screen, a sandbox closed from its screen, a used-up budget extended at its warning, and hints
# shown once: in a real terminal.
. "$(dirname "$0")/lib.sh"
sg=$SANDGLASS
need_boxes
need tmux
cd "$t" || exit 1
export SANDGLASS_SESSIONS=$t/sessions TERM=screen
cat >j.lua <<'L'
local sg = require "sandglass"
local box, other = sg.sandbox { name = "work" }, sg.sandbox { name = "other" }
local long = box:spawn "echo begun; sleep 300"
other:exec "echo x >a.txt"
local r, err = sg.agent.run { name = "spender", task = "t", model = "scripted:many.lua", tools = { "shell" }, box = box, budget = { actions = 3 } }
sg.note("spender: %s", r and r.stop or tostring(err))
sg.ask { text = "enough?", choices = { "yes" } }
L
cat >many.lua <<'L'
return { { say = "one", call = { "shell", { cmd = "echo one" } } }, { say = "two", call = { "shell", { cmd = "echo two" } } }, { say = "done" } }
L
T="tmux -L jobs-$$ -f /dev/null"
trap '$T kill-server 2>/dev/null; end_all' EXIT
screen() { $T capture-pane -p; }
shows() { screen >"$t/screen"; grep -qE -- "$1" "$t/screen"; }
keys() { $T send-keys "$@"; }
$T new-session -d -x 120 -y 36 "LC_ALL=C.UTF-8 $sg run j.lua; echo left; exec sleep 60"
wait_for 30 shows 'the budget is used up: \$ extends it'
ok $? "an action that waits for a budget says which key gives more"
sees '^ hint +an action is pending' "who is new is told what to do"
keys a
wait_for 5 shows 'a budget is used up: \$ extends it, y approves this action only'
ok $? "so does the screen that asks for a decision"
keys Escape
wait_for 5 shows 'AGENT +SANDBOX|AGENT +SESSION'
keys '$'
wait_for 5 shows 'spender has used up its actions; how much more\?'
ok $? "the question names what ran out"
keys 20 Enter
wait_for 15 shows 'agent +begins|done'
wait_for 15 sh -c "'$sg' events --json 2>/dev/null | grep -q 'spender: end\|spender: done'"
ok $? "a number alone is of that: the agent goes on to its end"

# --- jobs ---
keys g
keys j
wait_for 5 shows '> exec +run .*echo begun; sleep 300'
ok $? "jobs has the command that runs"
keys X
wait_for 5 shows 'end action #[0-9]+\?'
keys n
sleep 0.3
shows '> exec +run'
ok $? "X asks first"
keys X
wait_for 5 shows 'end action #[0-9]+\?'
keys y
wait_for 10 shows 'nothing runs'
ok $? "and ends it"

# --- boxes ---
keys Escape
sleep 0.2
keys g
keys b
wait_for 5 shows 'other .* open .* 1 file'
ok $? "boxes says what is not merged"
shows '> other|. other' && keys j
keys X
wait_for 5 shows 'type other to close it|close work\?'
shows 'type other to close it' || { keys n; keys k; keys X; }
wait_for 5 shows 'type other to close it'
ok $? "a box with such work is closed by its name only"
keys othe Enter
wait_for 5 shows 'not closed: its name is other'
ok $? "another word closes nothing"
keys X
wait_for 5 shows 'type other to close it'
keys other Enter
wait_for 10 shows '. other .* closed'
ok $? "its name closes it"
"$sg" close nothing >out 2>&1
is $? 1 "the command says that there is no such box"
keys q
sleep 0.3
keys Q
wait_for 5 shows 'leave: 1 agents continue'
keys 1
wait_for 10 shows '^left'
ok $? "left"

# --- hints are shown once ---
tmux_end $T
id=$("$sg" ls --json | grep -oE '"id":"s-[a-z0-9]+"' | head -1 | cut -d'"' -f4)
$T new-session -d -x 120 -y 36 "LC_ALL=C.UTF-8 $sg attach $id; exec sleep 60"
wait_for 20 shows 'AGENT +SESSION'
sleep 0.5
unlike "$(screen)" 'hint +an action waits' "a hint that was shown is not shown again"
grep -qx held "$HOME/.local/state/sandglass/hints"
ok $? "which the state folder remembers"
finish
