#!/usr/bin/env bash
# The session browser: 'sandglass' without a word lists running sessions first, then the newest; Enter attaches or replays,
# "/" searches all, C verifies, D removes; also with many sessions, and with none.
. "$(dirname "$0")/lib.sh"
need tmux
sg=$SANDGLASS
make=${SANDGLASS%/*}/helpers/sessions/make_session
export TZ=UTC SANDGLASS_SESSIONS=$t/sessions
mkdir -m 700 "$t/sessions"
cd "$t" || exit 1
tm() { tmux -S "$t/tmux" "$@"; }
shows() { tm capture-pane -p -t a >"$t/screen"; grep -qE -- "$1" "$t/screen"; }
keys() { tm send-keys -t a "$@"; }
rows() { sed -n '4,$p' "$t/screen" | grep -cE '^ [!>.x] '; }
like "$(TERM=xterm script -qc "$sg" /dev/null </dev/null)" 'sandglass demo' 'without a session it prints how to start one'
echo 'require("sandglass").note("needle-one")' >done.lua
echo 'error "broken"' >bad.lua
echo 'require("sandglass").sleep(600)' >live.lua
"$sg" run done.lua --no-tui --name done </dev/null >"$t/out" 2>&1
is $? 0 'one session has ended'
"$sg" run bad.lua --no-tui --name bad </dev/null >"$t/out" 2>&1
touch -d '+1 minute' "$t"/sessions/*-done-*.glass # a merge writes to it later: its start counts
live=$("$sg" run -d live.lua --name live </dev/null 2>&1 | grep -oE 's-[0-9a-z]+' | head -1)
tm -f /dev/null new-session -d -s a -x 80 -y 24 "LC_ALL=C.UTF-8 $sg; echo left; exec sleep 60"
wait_for 10 shows '3 sessions$'
ok $? 'it lists three sessions'
wait_for 5 shows "^ > running "
is "$(sed -n 4p "$t/screen" | grep -cE '^ > running .* live( |$)')" 1 'the one that runs is on top'
is "$(sed -n 5p "$t/screen" | grep -cE '^ x failed .* bad')" 1 'then the newest'
keys j j C
verified() { [ "$("$sg" ls done --json | jq -r .verified)" = verified ]; }
wait_for 10 verified
ok $? 'C verifies the one under the cursor'
wait_for 10 shows '^ [.] ended .* verified done'
ok $? 'and its row says so'
keys k D
wait_for 5 shows 'remove s-[0-9a-z]+ bad\?.*\(y/n\)'
keys n
is "$("$sg" ls --json | wc -l)" 3 'D n removes nothing'
keys D
wait_for 5 shows '\(y/n\)'
keys y
wait_for 10 shows '2 sessions$'
ok $? 'D y removes it'
is "$("$sg" ls --json | jq -r .name | sort | tr '\n' ' ')" 'done live ' 'from the directory'
keys /
keys -l needle-one
keys Enter
wait_for 10 shows '1 hit$'
ok $? '/ searches all sessions'
like "$(sed -n 4p "$t/screen")" 'message +needle-one' 'and shows the line'
keys Enter
wait_for 10 shows 'read only'
ok $? 'Enter opens the recording there'
keys q
wait_for 10 shows '1 hit$'
ok $? 'q comes back to the hits'
echo 'for i = 1, 900 do require("sandglass").note("needle-many %d %s", i, ("hay "):rep(90)) end' >many.lua
"$sg" run many.lua --no-tui --name many </dev/null >"$t/out" 2>&1
keys q /
keys -l needle-many
keys Enter
wait_for 10 shows '^.*90[0-9] hits$'
ok $? 'many hits at once: none is lost'
"$sg" prune --yes many >"$t/out" 2>&1
echo 'return { { say = "needle-two" } }' >turns.lua
echo 'require("sandglass").agent.run { name = "first", task = "x", model = "scripted:turns.lua" }
require("sandglass").agent.run { name = "second", task = "needle-three", model = "scripted:turns.lua" }' >agents.lua
"$sg" run agents.lua --no-tui --name agents </dev/null >"$t/out" 2>&1
keys q /
keys -l needle-three
keys Enter
wait_for 10 shows '1 hit$'
keys Enter
wait_for 10 shows '^ sandglass s-[0-9a-z]+ / second'
ok $? 'a hit of an agent opens its screen'
"$sg" prune --yes agents >"$t/out" 2>&1
keys q q
wait_for 10 shows '1 hit$'
keys q /
keys -l needle-one
keys Enter
wait_for 10 shows '1 hit$'
keys q g Enter
wait_for 10 shows "fleet: $live|fleet +1 run|rec [0-9]+ ev"
ok $? 'Enter on the one that runs attaches'
keys '~'
wait_for 10 shows '^ sandglass sessions'
ok $? '~ lists all sessions from its console'
keys q q y
wait_for 10 shows '^ sandglass sessions'
ok $? 'leaving it comes back to the list'
is "$("$sg" ls --live --json | jq -r .session)" "$live" 'and it still runs'
keys q
wait_for 5 shows '^left'
ok $? 'q leaves'
if [ -x "$make" ]; then
	for seed in $(seq 40); do "$make" "$t/sessions" "n$seed" 60 2 "$seed" >/dev/null; done
	tm kill-server
	tm() { tmux -S "$t/tmux2" "$@"; } # the first server may still be ending
	tm -f /dev/null new-session -d -s a -x 80 -y 24 "TERM=vt100 $sg --color never; echo left; exec sleep 60"
	wait_for 10 shows '42 sessions$'
	ok $? 'many, without color'
	keys G
	wait_for 5 shows 'rows 24-42 of 42'
	ok $? 'G goes to the oldest'
fi
tm kill-server
finish
