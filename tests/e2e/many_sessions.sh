#!/usr/bin/env bash
# Many sessions and users: one console over all running sessions, which later ones join. A decision goes to its own
# session and all users see it. Also a user's own shell from the screen, pending approvals, and the handoff summary.
. "$(dirname "$0")/lib.sh"
need_boxes
need tmux
sg=$SANDGLASS
export TZ=UTC
cd "$t" || exit 1
cat >two.lua <<'L'
local sg = require "sandglass"
local box <close> = sg.sandbox { name = "two" }
for _, cmd in ipairs { "echo once >> log", "echo second >> log" } do
  local r, err = box:exec(cmd)
  print(r and "ran" or ("not run: " .. tostring(err)))
end
L
tm() { tmux -S "$t/tmux" "$@"; }
shows() { tm capture-pane -p -t "$1" >"$t/screen"; grep -qE -- "$2" "$t/screen"; }
waits() { [ "$("$sg" ls --waiting 2>/dev/null | wc -l)" -eq "$1" ]; }
one=$("$sg" run -d two.lua --hold kind:exec --name one </dev/null 2>"$t/out" | grep -oE 's-[0-9a-z]+')
two=$("$sg" run -d two.lua --hold kind:exec --name two </dev/null 2>"$t/out" | grep -oE 's-[0-9a-z]+')
wait_for 20 waits 2
ok $? "ls --waiting: a line for each of two sessions"
like "$("$sg" ls --waiting)" "^$one#[0-9]+ .*exec: echo once >> log  \(hold\)" "with session, event, command and reason"
like "$("$sg" ls --waiting --json)" '"schema":1,.*"what":"echo once >> log"' "and as JSON"
tm -f /dev/null new-session -d -s a -x 120 -y 36 "LC_ALL=C.UTF-8 $sg attach; echo left; exec sleep 60"
tm new-session -d -s b -x 80 -y 24 "LC_ALL=C.UTF-8 $sg attach; echo left; exec sleep 60"
wait_for 10 shows a 'fleet: 2 sessions +0 agents +2 HELD'
ok $? "one console over both sessions"
wait_for 10 shows b '2 HELD'
ok $? "a second one, on a smaller screen"
three=$("$sg" run -d two.lua --hold kind:exec --name three </dev/null 2>"$t/out" | grep -oE 's-[0-9a-z]+')
wait_for 15 shows a 'fleet: 3 sessions +0 agents +3 HELD'
ok $? "a session that begins later joins"
wait_for 10 shows b '3 HELD'
ok $? "on both screens"
tm send-keys -t a -l ':sandboxes'
tm send-keys -t a Enter
wait_for 5 shows a '3 sandboxes +3 open'
ok $? "the boxes of all sessions"
tm send-keys -t a s y
wait_for 10 shows a 'agent@sandbox'
ok $? "s: a shell of one's own in the box"
tm send-keys -t a -l 'exit'
tm send-keys -t a Enter
wait_for 10 shows a 'the shell in two has ended'
ok $? "and back to the screen"
id=$("$sg" ls --waiting | grep "^$two#" | grep -oE '#[0-9]+' | tr -d '#')
"$sg" deny "$two#$id" -m 'not this one' >"$t/out" 2>&1
is $? 0 "a decision for one of them"
said() { "$sg" show "$two" --handoff | grep -q 'note: not this one'; }
wait_for 10 said
ok $? "stands in its handover, with its note"
longest() { [ "$("$sg" ls --waiting | cut -d'#' -f1 | tr '\n' ' ')" = "$one $three $two " ]; }
wait_for 10 longest
ok $? "what has waited longest is on top, whichever session is older"
unlike "$("$sg" show "$one" --handoff)" 'not this one' "and not in another's"
like "$("$sg" show "$one" --handoff)" 'PENDING APPROVAL \(1\)' "the handover says what waits"
tm send-keys -t b H
wait_for 5 shows b 'HANDOFF of s-'
ok $? "H shows it on the screen"
tm kill-server
for s in $one $two $three; do "$sg" stop --now -S "$s" >/dev/null 2>&1; done
# --- supervisors that do not answer ---
printf 'local sg = require "sandglass"\nsg.sleep(600)\n' >"$t/still.lua"
for i in 1 2 3 4 5 6; do "$sg" run -d "$t/still.lua" --name "still$i" >"$t/out" 2>&1; done
six() { [ "$("$sg" ls --live still 2>/dev/null | grep -c ' running ')" = 6 ]; }
wait_for 60 six
pids=$(for id in $("$sg" ls --live still | cut -d' ' -f1); do supervisor "$id"; done)
# shellcheck disable=SC2086
kill -STOP $pids
from=$(date +%s%N)
"$sg" ls --live still >"$t/out" 2>&1
took=$((($(date +%s%N) - from) / 1000000))
[ $took -lt 2000 ]
ok $? "six that do not answer keep ls as long as one does ($took ms)"
is "$(grep -c ' (does not answer)$' "$t/out")" 6 "and are told from the others"
# shellcheck disable=SC2086
kill -CONT $pids
finish
