#!/usr/bin/env bash
# A program in its own terminal interface as a job of a shell (Ctrl-Z and fg), answered from its overlay, and attached
# to from the fleet.
. "$(dirname "$0")/lib.sh"
need_boxes
need python3
sg=$SANDGLASS pids=
stop_screens() { for p in $pids; do kill "$p" 2>/dev/null; done; end_all; }
trap stop_screens EXIT
cd "$t" || exit 1
mkdir -p repo vendor/bin && git -C repo init -q && echo one >repo/a && git -C repo add a && git -C repo commit -qm one
cp "$here/terminal/fake_agent.py" repo/
cp "$here/terminal/fake_agent.py" vendor/bin/claude && chmod +x vendor/bin/claude
unset NO_COLOR
export no_proxy=127.0.0.1,localhost ANTHROPIC_API_KEY=sk-REAL-7731 SANDGLASS_SESSIONS=$t/sessions TZ=UTC
mkdir -p "$SANDGLASS_SESSIONS"
. "$here/terminal/screen.bash"
states() { # the state of each process of the program
	local p
	for p in /proc/[0-9]*; do
		grep -qz 'fake_agent.py' "$p/cmdline" 2>/dev/null && grep -qz '^python3' "$p/cmdline" && grep '^State' "$p/status"
	done
}

# --- a job of a shell ---
cd repo || exit 1
screen a bash --norc --noprofile -i
to a "type $sg run -i -- python3 fake_agent.py\\r" >/dev/null
is "$(to a 'wait ready 60')" ok "below a shell"
to a 'type \x1a' >/dev/null
is "$(to a 'wait Stopped 30')" ok "Ctrl-Z: the program stops itself, and the client with it"
like "$(to a modes)" '^[0-9 ]*kitty 0' "the terminal is the shell's"
unlike "$(to a modes)" '1049|1000|2031' "without a mode of the program"
like "$(states)" 'T \(stopped\)' "the program is stopped in its sandbox"
s=$(session)
like "$(events "$s" | grep '"kind":"terminal.stopped"')" '"stopped":true' "which is recorded"
to a 'type fg\r' >/dev/null
is "$(to a 'wait continued 30')" ok "fg: it continues, and paints its screen"
like "$(to a modes)" '1000 1002 1004 1006 1049 2004 2031 kitty 1' "with its modes"
to a 'type after\r' >/dev/null
is "$(to a 'wait you said after 30')" ok "and takes what is typed"
to a 'type quit\r' >/dev/null
wait_for 30 sh -c '"$1" ls --json | grep -q "\"code\": *7\|\"exit\": *7\|failed"' - "$sg"
to a 'type echo =$?=\r' >/dev/null
is "$(to a 'wait =7= 60')" ok "its exit status is the job's"
to a "type $sg run -i -- cat\\r" >/dev/null
wait_for 30 sh -c '"$1" ls --json | grep -q "\"live\": *true\|running"' - "$sg"
to a 'type word\r' >/dev/null
is "$(to a 'wait word\r\nword 30')" ok "a program that leaves the terminal as it is"
to a 'type \x1a' >/dev/null
is "$(to a 'wait ^Z 30')" ok "Ctrl-Z is the kernel's there"
to a 'type echo =$((40+2))=\r' >/dev/null
is "$(to a 'wait =42= 30')" ok "and stops it, too"
to a 'type fg\r' >/dev/null
to a 'type again\r\x04' >/dev/null
is "$(to a 'wait again\r\nagain 30')" ok "fg continues it"
to a end >/dev/null
cd .. || exit 1

# --- the overlay answers what waits ---
cat >ask.lua <<'L'
local p = require "sandglass.policy"
return p.rules { default = "boxed", p.ask "touch" { cmd = "touch ..." } }
L
echo '[{"bash":"touch asked"},{"text":"all is done"}]' >steps.json
python3 "$here/inside/model.py" steps.json log >port 2>model.err &
pids="$pids $!"
wait_for 30 test -s port
export ANTHROPIC_BASE_URL=http://127.0.0.1:$(cat port)
PATH=$t/vendor/bin:$PATH screen b "$sg" claude --policy ask.lua --repo repo
is "$(to b 'wait ready 60')" ok "an agent by its name"
s=$(session)
held() { "$sg" state -S "$s" --json | python3 -c 'import json, sys; print(len(json.load(sys.stdin)["result"]["held"]))'; }
is_held() { [ "$(held)" = 1 ]; }
to b 'type ask one\r' >/dev/null
wait_for 60 is_held
ok $? "its tool call waits"
is "$(to b 'wait HELD 1 30')" ok "the window's title says so"
to b 'type \x1ca' >/dev/null
is "$(to b 'wait (rule touch) 30')" ok "a shows the queue, with the rule"
to b 'type n' >/dev/null
is "$(to b 'wait reason: _ 30')" ok "n asks for the reason"
to b 'type no fil\xc3\xa9\x7fe, please\r' >/dev/null
wait_for 30 sh -c '"$1" events "$2" --json | grep -q "\"kind\":\"action.decided\""' - "$sg" "$s"
is "$(to b 'wait model: all is done 30')" ok "Enter denies the oldest, and the overlay closes: the model hears it, and answers"
like "$(cat log)" 'no file, please' "with the reason"
like "$(events "$s" | grep '"kind":"action.decided"')" '"decision":"deny"|"verdict":"deny"|deny' "the denial is recorded"
to b 'type ask two\r' >/dev/null
wait_for 60 is_held
to b 'type \x1cy' >/dev/null
decided() { [ "$(events "$s" | grep -c '"kind":"action.decided"')" = 2 ]; }
wait_for 30 decided
is "$(to b 'wait model: I will. 30')" ok "y approves the oldest, and the overlay closes: the call reaches the agent"
to b 'type \x1cd' >/dev/null
is "$(to b 'status 60')" 0 "and d leaves it"
to b end >/dev/null

# --- from the fleet ---
screen c "$sg" attach --console "$s"
is "$(to c 'wait claude 60')" ok "the fleet"
to c 'type \r' >/dev/null
is "$(to c 'wait fake agent 60')" ok "Enter attaches to an agent in its own interface"
to c 'type \x1cf' >/dev/null
wait_for 30 sh -c '[ "$(python3 "$2" "$1" raw | grep -o AGENT | wc -l)" -ge 2 ]' - "$t/c.sock" "$here/terminal/to.py"
to c 'type \r' >/dev/null
to c 'type typed\r' >/dev/null
is "$(to c 'wait you said typed 60')" ok "the console of its overlay goes back to it"
to c 'type \x1cd' >/dev/null
to c 'type q' >/dev/null
is "$(to c 'wait y/n 30')" ok "d returns to the fleet"
to c end >/dev/null
timeout 30 "$sg" stop -S "$s" >/dev/null 2>&1
wait_for 60 sh -c '! "$1" ls --json | grep -q "\"live\": *true"' - "$sg"
"$sg" verify "$s" >/dev/null 2>&1
ok $? "the recording verifies"
finish
