#!/usr/bin/env bash
# The dry run of a pending action, applying its result, and repeating a recorded command. The dry run shows the real
# effects and leaves the sandbox unchanged; it never counts as a run.
. "$(dirname "$0")/lib.sh"
sg=$SANDGLASS
need_boxes
cd "$t" || exit 1
mkdir repo && cd repo && git init -q && echo one >a.txt && git add . && git commit -qm x && cd ..
cat >m.lua <<'L'
local sg = require "sandglass"
local box <close> = sg.sandbox { name = "b", repo = sg.args[1], net = sg.args[4] and { "example.org" } or nil }
box:exec(sg.args[3])
local r, err = box:exec(sg.args[2])
print(r and ("end " .. r.code .. " [" .. r.out .. "]") or ("err " .. err.code))
local after = box:exec "cat *; find . -path ./.git -prune -o -print | sort"
print("after: " .. after.out)
L
held() { "$sg" state -S "$s" --json 2>/dev/null | grep -oE '"action": ?[0-9]+' | head -1 | grep -oE '[0-9]+'; }
is_held() { [ -n "$(held)" ]; }
ended() { ! "$sg" ls --live 2>/dev/null | grep -q "$s"; }
# begin COMMAND [FIRST] [NET]: a session whose COMMAND waits, $s and $h
begin() {
	s=$("$sg" run -d m.lua --hold "cmd:*held*" --name p -- "$t/repo" "$1" "${2:-true}" ${3:+net} 2>"$t/out")
	wait_for 20 is_held
	h=$(held)
}
files() { (cd "$HOME/.local/state/sandglass/box/$s"/"#"* && find . -printf '%p %y %m %s %T@ %C@\n' -type f -exec sha256sum {} + | sort | sha256sum); }
count() { "$sg" events "$s" --json | grep -c "\"kind\":\"$1\""; }
close() {
	"$sg" stop --now -S "$s" >/dev/null 2>&1
	wait_for 10 ended
	"$sg" verify "$s" >"$t/out" 2>&1
	is $? 0 "$1: the record verifies"
}

# the difference, shown and promoted
begin ': held; echo out; echo err >&2; echo two >>a.txt; echo new >b.txt; exit 3'
before=$(files)
out=$("$sg" dry-run "$h" -S "$s" --json 2>&1)
is $? 0 'preview'
is "$(jq -r '.result | "\(.code) \(.files | length) \(.added) \(.removed)"' <<<"$out")" '3 2 2 0' 'has exit status and sum'
is "$(jq -r '.result.files[] | "\(.op) \(.path) \(.added) \(.removed)"' <<<"$out" | sort | xargs)" 'A b.txt 1 0 M a.txt 1 0' 'and each file, new ones, too'
is "$(files)" "$before" 'the box is what it was, byte for byte'
is "$(held)" "$h" 'the action still waits'
like "$("$sg" events "$s" --json | grep preview.started)" "\"cause\":$h,.*\"action\":$h" 'it is recorded under the action'
unlike "$("$sg" events "$s" --json | grep "\"action\":$h")" 'action.started' 'and is not a run of it'
p=$("$sg" events "$s" --json | grep preview.started | grep -oE '"seq":[0-9]+' | cut -d: -f2)
is "$("$sg" out "$s#$p" 2>"$t/err")|$(cat "$t/err")" 'out|err' 'its output can be read'
is "$(find "$HOME/.local/state/sandglass/box/$s" -maxdepth 1 -name '.preview-*' | wc -l)" 1 'its layer is put away'
"$sg" apply "$h" -S "$s" -m 'as shown' >"$t/out" 2>&1
is $? 0 'promote'
wait_for 20 ended
out=$("$sg" events "$s")
like "$out" 'end 3 \[out' 'the script gets the exit status and the output of the preview'
like "$out" 'after: one ↵ two ↵ new' 'and the box exactly its difference'
like "$out" 'dry run applied by .*: as shown' 'recorded with who and why'
like "$out" "applied the result of dry run #$p" 'and what came into the box'
like "$("$sg" replay "$s" --no-tui </dev/null | grep -A3 'dry run: of')" '^    A b.txt  \+1 -0$' 'line mode names the files of a preview'
like "$("$sg" events "$s" --json | grep action.ended | grep "\"action\":$h")" "\"promoted\":$p" 'the end is marked'
is "$("$sg" out "$s#$h" 2>/dev/null)" out 'the output is the action'"'"'s now'
"$sg" verify "$s" >"$t/out" 2>&1
is $? 0 'the record verifies'

