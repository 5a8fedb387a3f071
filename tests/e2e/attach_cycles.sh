#!/usr/bin/env bash
# A program in its own terminal interface survives its terminals: each attach paints the same screen, and a client that
# is killed at any byte leaves a restored terminal. LONG=1: 100 attaches and 200 kills.
. "$(dirname "$0")/lib.sh"
need_boxes
need python3
sg=$SANDGLASS pids=
trap 'for p in $pids; do kill "$p" 2>/dev/null; done; end_all' EXIT
cd "$t" || exit 1
mkdir repo && cd repo && git init -q . && echo one >a && git add a && git commit -qm one
cp "$here/terminal/fake_agent.py" .
. "$here/terminal/screen.bash"
attaches=20 kills=10
[ -z "${LONG:-}" ] || attaches=100 kills=200
cycles() { timeout 900 python3 "$here/terminal/cycles.py" "$sg" "$s" "$@" 2>&1; }

screen a "$sg" run -i -- python3 fake_agent.py
is "$(to a 'wait fake agent 60')" ok "an agent has a terminal"
s=$(session)
for words in 'wide \xe4\xb8\xad\xe6\x96\x87' 'accents \xc3\xa9' plain; do
	to a "type $words\\r" >/dev/null
done
is "$(to a 'wait you said plain 30')" ok "it shows wide characters, too"
to a 'type \x1cd' >/dev/null
is "$(to a 'status 60')" 0 "it is detached"
is "$(cycles attach "$attaches")" 1 "$attaches times attached and detached: one screen"
is "$(cycles kill "$kills")" restored "$kills clients killed at random bytes: their terminals are restored"
is "$(cycles attach 1)" 1 "the agent still runs, with its screen"
is "$(events "$s" | grep -c '"kind":"terminal.attached"')" $((1 + attaches + kills + 1)) "each attach is recorded"
timeout 30 "$sg" stop -S "$s" >/dev/null 2>&1
wait_for 30 sh -c '! "$1" ls --json | grep -q "\"live\":true"' - "$sg"
"$sg" verify "$s" >/dev/null 2>&1
ok $? "the recording verifies"
finish
