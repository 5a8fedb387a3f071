#!/usr/bin/env bash
# The console in a real terminal (tmux) on the demo. Live equals replay: the screens during the run are the screens of
# the finished recording, byte for byte.
. "$(dirname "$0")/lib.sh"
need_boxes
sg=$SANDGLASS
export TZ=UTC SANDGLASS_SESSIONS=$t/sessions
mkdir -p "$SANDGLASS_SESSIONS"

glass() { ls "$SANDGLASS_SESSIONS"/*.glass 2>/dev/null | head -1; }

# --- live == replay ---
"$sg" demo --no-tui </dev/null >"$t/out" 2>&1 &
demo=$!
begun() { [ -n "$(glass)" ]; }
wait_for 20 begun
file=$(glass)
timeout 110 "$sg-replay" --screens --follow "$file" >"$t/live"
is $? 0 "a session is followed from outside until its end"
wait $demo
timeout 110 "$sg-replay" --screens "$file" >"$t/again"
cmp -s "$t/live" "$t/again"
ok $? "live == replay: $(wc -l <"$t/live") lines of screens"
[ "$(wc -l <"$t/live")" -gt 10000 ]
ok $? "which is a lot"
rm -rf "$SANDGLASS_SESSIONS"

# --- a person at a terminal ---
need tmux
mkdir -p "$SANDGLASS_SESSIONS"
tm() { tmux -S "$t/tmux" "$@"; }
screen() { tm capture-pane -p; }
shows() { screen >"$t/screen"; grep -qE -- "$1" "$t/screen"; }
tm -f /dev/null new-session -d -x 120 -y 36 "LC_ALL=C.UTF-8 $sg demo; echo left; exec sleep 60"
wait_for 30 shows 'HELD'
ok $? "the fleet shows what is held"
sees 'pending approvals [0-9].*deny in' "with its deadline"
tm send-keys a
wait_for 10 shows 'WHY IT NEEDS APPROVAL'
ok $? "a opens the approval"
sees 'git push origin main' "with the exact command"
sees 'demo_policy.lua:[0-9]+' "and the rule's file and line"
sleep 0.5
tm send-keys n
wait_for 5 shows 'deny, and tell the agent'
tm send-keys -l 'make a branch instead'
tm send-keys Enter
wait_for 10 shows 'AGENT +SESSION'
ok $? "n and a message deny it; the screen closes when it is done"
wait_for 20 sh -c "'$sg' events --json 2>/dev/null | grep -q 'make a branch instead'"
ok $? "the record has the message"
tm resize-window -x 50 -y 10
wait_for 5 shows 'window too small'
ok $? "a window that is too small says so"
tm resize-window -x 80 -y 24
wait_for 5 shows 'STATE +NOW'
ok $? "80x24 is enough"
tm send-keys '?'
wait_for 5 shows 'help: fleet'
ok $? "? shows the keys"
tm send-keys Escape
without() { ! shows "$1"; }
wait_for 5 without 'help: fleet'
tm send-keys Q
wait_for 5 shows 'leave: 1 agents continue|left'
tm send-keys 1
wait_for 10 shows 'left'
ok $? "leaving gives the terminal back"
tm kill-server
finish
