#!/usr/bin/env bash
# run --watch in the console (tmux): a save replaces the old session's screen with the new one and its duration. The
# watcher's messages appear in the message line.
. "$(dirname "$0")/lib.sh"
need_boxes
need tmux
sg=$SANDGLASS
export TZ=UTC SANDGLASS_SESSIONS=$t/sessions LC_ALL=C.UTF-8
mkdir -p "$SANDGLASS_SESSIONS"
cd "$t" || exit 1
cat >w.lua <<'L'
local sg = require "sandglass"
local box <close> = sg.sandbox {}
for i = 1, 3 do print(box:run("echo step " .. i).out) end
L
tm() { tmux -S "$t/tmux" "$@"; }
shows() { tm capture-pane -p >"$t/screen"; grep -qE -- "$1" "$t/screen"; }
save() { sed "$1" w.lua >new && mv new w.lua; }
sessions() { find "$SANDGLASS_SESSIONS" -name '*.glass' | wc -l; }
tm -f /dev/null new-session -d -x 100 -y 30 "trap : INT; '$sg' run --watch w.lua; echo left \$?; exec sleep 600"
wait_for 30 shows 'it has ended; a change of .w.lua. runs it again'
ok $? "the console stays when the script has ended, and says what a save will do"
save 's/i)/(i < 3 and i or "three"))/'
wait_for 30 shows 'echo step three'
ok $? "a save: the console shows the new session"
wait_for 30 shows 'saved +first new action after [0-9]+ ms'
ok $? "and the time from the save to its first new action"
is "$(sessions)" 2 "which is a session of its own"
unlike "$(tm capture-pane -p)" 'attached [0-9]' "nobody else is attached: who watched the last one counts no more"
save '$s/$/ x x/'
wait_for 30 shows 'syntax error.*waiting for the next save'
ok $? "a script that is wrong is told in the message line, the session stays"
save '$s/ x x$//'
wait_for 30 shows 'it asks for the same; nothing to do'
ok $? "one that asks for the same, too"
is "$(sessions)" 2 "and neither is a session"
save 's/1, 3/1, 4/'
third() { [ "$(sessions)" = 3 ] && shows 'it has ended'; }
wait_for 30 third
ok $? "a third run"
front() { # the console: a fork of the watcher, so called like it
	local it
	for it in $(pgrep -P "$watcher"); do
		cmp -s "/proc/$it/cmdline" "/proc/$watcher/cmdline" && echo "$it"
	done
}
another() { [ -n "$(front)" ] && [ "$(front)" != "$before" ]; }
quiet() { [ "$("$sg" ls --json | grep -c '"state":"ended"')" = 4 ]; }
watcher=$(pgrep -P "$(tm display-message -p '#{pane_pid}')")
before=$(front)
save '$s/$/\nbox:run "sleep 2"/'
wait_for 30 another
wait_for 30 shows 'sleep 2'
slow=$(front)
kill -STOP "$slow"
wait_for 30 quiet
ok $? "a fourth run ends while its console is slow"
kill -CONT "$slow"
wait_for 30 shows 'it has ended; a change'
ok $? "which says what a save will do all the same"
tm send-keys q
wait_for 30 shows 'waiting for a change of .w.lua. \(Ctrl-C leaves\)'
ok $? "q leaves the console, not the watch"
tm send-keys C-c
wait_for 30 shows 'left 130'
ok $? "Ctrl-C leaves that"
tm kill-server
finish
