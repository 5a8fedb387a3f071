#!/usr/bin/env bash
# The console and its terminal (tmux): title, mouse, copy, pager, suspend, small and rapidly resized windows, kill -9,
# and a lost connection. In all cases the terminal is restored and the agents continue.
. "$(dirname "$0")/lib.sh"
need_boxes
need tmux
sg=$SANDGLASS
export TZ=UTC SANDGLASS_SESSIONS=$t/sessions LC_ALL=C.UTF-8 VISUAL='' EDITOR=false
mkdir -p "$SANDGLASS_SESSIONS"
cat >"$t/wait.lua" <<'LUA'
local sg = require "sandglass"
local box <close> = sg.sandbox {}
box:exec { "sh", "-c", "printf 'first\\033]52;c;eA==\\007\\033]0;evil\\007second\\n'" }
box:exec { "git", "push", "origin", "main" }
LUA
cat >"$t/policy.lua" <<'LUA'
local p = require "sandglass.policy"
return p.rules { default = "boxed", p.ask "look" { cmd = "git push *", why = "publishing needs a person" },
	p.ask "own" { kind = "shell", risk = "high" } }
LUA
tm() { tmux -S "$t/tmux" "$@"; }
screen() { tm capture-pane -p; }
shows() { screen >"$t/screen"; grep -qE -- "$1" "$t/screen"; }
title() { tm display-message -p '#{pane_title}'; }
# a shell with job control, as people have it
tm -f /dev/null new-session -d -x 100 -y 30 "exec env PS1='prompt> ' bash --norc --noprofile -i"
tm set -g set-clipboard on
wait_for 10 shows 'prompt>'
tm send-keys -l "printf '\\033]2;mine\\033\\\\'; clear"
tm send-keys Enter
named() { [ "$(title)" = mine ]; }
wait_for 5 named
run() { tm send-keys -l "$1" && tm send-keys Enter; }
full() { [ "$(tm display-message -p '#{alternate_on}')" = 1 ]; }
plain() { [ "$(tm display-message -p '#{alternate_on}')" = 0 ]; }
cooked() { run 'stty -a | grep -c " icanon.* echo \| icanon\|echo " >/dev/null; stty -a'; wait_for 5 shows '[^-]icanon' && wait_for 5 shows ' echo '; }

run "$sg run '$t/wait.lua' --policy '$t/policy.lua'"
wait_for 30 shows 'HELD'
up=$?
ok $up "something waits"
[ $up -eq 0 ] || finish
titled() { title | grep -qx 'sandglass 1 held'; }
wait_for 5 titled
ok $? "the title says so"

# --- pasted keys decide nothing ---
tm send-keys a
wait_for 10 shows 'WHY IT NEEDS APPROVAL'
sleep 0.6
tm send-keys -l $'\e[200~y\e[201~'
sleep 0.5
shows 'WHY IT NEEDS APPROVAL'
ok $? "a pasted y approves nothing"
tm send-keys -l $'\e]11;rgb:1111/1111/1111\e\\\e[?62;1c'
sleep 0.3
shows 'WHY IT NEEDS APPROVAL'
ok $? "nor does an answer of the terminal mean anything"

# --- an editor that fails ---
tm send-keys e
sees 'the editor failed or left no text: nothing of it is taken' "an editor that fails changes nothing, and that is said"

# --- too small: dead keys ---
tm resize-window -x 50 -y 10
wait_for 5 shows 'window too small'
ok $? "50x10: one line"
tm send-keys y
tm send-keys n
sleep 0.3
tm resize-window -x 100 -y 30
wait_for 5 shows 'WHY IT NEEDS APPROVAL'
ok $? "y and n did nothing there"
for i in $(seq 40); do tm resize-window -x $((i * 37 % 150 + 1)) -y $((i * 13 % 50 + 1)); done
tm resize-window -x 1 -y 1
sleep 0.3
tm resize-window -x 100 -y 30
wait_for 10 shows 'WHY IT NEEDS APPROVAL'
ok $? "a storm of sizes and 1x1 are survived"
tm send-keys Escape
wait_for 5 shows 'AGENT +SANDBOX'

# --- mouse ---
tm send-keys -l $'\e[<0;10;4M\e[<0;10;4m'
sleep 0.3
tm send-keys -l $'\e[<0;10;4M\e[<0;10;4m'
wait_for 5 shows 'TIMELINE'
ok $? "a second click opens"
like "$(title)" '^sandglass 1 held$' "the box's title sequence changed nothing"

# --- copy, plain, pager ---
tm send-keys y
wait_for 5 shows 'copy: c command'
tm send-keys l
wait_for 5 sh -c "tmux -S '$t/tmux' show-buffer 2>/dev/null | grep -qE '^s-[a-z0-9]+#[0-9]+'"
ok $? "y l puts the event's link into the clipboard by OSC 52"
tm send-keys V
wait_for 5 shows 'plain text to copy'
ok $? "V shows plain text"
plain
ok $? "outside of the full screen"
tm send-keys x
wait_for 5 full
ok $? "a key goes back"
wait_for 60 titled
ok $? "and the title is ours again"

# --- a shell of one's own that is denied ---
tm send-keys s
sees 'open your own shell in sandbox box\?' "s asks before it opens a shell"
tm send-keys y
sees 'pending approval: #[0-9]+, RISK high, [a-z]+ asks' "one's own shell says that it waits, and how risky it is"
"$sg" deny "$("$sg" ls --waiting | grep 'shell:' | grep -oE '#[0-9]+' | cut -c2-)" -m 'not from here' >"$t/out" 2>&1
sees 'the shell in box was denied by [a-z]+ at [0-9:]+: not from here' "the screen says that it was denied, by whom and why"

