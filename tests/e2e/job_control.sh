#!/usr/bin/env bash
# The console as a job: below a shell with job control and below a script, with an editor, a pager, a command, and a
# user's own shell that stop themselves, are stopped, or are killed. A stop affects the whole job, and fg resumes it.
. "$(dirname "$0")/lib.sh"
need_boxes
need tmux
sg=$SANDGLASS
export TZ=UTC SANDGLASS_SESSIONS=$t/sessions LC_ALL=C.UTF-8
mkdir -p "$SANDGLASS_SESSIONS"
cat >"$t/wait.lua" <<'LUA'
local sg = require "sandglass"
local box <close> = sg.sandbox {}
box:exec { "git", "push", "origin", "main" }
LUA
printf '#!/bin/sh\ntrap : INT\n%s attach --trust\necho the script goes on\n' "$sg" >"$t/caller"
# an editor that stops itself alone, a shell of its own that has the terminal and is killed in it
printf '#!/bin/sh\necho the editor waits\nkill -STOP $$\necho edited >"$1"\n' >"$t/stops"
printf '#!/bin/sh\nexec bash --norc --noprofile -ic '"'kill -9 \$\$'"'\n' >"$t/killed"
chmod +x "$t/caller" "$t/stops" "$t/killed"
tm() { tmux -S "$t/tmux" "$@"; }
shows() { tm capture-pane -p >"$t/screen"; grep -qE -- "$1" "$t/screen"; }
full() { [ "$(tm display-message -p '#{alternate_on}')" = 1 ] && shows "${1:-AGENT +}"; }
run() { tm send-keys -l "$1" && tm send-keys Enter; }
colon() { tm send-keys -l ":$1" && tm send-keys Enter; }
back() { # name
	wait_for 30 full
	ok $? "$1"
}
id=$("$sg" run -d "$t/wait.lua" --hold kind:exec </dev/null 2>"$t/out" | grep -oE 's-[0-9a-z]+' | head -1)
wait_for 30 sh -c "'$sg' ls --waiting | grep -q git"
tm -f /dev/null new-session -d -x 100 -y 30 "exec bash --norc --noprofile -i"
wait_for 10 shows '[#$] *$'
ok $? "a shell with job control"

# --- below a script: all of the job stops, else its shell never gets the terminal ---
run "'$t/caller'"
back "the console, called by a script"
tm send-keys C-z
sees 'Stopped' "Ctrl-Z stops the script, too"
run 'clear; fg'
back "fg brings both back"

# --- a command of one's own ---
colon '!sleep 1000'
sees '^[$] sleep 1000' "a command has the terminal"
tm send-keys C-z
sees 'Stopped' "Ctrl-Z in it stops the job"
run 'clear; fg'
wait_for 30 shows '/caller'
tm send-keys C-c
sees 'Enter comes back' "it goes on with fg; Ctrl-C ends it"
tm send-keys C-c
sleep 0.3
tm send-keys Enter
back "and not the console that asks for a key"

# --- an editor that stops itself ---
tm send-keys q
wait_for 30 shows 'y/n'
tm send-keys y
sees 'the script goes on' "q leaves"
run "clear; VISUAL='$t/stops' '$t/caller'"
back "once more, with an editor that stops itself"
tm send-keys e
sees 'Stopped' "the job stops with it"
run 'clear; fg'
back "and comes back with it"
tm send-keys q
wait_for 30 shows 'y/n'
tm send-keys y
wait_for 30 shows 'the script continues'

# --- a pager that is a shell, killed while it had the terminal: below a script, no shell could continue us ---
tmux_end tm
tm -f /dev/null new-session -d -x 100 -y 30 "PAGER='$t/killed' '$t/caller'; sleep 1000"
back "a terminal without a shell"
tm send-keys '|'
sees "can't run" "the console takes the terminal back from a killed pager"
tm send-keys C-z
sleep 0.5
back "Ctrl-Z stops nothing where no shell could continue it"
for i in 1 2 3 4 5; do
	tm send-keys '|'
	tm send-keys :
	tm send-keys Escape
done
back "and again"

# --- in the background: ended, it touches nothing of the shell's terminal and stops no more ---
tmux_end tm
tm -f /dev/null new-session -d -x 100 -y 30 "exec bash --norc --noprofile -i"
wait_for 10 shows '[#$] *$'
run "'$sg' attach"
back "a console"
pid=$(pgrep -P "$(tm display-message -p '#{pane_pid}')" | head -1)
kill -STOP "$pid"
wait_for 30 grep -q '^State:.T' "/proc/$pid/status"
wait_for 30 sh -c "[ \"\$(cut -d' ' -f8 /proc/$pid/stat)\" != \"\$(cut -d' ' -f5 /proc/$pid/stat)\" ]" # the shell has the terminal
kill -TERM "$pid"
kill -CONT "$pid"
gone() { ! kill -0 "$pid"; }
wait_for 30 gone
ok $? "SIGTERM in the background ends it"
run 'clear; fc -l >/dev/null; echo typed'
sees 'typed' "and the shell has its terminal"
"$sg" stop --now -S "$id" >"$t/out" 2>&1
finish
