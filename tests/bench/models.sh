#!/usr/bin/env bash
# Models: a stream of text through parser, plugin and record against curl writing it to a file; a hundred streams; a turn
# of the loop; a fork of a session of 10,000 events. Figures only; nothing is judged.
set -u
cd "$(dirname "$0")/../.." || exit 2
sg=$PWD/${B:-build}/sandglass server=$PWD/tests/bench/stream_server.py
t=$(mktemp -d)
chmod 755 "$t"
export HOME=$t/home XDG_RUNTIME_DIR=$t/run KEY=no-real-key SANDGLASS_CONFIG=$t/config.lua no_proxy=127.0.0.1
mkdir -p "$HOME" "$XDG_RUNTIME_DIR"
chmod 700 "$XDG_RUNTIME_DIR"
cd "$t" || exit 2
python3 "$server" >port 2>/dev/null </dev/null &
pid=$!
trap 'kill $pid 2>/dev/null; rm -rf "$t"' EXIT
for _ in $(seq 50); do [ -s port ] && break; sleep 0.1; done
port=$(cat port)
cat >config.lua <<C
local c = require "sandglass.config"
c.models = { long = { plugin = "anthropic", url = "http://127.0.0.1:$port/20000", key = "KEY" },
  part = { plugin = "anthropic", url = "http://127.0.0.1:$port/500", key = "KEY" } }
return c
C
cat >chat.lua <<'L'
local sg = require "sandglass"
local a = sg.args { n = 1, model = "long:m" }
local list = {}
for i = 1, a.n do list[i] = i end
sg.map(list, function() local c = sg.chat { model = a.model } c:user("go") assert(c:send()) end, { limit = 100 })
L
cat >turns.lua <<'L'
local list = {}
for i = 1, 200 do list[i] = { say = "turn", call = { "nothing", {} } } end
return list
L
cat >loop.lua <<'L'
local sg = require "sandglass"
local tool = sg.tool { name = "nothing", about = "does nothing", params = {}, run = function() return math.random(1000) .. "" end }
local a = sg.args { chats = 8, turns = 100 }
for _ = 1, a.chats do
  local c = sg.chat { model = "scripted:turns.lua", tools = { tool } }
  c:user("go")
  for _ = 1, a.turns do local r = assert(c:send()) for _, call in ipairs(r.calls) do c:answer(call, c:call(call)) end end
end
L
ms() { local a; a=$(date +%s%N); "$@" >"$t/out" 2>&1 </dev/null; echo $((($(date +%s%N) - a) / 1000000)); }
run() { ms "$sg" run --no-tui -q "$@"; }
best() { for _ in 1 2 3; do "$@"; done | sort -n | head -1; }
printf 'local sg = require "sandglass"\n' >empty.lua
empty=$(best run empty.lua)
floor=$(best ms curl -sS -o body -d '{}' "http://127.0.0.1:$port/20000/v1/messages")
bytes=$(stat -c %s body)
one=$(($(best run chat.lua) - empty))
printf 'one stream of %d KB, 20,000 events: curl to a file %d ms; parsed and recorded %d ms: %d KB/s, %d events/s\n' \
	$((bytes / 1024)) "$floor" "$one" $((bytes * 1000 / 1024 / (one > 0 ? one : 1))) $((20000 * 1000 / (one > 0 ? one : 1)))
# processor time of all processes of a session, looked at until its supervisor has gone
cpu_ms() { # supervisor
	local ticks=0 now p
	while [ -d "/proc/$1" ]; do
		now=0
		for p in $1 $(cat /proc/"$1"/task/*/children 2>/dev/null); do
			set -- "$1" $(sed 's/.*) //' "/proc/$p/stat" 2>/dev/null)
			now=$((now + ${13:-0} + ${14:-0} + ${15:-0} + ${16:-0}))
		done
		[ $now -gt $ticks ] && ticks=$now
		sleep 0.02
	done
	echo $((ticks * 1000 / $(getconf CLK_TCK)))
}
many=$(($(run chat.lua -- --n 100 --model part:m) - empty))
id=$("$sg" run -d chat.lua -- --n 100 --model part:m </dev/null)
cpu=$(cpu_ms "$("$sg" events "$id" --json | grep -oE '"pid":[0-9]+' | head -1 | grep -oE '[0-9]+')")
printf 'a hundred streams at once, 500 events each: %d ms, %d us an event; processor time %d ms, %d us an event\n' "$many" \
	$((many * 1000 / 50000)) "$cpu" $((cpu * 1000 / 50000))
loop=$(($(run loop.lua) - empty))
file=$(ls -t "$HOME"/.local/share/sandglass/sessions/*.glass | head -1)
printf '8 chats of 100 turns with a tool call each: %d us a turn, all of it recorded\n' $((loop * 1000 / 800))
events=$("$sg" events "$file" --json | wc -l)
forked=$(ms "$sg" fork "$file#$((events - 3))" --no-tui -q)
printf 'fork of it at event %d of %d, to its end: %d ms (a run of an empty script: %d ms)\n' $((events - 3)) "$events" "$forked" "$empty"
# what a turn adds to the record, in a short chat and in a long one: the same, or the record grows with the square
size() { run loop.lua -- --chats 1 --turns "$1" >/dev/null; stat -c %s "$(ls -t "$HOME"/.local/share/sandglass/sessions/*.glass | head -1)"; }
printf 'a turn adds to the session file: %d bytes up to turn 100, %d bytes from there to turn 200\n' \
	$((($(size 100) - $(size 1)) / 99)) $((($(size 200) - $(size 100)) / 100))
# run --watch: a script that does 20 commands and a new one at its end, saved again
cat >watch.lua <<'L'
local sg = require "sandglass"
local box = sg.sandbox { name = "w" }
for i = 1, 20 do box:exec("echo " .. i) end
box:exec "echo first-0"
sg.sleep(3600)
L
"$sg" run --watch watch.lua --no-tui </dev/null >watched 2>&1 &
watch=$!
seen() { for _ in $(seq 400); do grep -q "allowed: echo $1" watched && return 0; sleep 0.005; done; return 1; }
if seen first-0; then
	sum=0
	for n in 1 2 3 4 5; do
		sed "s/first-[0-9]/first-$n/" watch.lua >new && from=$(date +%s%N) && mv new watch.lua
		seen "first-$n" || { echo "run --watch: the new command was not seen"; break; }
		sum=$((sum + $(date +%s%N) - from))
	done
	printf 'run --watch, 20 commands answered from the last run: save to the first new action %d ms (of %d)\n' $((sum / n / 1000000)) "$n"
else
	echo "run --watch: nothing was seen"
fi
kill "$watch" 2>/dev/null
wait "$watch" 2>/dev/null || : # it was asked to end
