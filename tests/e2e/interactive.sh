#!/usr/bin/env bash
# A program in its own terminal interface: bytes and sizes pass unchanged, it detaches when its terminal goes, and it
# returns with its screen. Also the overlay, the restored terminal after each kind of end, and the recording.
. "$(dirname "$0")/lib.sh"
need_boxes
need python3
sg=$SANDGLASS pids=
stop_screens() { for p in $pids; do kill "$p" 2>/dev/null; done; end_all; }
trap stop_screens EXIT
cd "$t" || exit 1
mkdir repo && cd repo && git init -q . && echo one >a && git add a && git commit -qm one
cp "$here/terminal/fake_agent.py" .
unset NO_COLOR
. "$here/terminal/screen.bash"
log() { timeout 30 "$sg" cat agent.log --at "$1" 2>/dev/null; }
count() { events "$1" | grep -c "\"kind\":\"$2\""; }

# --- to its end ---
screen a "$sg" run -i -- python3 fake_agent.py
is "$(to a 'wait fake agent 60')" ok "its screen comes"
like "$(to a modes)" '^1000 1002 1004 1006 1049 2004 2031 kitty 1' "its modes are on in the terminal"
to a 'type hello\r' >/dev/null
is "$(to a 'wait you said hello 30')" ok "what is typed gets there"
to a 'size 70 20' >/dev/null
is "$(to a 'wait 70x20 30')" ok "a new size, too"
to a 'type bytes\r' >/dev/null
is "$(to a 'wait \x1b]52;c;aGk=\x07\x80\x81\x82 30')" ok "bytes come out as they are"
to a 'type quit\r' >/dev/null
is "$(to a 'status 60')" 7 "its exit status is ours"
like "$(to a modes)" '^ *kitty 0' "nothing of it is on in the terminal"
s=$(session)
like "$("$sg" cat "$s" agent.log 2>/dev/null || "$sg" tree "$s" 2>/dev/null)" '.' "its files are in the recording"
"$sg" tree "$s" -o "$t/tree" >/dev/null 2>&1
like "$(cat "$t/tree/agent.log" 2>/dev/null)" '^start 100x30 pixels 800x480 term xterm-256color color truecolor program screen.py' \
	"size, pixels and variables of the terminal were there from the beginning"
like "$(cat "$t/tree/agent.log" 2>/dev/null)" 'x1b\[\?62;22c' "the terminal's answer to a query gets there"
is "$(events "$s" | grep '"kind":"agent.start"' | grep -c '"interactive":true')" 1 "it is an agent"
is "$(count "$s" proc.stdin)" 0 "what is typed is not recorded"
"$sg" verify "$s" >/dev/null 2>&1
ok $? "the recording verifies"
to a end >/dev/null

# --- it outlives its terminal ---
screen b "$sg" run -i --record-input counts -- python3 fake_agent.py
is "$(to b 'wait fake agent 60')" ok "another one"
s=$(session)
to b 'type before\r' >/dev/null
is "$(to b 'wait you said before 30')" ok "it works"
to b 'kill KILL' >/dev/null
is "$(to b 'status 30')" -9 "its client is killed"
like "$(to b modes)" '^ *kitty 0' "the terminal is restored all the same"
wait_for 30 sh -c '"$1" events "$2" --json | grep -q "\"kind\":\"terminal.detached\""' - "$sg" "$s"
ok $? "the program is detached"
is "$("$sg" ls --json | grep -c '"live":true\|"running"\|running')" 1 "and runs on"
to b end >/dev/null
screen c "$sg" attach "$s"
is "$(to c 'wait you said before 60')" ok "who attaches sees its screen"
like "$(to c modes)" '^1000 1002 1004 1006 1049 2004 2031 kitty 1' "and has its modes"
screen d "$sg" attach "$s"
like "$(to d 'status 60')" '^[1-9]' "a second client does not get it"
screen e "$sg" attach --take "$s"
is "$(to e 'wait you said before 60')" ok "unless it takes it over"
is "$(to c 'status 60')" 0 "which ends the first"
like "$(to c modes)" '^ *kitty 0' "with its terminal restored"

# --- the overlay ---
to e 'type \x1b[92;5u' >/dev/null
is "$(to e 'wait d detach 30')" ok "the prefix key, as the kitty protocol has it, opens the overlay"
to e 'type q' >/dev/null
to e 'type after\r' >/dev/null
is "$(to e 'wait you said after 30')" ok "another key closes it"
to e 'type \x1b[200~\x1c\x1b[201~' >/dev/null
is "$(to e 'wait sequence of 13 bytes 30')" ok "a prefix key that is pasted is not looked at"
echo host >"$t/from host.txt"
to e 'type \x1cv' >/dev/null
is "$(to e 'wait file of the host 30')" ok "a file of the host can be named"
to e "type $t/from host.txt\\r" >/dev/null
wait_for 30 sh -c '"$1" events "$2" --json | grep "\"kind\":\"action.ended\"" | grep -q "\"put\|host_bytes\|bytes"' - "$sg" "$s"
overlay_closed() { to e modes | grep -q 'kitty [1-9]'; }
wait_for 30 overlay_closed
to e 'type \r' >/dev/null
is "$(to e 'wait /tmp/from host.txt is there 30')" ok "it is there, and its path is typed"
is "$(events "$s" | grep '"kind":"action.requested"' | grep -c '"kind":"put"')" 1 "it went in as an action"
to e 'type \x1cd' >/dev/null
is "$(to e 'status 60')" 0 "d detaches"
like "$(to e modes)" '^ *kitty 0' "with its terminal restored"
like "$(events "$s" | grep '"kind":"terminal.input"' | head -1)" '"bytes":' "what was typed is counted"
for name in c d e; do to $name end >/dev/null; done
timeout 30 "$sg" stop -S "$s" >/dev/null 2>&1
wait_for 30 sh -c '! "$1" ls --json | grep -q "\"live\":true"' - "$sg"
"$sg" verify "$s" >/dev/null 2>&1
ok $? "the recording verifies"

