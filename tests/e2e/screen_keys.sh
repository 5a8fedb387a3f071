#!/usr/bin/env bash
# The screen of a program with much output is exactly its screen, at any event of a replay and for who attaches: keyframes are recorded, and
# libvterm, fed from the start, shows the same.
. "$(dirname "$0")/lib.sh"
need_boxes
need python3
sg=$SANDGLASS pids=
stop_screens() { for p in $pids; do kill "$p" 2>/dev/null; done; end_all; }
trap stop_screens EXIT
cd "$t" || exit 1
mkdir repo && cd repo && git init -q . && cp "$here/terminal/painter.py" . && git add . && git commit -qm one
unset NO_COLOR
. "$here/terminal/screen.bash"
keys() { events "$1" | grep -c '"kind":"terminal.screen"'; }
has_keys() { [ "$(keys "$s")" -ge "$1" ]; }
shown() { timeout 60 "$sg" replay "$1" --screen --view terminal --size 120x60 --at "$2" 2>/dev/null; }
no_blank_end() { sed -e :a -e '/^\n*$/{$d;N;ba' -e '}'; }
rows() { sed -n 3,51p | sed 's/ *$//' | no_blank_end | tail -n "$1"; } # of the pane, the screen's
same_at() { # event, rows
	python3 "$here/terminal/oracle.py" "$sg" "$s" "$action" "$1" | no_blank_end >"$t/want"
	shown "$s" "$1" | rows "$(wc -l <"$t/want")" >"$t/got"
	[ -s "$t/want" ] && cmp -s "$t/want" "$t/got" || { diff "$t/want" "$t/got" | head -5 | sed 's/^/# /'; return 1; }
}

screen_process() { # of this test's session
	local p
	for p in $(pgrep -x sandglass-scree); do
		grep -qzxF "HOME=$HOME" "/proc/$(ps -o ppid= -p "$p" | tr -d ' ')/environ" 2>/dev/null && echo "$p"
	done
}

mb=2.6 # each time; after 4 MiB a screen is made from a keyframe
screen a "$sg" run -i -- python3 painter.py "$mb" wait
is "$(to a 'wait painted 60')" ok "a program paints"
s=$(session)
wait_for 60 has_keys 2
ok $? "its screen has keyframes"
emulator=$(screen_process)
like "$emulator" '^[0-9]+$' "a process emulates it"
to a 'size 70 32' >/dev/null
to a 'type more\r' >/dev/null
wait_for 60 has_keys 4
ok $? "also with another size"
is "$(to a 'wait painted 60')" ok "and it has painted again"
to a 'kill KILL' >/dev/null
to a 'status 30' >/dev/null
screen b "$sg" attach "$s"
is "$(to b 'wait written once 60')" ok "who attaches sees what was written once, at the start"
to b 'type end\r' >/dev/null
is "$(to b 'status 60')" 0 "it ends"
action=$(events "$s" | grep '"kind":"action.requested"' | grep '"interactive":true' | grep -oE '"seq":[0-9]+' | head -1 | cut -d: -f2)
bad=0
for at in $(events "$s" | grep '"kind":"output"' | grep -oE '^{"seq":[0-9]+|"seq":[0-9]+' | grep -oE '[0-9]+' | shuf -n "${EVENTS:-2}" --random-source=<(yes 3)); do
	same_at "$at" || bad=$((bad + 1))
done
is "$bad" 0 "at any event the screen is that of libvterm, fed from the start"
last=$(events "$s" | tail -1 | grep -oE '"seq":[0-9]+' | head -1 | cut -d: -f2)
same_at "$last"
ok $? "and at the end"
like "$(shown "$s" "$last")" '\([0-9,.]+ ?M?[^ ]* bytes before this' "it is made from a keyframe"
hits=$("$sg" search -S "$s" 'written once' --json 2>/dev/null | grep -c .)
is "$hits" 1 "search finds text once, not in each keyframe"
"$sg" redact "$s#$action" --output --why 'it shows a secret' --yes >"$t/out" 2>&1 </dev/null
is $? 0 "the output is redacted"
is "$(events "$s" | grep '"kind":"terminal.screen"' | grep -c '"data"')" 0 "and no keyframe still shows it"
"$sg" verify "$s" >/dev/null 2>&1
ok $? "the recording verifies"
is "$(find "$HOME/.local/share/sandglass/sessions" -name '*.glass-*' | wc -l)" 0 "one file is left"
[ -n "$emulator" ] && wait_for 10 test ! -e "/proc/$emulator"
ok $? "the process that emulates ends with its session"
finish