# --- Ctrl-Z ---
tm send-keys C-z
wait_for 5 shows 'Stopped'
ok $? "Ctrl-Z suspends the console"
plain
ok $? "and gives the screen back"
cooked
ok $? "and the keys"
run 'clear; fg'
wait_for 5 full
wait_for 5 shows 'TIMELINE'
ok $? "fg brings it back"
wait_for 60 titled
ok $? "with its title"

# --- kill -9 ---
pid=$(pgrep -P "$(tm display-message -p '#{pane_pid}')" | head -1)
kill -9 "$pid"
wait_for 5 plain
ok $? "kill -9: the screen is given back"
run clear
cooked
ok $? "and the keys"
is "$(title)" mine "and the title"
"$sg" ls | grep -qiE 'held|waits|run'
ok $? "the session goes on"

# --- a killed supervisor, while a console looks ---
pid=$("$sg" run -d "$t/wait.lua" --policy "$t/policy.lua" --json 2>"$t/out")
lost=$(printf '%s' "$pid" | grep -oE '"session":"[^"]*' | cut -d'"' -f4)
pid=$(printf '%s' "$pid" | grep -oE '"pid":[0-9]+' | cut -d: -f2)
run "clear; $sg attach $lost"
wait_for 20 shows 'HELD by'
kill -9 "$pid"
wait_for 10 shows "$lost lost its supervisor: 'sandglass resume $lost' continues it"
ok $? "the screen says that its supervisor has gone, and what lets the session go on"
sees '^ x script +.*LOST  .* was at exec' "its agent is lost, where it was"
sees '0 agents +1 LOST +[$]' "which is counted as lost"
sees 'git push .* until it is resumed' "and nobody can decide"
unlike "$(title)" held "the title does not ask for a decision either"
unlike "$(screen)" "an action is pending" "nor does a hint"
sleep 1.1 # numbers are shown calmly: the last ones are there then
was=$(screen)
sleep 2.2
is "$(screen)" "$was" "its clocks stand"
tm send-keys p
wait_for 5 shows "its supervisor has ended; run 'sandglass resume' in another"
ok $? "what is asked for says so, too"
tm send-keys a
sees 'NO SUPERVISOR' "and so does the approval"
tm send-keys Escape
sees 'AGENT +SANDBOX' "back"
"$sg" resume -d "$lost" >"$t/out" 2>&1
is $? 0 "it is resumed"
sees '^ ! script +.*HELD [0-9:]+ ' "the same screen goes on with it"
"$sg" ls --live >"$t/out"
tm send-keys P
sees 'PAUSED|paused' "and reaches it"
tm send-keys P
tm send-keys q
wait_for 5 shows 'y/n'
tm send-keys y
wait_for 5 plain
"$sg" stop -S "$lost" >"$t/out" 2>&1
wait_for 20 eval "! '$sg' ls --live | grep -q $lost"

# --- a script that fails before it has an agent ---
printf 'local sg = require "sandglass"\nlocal none\nnone.x = 1\n' >"$t/bad.lua"
run "clear; $sg run '$t/bad.lua'"
wait_for 20 shows "x script +FAILED"
ok $? "it is seen among the agents"
wait_for 5 shows "s-[0-9a-z]+ failed: .*bad.lua:3: attempt to index a nil value"
ok $? "with the reason"
tm send-keys q
wait_for 5 plain

# --- one's own shell that is killed (a script does not set the terminal right after it, as a shell does) ---
held=$("$sg" ls --live | grep -oE 's-[0-9a-z]+' | head -1)
for sig in TERM HUP KILL; do
	run "clear; sh -c '$sg shell --in $held; until stty -a | grep -q \" icanon\"; do sleep 0.1; done; printf \"\\r\\nover\\r\\n\"'"
	wait_for 20 shows 'this shell is pending approval'
	own=$(pgrep -P "$(pgrep -P "$(tm display-message -p '#{pane_pid}')" -x sh)" | head -1)
	kill -$sig "$own"
	wait_for 20 shows '^over'
	ok $? "one's own shell killed by SIG$sig gives the keys back"
done

# --- a lost line ---
run "clear; $sg attach"
wait_for 10 shows 'HELD'
ok $? "attach finds what waits"
tm kill-server
sleep 0.5
"$sg" ls | grep -qiE 'held|waits|run'
ok $? "a terminal that goes away takes nothing with it"

# --- told outside of the screen: agent, session and rule, and no byte of the command ---
if command -v script >/dev/null; then
	mkfifo "$t/keys" && exec 7<>"$t/keys" # keys that nobody types
	env -u TMUX VTE_VERSION=7000 TERM=xterm script -qfec "timeout --foreground 30 '$sg' attach" "$t/told" <&7 >/dev/null 2>&1 &
	told=$!
	wait_for 25 grep -q '777;notify' "$t/told"
	kill $told 2>/dev/null
	exec 7>&-
	like "$(tr '\033\007' '^^' <"$t/told")" "777;notify;sandglass, 1 held;script of s-[a-z0-9]+ is pending approval, look\^" 'OSC 777 says who waits, where and by which rule'
else
	skip 'no program script'
fi
finish