# a rule asks: the decision to apply the result is what allows the action
printf 'local p = require "sandglass.policy"\nreturn p.rules { default = "boxed", p.ask "touching" { cmd = "touch asked" } }\n' >ask.lua
s=$("$sg" run -d m.lua --policy ask.lua --name asked -- "$t/repo" 'touch asked' true 2>"$t/out")
wait_for 20 is_held
h=$(held)
"$sg" dry-run "$h" -S "$s" >"$t/out" 2>&1 && "$sg" apply "$h" -S "$s" >"$t/out" 2>&1
is $? 0 'the result of an asked action is applied'
wait_for 20 ended
"$sg" verify "$s" >"$t/out" 2>&1
is $? 0 'and the record verifies'
is "$("$sg" events "$s" --filter 'verdict:allow cmd:touch*' | grep -c 'touch asked')" 1 'a filter finds it as allowed'

# the sandbox's processes stand still, then continue
begin ': held; cat tick' '(while :; do date +%N >>tick; sleep 0.02; done) >/dev/null 2>&1 &'
mkfifo "$t/person" # a client is attached: otherwise the sandbox is frozen as long as the action is pending
script -qefc "'$sg' attach --no-tui $s" /dev/null <"$t/person" >/dev/null 2>&1 &
exec 7>"$t/person"
moves() { "$sg" events "$s" --json | grep '"box.frozen"' | tail -1 | grep -q '"frozen":false'; }
wait_for 10 moves
"$sg" dry-run "$h" -S "$s" >"$t/out" 2>&1
is $? 0 'a box with a process that writes'
f=$(find "$HOME/.local/state/sandglass/box/$s"/"#"* -name tick | head -1)
a=$(cat "$f")
ticks() { [ "$a" != "$(cat "$f")" ]; }
wait_for 20 ticks
ok $? 'it continues afterwards'
fails 'promote when the files have changed is refused' '1 invalid dry run' "$sg" apply "$h" -S "$s"
is "$(held)" "$h" 'and the action still waits'
close 'a busy box'

# daemons, the network, outside, limits
begin ': held; echo x >d; setsid sleep 1000 & sleep 1000 &'
out=$("$sg" dry-run "$h" -S "$s" --json)
is "$(jq -r '.result | "\(.left > 0) \(.incomplete | index("procs") != null)"' <<<"$out")" 'true true' 'daemons are said'
out=$("$sg" deny "$h" -S "$s" -m no 2>&1)
wait_for 20 ended
unlike "$("$sg" events "$s")" 'after: .*[.]/d' 'denied after a preview: nothing of it is there'
like "$("$sg" events "$s")" 'the action is decided' 'its layer is dropped'
begin ': held; python3 -c "import urllib.request as u; u.urlopen(\"http://example.org/\")"; bash -c "echo >/dev/tcp/192.0.2.1/80"' true net
out=$("$sg" dry-run "$h" -S "$s" --json)
is "$(jq '.result.incomplete | index("network") != null' <<<"$out")" true 'the network is off, which is reported'
is "$(jq .result.net.refused <<<"$out")" 1 'with the refused connections'
command -v python3 >/dev/null && is "$(jq -r '.result.net.hosts[] | "\(.host):\(.port)"' <<<"$out")" 'example.org:80' 'and the hosts it asked for'
is "$(count action.requested)" 2 'none of it was an action'
close 'the network'
begin ': held; echo x >/usr/x; echo x >/etc/x; echo x >/tmp/x; echo h >~/h; rm -rf .git; ln -s /etc/passwd l'
before=$(files)
out=$("$sg" dry-run "$h" -S "$s")
like "$out" '/home/agent/h' 'home counts'
like "$out" 'incomplete: it wrote to /tmp' '/tmp is left out, which is reported'
unlike "$out" '(usr|etc)/x' 'outside nothing was written'
is "$(files)" "$before" 'the box is what it was'
close 'outside'