# --- an attached one that ends ---
ended=$("$sg" run -i -d -- sh -c 'echo ready; read -r line; echo "$line" >made')
screen x "$sg" attach "$ended"
is "$(to x 'wait ready 60')" ok "a program that was started in the background"
to x 'type done\r' >/dev/null
is "$(to x "wait sandglass merge $ended 60")" ok "ends, and attach says how to merge its files"
to x end >/dev/null

# --- its screen afterwards ---
shown() { timeout 30 "$sg" replay "$1" --screen --view terminal --size 110x40 ${2:+--at "$2"} 2>/dev/null | sed -n '3,31p' | sed 's/ *$//'; }
its() { events "$s" | grep '"kind":"action.requested"' | grep '"interactive":true' | grep -oE '"seq":[0-9]+' | head -1 | cut -d: -f2; }
like "$(shown "$s")" 'you said after' "replay shows its screen at the end"
first=$(events "$s" | grep '"kind":"terminal.detached"' | head -1 | grep -oE '"seq":[0-9]+' | cut -d: -f2)
like "$(shown "$s" "$first")" 'you said before' "and at an earlier event"
unlike "$(shown "$s" "$first")" 'you said after' "without the text that came later"
like "$("$sg" search -S "$s" 'you said after' 2>&1)" "$s" "search finds text of its screen"
"$sg" export "$s#$(its)" -F asciicast-v2 -o "$t/a.cast" >/dev/null 2>&1
is "$(python3 - "$t/a.cast" <<'P'
import json, sys
head, *rows = [json.loads(l) for l in open(sys.argv[1])]
times = [r[0] for r in rows]
print(head["version"], head["width"], head["height"], times == sorted(times), all(r[1] in "omr" for r in rows))
P
)" '2 100 30 True True' "its asciicast has its size, and times that do not fall"
again=$("$sg" import "$t/a.cast" 2>/dev/null | grep -oE 's-[a-z0-9]+' | head -1)
is "$(shown "$again")" "$(shown "$s")" "played again it ends in the same screen"

# --- its supervisor dies ---
s=$("$sg" run -i -d -- python3 fake_agent.py 2>/dev/null)
wait_for 30 sh -c '"$1" events "$2" --json | grep -q "terminal output\|\"kind\":\"output\""' - "$sg" "$s"
kill -9 "$(supervisor "$s")"
wait_for 30 sh -c '! "$1" ls --live | grep -q "$2"' - "$sg" "$s"
"$sg" resume -d "$s" >"$t/out" 2>&1
screen g "$sg" attach "$s"
is "$(to g 'wait fake agent 60')" ok "resumed, the program starts again"
to g 'type quit\r' >/dev/null
is "$(to g 'status 60')" 7 "and its exit status is the session's"
to g end >/dev/null

# --- it continues its own session, which has its first words already ---
cat >own_words <<'P'
#!/bin/sh
mkdir -p "$HOME/.own"
echo kept >"$HOME/.own/session"
echo "words $*" >>/workspace/agent.log
case $* in *--continue*) exit 0 ;; esac
echo ready
while read -r line; do :; done
P
chmod +x own_words
cat >own.lua <<'L'
return { program = "/workspace/own_words", speak = "anthropic", provider = "anthropic", model = "m-1",
  argv = function(x) return { x.program } end, env = function() return {} end,
  terminal = { again = { "--continue" }, kept = ".own", argv = function(x) return { x.program, "--plain", table.unpack(x.args) } end } }
L
cat >own_run.lua <<'L'
local sg = require "sandglass"
local r, err = sg.inside { agent = "own.lua", repo = ".", terminal = { args = { "delete", "the tests" } } }
if not r then sg.exit(1, "%s", err) end
L
s=$("$sg" run -d own_run.lua 2>"$t/out" | grep -oE 's-[0-9a-z]+' | head -1)
wait_for 30 sh -c '"$1" events "$2" --json | grep -q "terminal output\|\"kind\":\"output\""' - "$sg" "$s"
kill -9 "$(supervisor "$s")"
wait_for 30 sh -c '! "$1" ls --live | grep -q "$2"' - "$sg" "$s"
"$sg" resume -d "$s" >"$t/out" 2>&1
wait_for 60 sh -c '! "$1" ls --live | grep -q "$2"' - "$sg" "$s"
is "$(log "$s" | tail -1)" 'words --continue --plain' "resumed with its own session, it does not get its first words again"

# --- detached from the beginning, and without a terminal ---
"$sg" run -i -- cat </dev/null >"$t/out" 2>&1
is $? 2 "without a terminal it is refused"
s=$("$sg" run -i -d -- python3 fake_agent.py 2>/dev/null)
like "$s" '^s-' "-d starts it"
screen f "$sg" attach "$s"
is "$(to f 'wait fake agent 60')" ok "its screen is there for who attaches"
to f 'type quit\r' >/dev/null
is "$(to f 'status 60')" 7 "its exit status is that of the attached terminal"
to f end >/dev/null
finish