# decided meanwhile; cut off
begin ': held; sleep 20'
"$sg" dry-run "$h" -S "$s" >"$t/out" 2>&1 &
bg=$!
running() { [ "$(count preview.started)" = 1 ]; }
wait_for 10 running
sleep 0.5
"$sg" deny "$h" -S "$s" >/dev/null
SECONDS=0
wait "$bg"
[ $SECONDS -lt 10 ]
ok $? 'decided meanwhile: the try is given up'
like "$("$sg" events "$s" --json)" 'preview.ended.*"end":"cancelled"' 'and recorded so'
close 'given up'
if [ -n "${LONG:-}" ]; then
	begin ': held; sleep 31'
	like "$("$sg" dry-run "$h" -S "$s")" 'longer than 30 s' 'cut off after 30 s'
	out=$("$sg" apply "$h" -S "$s" 2>&1)
	is $? 1 'a stopped dry run cannot be applied'
	close 'cut off'
fi

# the supervisor is killed while it runs
line=$("$sg" run -d m.lua --hold "cmd:*held*" --name k --json -- "$t/repo" ': held; echo no >>a.txt; sleep 20' 'echo x >kept' 2>"$t/out")
s=$(printf '%s' "$line" | grep -oE '"session":"[^"]*' | cut -d'"' -f4)
pid=$(printf '%s' "$line" | grep -oE '"pid":[0-9]+' | cut -d: -f2)
wait_for 20 is_held
h=$(held)
before=$(files)
"$sg" dry-run "$h" -S "$s" >/dev/null 2>&1 &
wait_for 10 running
sleep 0.5
kill -9 "$pid"
wait_for 10 ended
is "$(files)" "$before" 'killed during a preview: the box is what it was'
"$sg" resume -d "$s" >"$t/out" 2>&1
wait_for 20 is_held
is "$(held)" "$h" 'resumed: the action waits, by the same number'
is "$(find "$HOME/.local/state/sandglass/box/$s" -maxdepth 1 -name '.preview-*' | wc -l)" 0 'the temporary layer is gone'
again() { "$sg" apply "$h" -S "$s" 2>&1 | grep -q 'no dry run of'; }
again
ok $? 'and cannot be promoted'
close 'killed'

# the same again, from a session that has ended and in one that runs
cat >redo.lua <<'L'
local sg = require "sandglass"
do
  local box <close> = sg.sandbox { name = "r", repo = sg.args[1] }
  box:exec "echo two >>a.txt"
  box:exec "cat a.txt; cp a.txt copy; exit 4"
  box:exec "date +%N; date +%N >stamp"
  box:exec "echo three >>a.txt"
  if sg.args[2] then sg.sleep "60s" end
end
L
third() { "$sg" events "$s" --json | grep '"kind":"action.requested"' | sed -n "$1p" | grep -oE '"seq":[0-9]+' | cut -d: -f2; }
ran() { [ -n "$(third 4)" ] && [ "$(count action.ended)" = 4 ]; }
for how in ended runs; do
	[ $how = runs ] && live=wait || live=
	s=$("$sg" run -d redo.lua --name r -- "$t/repo" $live 2>"$t/out")
	wait_for 20 ran
	[ $how = ended ] && wait_for 20 ended
	out=$("$sg" repeat "$s#$(third 2)" 2>"$t/err")
	is $? 0 "redo, a session that $how: the same"
	like "$out" 'same, exit 4' 'exit status compared'
	like "$out" 'stdout +same, 8 bytes' 'output is compared, on the recorded files'
	like "$out" 'files +same' 'files compared'
	out=$("$sg" repeat "$s#$(third 3)" 2>"$t/err")
	is $? 1 'what differs is status 1'
	like "$out" 'stdout +differs from line 1' 'where first'
	like "$out" 'stamp: was file' 'and in which file'
	new=$(grep -oE 's-[a-z0-9]+' "$t/err" | head -1)
	if [ $how = ended ]; then
		like "$("$sg" events "$new" --json | grep redo.started)" "\"session\":\"$s\"" 'the new record names its origin'
		n=$((n)) && "$sg" verify "$new" >"$t/out" 2>&1
		is $? 0 'and verifies'
	else
		no_redo() { ! "$sg" state -S "$s" | grep -q redo-; }
		wait_for 10 no_redo
		ok $? 'the new box is gone'
		close 'redo in a session that runs'
	fi
done
finish
