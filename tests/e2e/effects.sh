#!/usr/bin/env bash
# Effects of a call that is not an action (the store, agents, questions, an opening sandbox) happen once: for a fork at
# any event, for any event between effect and answer, and for a supervisor killed at any point.
. "$(dirname "$0")/lib.sh"
need_boxes
sg=$SANDGLASS
cd "$t" || exit 1
sessions=$HOME/.local/share/sandglass/sessions
store=$HOME/.local/share/sandglass/store/tally.json
count() { "$sg" events "$1" --json | grep -c "\"kind\":\"$2\""; }
said() { "$sg" events "$1" --json | grep '"kind":"note"' | grep -oE 'total [^"]*' | tail -1; }
cat >tally.lua <<'L'
local sg = require "sandglass"
local box <close> = sg.sandbox { name = "b", accept = "reduced" }
local st, n = sg.store "tally", 0
sg.map({ 1, 2, 3, 4 }, function(i)
  local c = assert(sg.agent.run { name = "a" .. i, task = "t", model = "scripted:turns.lua", tools = { "shell" }, box = box })
  st:add("runs", 1)
  assert(box:run("echo " .. i .. " >> log"))
  st:set("last" .. i, c.text)
  n = n + 1
end)
print("total " .. n .. " lines " .. box:run("wc -l < log").out:gsub("%s", ""))
L
echo 'return { { call = { "shell", { cmd = "true" } } }, { say = "done" } }' >turns.lua
timeout 60 "$sg" run --no-tui -q tally.lua >out 2>&1 </dev/null
is $? 0 'four at once, each with an agent, a store and a command'
base=$(ls "$sessions"/*.glass)
mv "$base" base.glass
like "$(said base.glass)" 'total 4 lines 4' 'all four'
kinds="store.set agent.start agent.end agent.turn tool.call"
want=$(for k in $kinds; do count base.glass "$k"; done | tr '\n' ' ')
first=$("$sg" events base.glass --json | grep -m1 '"host.frame"' | grep -oE '"seq":[0-9]+' | cut -d: -f2)
last=$("$sg" events base.glass --json | grep '"host.end"' | grep -v plugin | tail -1 | grep -oE '"seq":[0-9]+' | cut -d: -f2)
# every effect of a call, and some events behind each: there its answer is still to come
points=$("$sg" events base.glass --json | grep -E '"kind":"(store.set|agent.start|agent.end|agent.turn|box.open|box.ready)"' |
	grep -oE '"seq":[0-9]+' | cut -d: -f2 | awk '{ print $1; print $1 + 1; print $1 + 3 }' | awk -v f="$first" -v l="$last" '$1 >= f && $1 < l' | sort -nu)
[ -n "${LONG:-}" ] || points=$(printf '%s\n' "$points" | awk 'NR % 4 == 1')
wrong= runs=
for at in $points; do
	echo '{"runs":100}' >"$store"
	before=$("$sg" events base.glass --json | head -"$at" | grep '"kind":"store.set"' | grep -c '"runs"')
	timeout 60 "$sg" fork "base.glass#$at" --no-tui -q --name "f$at" >"fork.$at" 2>&1 </dev/null || wrong="$wrong $at:status"
	f=$(ls "$sessions"/*-f"$at"-*.glass)
	got=$(for k in $kinds; do count "$f" "$k"; done | tr '\n' ' ')
	[ "$got" = "$want" ] || wrong="$wrong $at:($got)"
	[ "$(said "$f")" = 'total 4 lines 4' ] || wrong="$wrong $at:$(said "$f")"
	# earlier changes of the store are not repeated in the fork
	[ "$(grep -oE '"runs":[0-9]+' "$store")" = "\"runs\":$((104 - before))" ] || wrong="$wrong $at:$(grep -oE '"runs":[0-9]+' "$store")/$before"
	"$sg" verify "$f" >/dev/null 2>&1 || wrong="$wrong $at:verify"
	"$sg" simulate "$f" >/dev/null 2>&1 || wrong="$wrong $at:rerun"
	rm -f "$f"
done
is "$wrong" '' "$(echo $points | wc -w) forks beside what calls do: $want of $kinds, as in the run"

# killed between the record and the file, and between the file and the answer
cat >add.lua <<'L'
local sg = require "sandglass"
local st = sg.store "tally"
for i = 1, 3 do st:add("runs", 1) end
st:set("gone", nil)
print("total " .. st:get("runs"))
L
for point in store.recorded store.saved; do
	for pass in 1 2 4; do
		rm -f "$store" "$sessions"/*
		FAILPOINT=$point:$pass timeout 30 "$sg" run --no-tui -q add.lua >out 2>&1 </dev/null
		id=$(ls "$sessions"/*.glass)
		timeout 30 "$sg" resume "$id" --no-tui -q >out 2>&1 </dev/null
		is "$? $(said "$id") $(count "$id" store.set) $(cat "$store")" '0 total 3 4 {"runs":3}' "killed at $point, pass $pass: each is done once"
	done
done

# nobody is asked twice
cat >ask.lua <<'L'
local sg = require "sandglass"
local d = assert(sg.ask { text = "which?", choices = { "red", "blue" } })
print("total " .. d.choice .. " by " .. tostring(d.by ~= nil))
L
rm -f "$sessions"/*
"$sg" run -d ask.lua >out 2>&1 </dev/null
id=$(ls "$sessions"/*.glass)
asked() { [ "$(count "$id" ask)" = 1 ]; }
ended() { [ "$(count "$id" session.end)" = 1 ]; }
wait_for 10 asked
ask=$("$sg" events "$id" --json | grep '"kind":"ask"' | grep -oE '"seq":[0-9]+' | cut -d: -f2)
"$sg" answer "$ask" blue >out 2>&1
wait_for 10 ended
like "$(said "$id")" 'blue by true' 'a question is answered'
mv "$id" ask.glass
answered=$("$sg" events ask.glass --json | grep '"kind":"ask.answered"' | grep -oE '"seq":[0-9]+' | cut -d: -f2)
timeout 30 "$sg" fork "ask.glass#$answered" --no-tui -q --name again >out 2>&1 </dev/null
f=$(ls "$sessions"/*-again-*.glass)
is "$(said "$f") $(count "$f" ask) $(count "$f" ask.answered)" 'total blue by true 1 1' 'a fork behind the answer does not ask again'
timeout 30 "$sg" fork "ask.glass#$ask" -d --name wait >out 2>&1 </dev/null
f=$(ls "$sessions"/*-wait-*.glass)
forked() { "$sg" events "$f" --json | grep -q session.forked && "$sg" answer "$ask" red >out 2>&1; }
wait_for 10 forked
done_() { [ "$(count "$f" session.end)" = 1 ]; }
wait_for 10 done_
is "$(said "$f") $(count "$f" ask)" 'total red by true 1' 'a fork at the question waits for the answer to it'
rm -f "$sessions"/*

# budgets continue, too
cat >budget.lua <<'L'
local sg = require "sandglass"
local box <close> = sg.sandbox { name = "b", accept = "reduced" }
local r, err = sg.agent.run { name = "a", task = "t", model = "scripted:many.lua", tools = { "shell" }, box = box, budget = { steps = 4 } }
print("total " .. tostring(r and r.steps) .. " " .. tostring(r and r.stop or err))
L
echo 'local t = {} for i = 1, 9 do t[i] = { call = { "shell", { cmd = "echo " .. i } } } end return t' >many.lua
timeout 60 "$sg" run --no-tui -q --no-input budget.lua >out 2>&1 </dev/null
id=$(ls "$sessions"/*.glass)
whole=$(said "$id")
like "$whole" '4 ' "an agent of four steps: $whole"
mv "$id" budget.glass
turn=$("$sg" events budget.glass --json | grep '"kind":"agent.turn"' | sed -n 3p | grep -oE '"seq":[0-9]+' | cut -d: -f2)
timeout 60 "$sg" fork "budget.glass#$((turn + 9))" --no-tui -q --no-input --name left >out 2>&1 </dev/null
f=$(ls "$sessions"/*-left-*.glass)
is "$(said "$f")" "$whole" 'forked in its third step it has no more than before'
is "$(count "$f" budget.new)" "$(count budget.glass budget.new)" 'under the same budget'
finish
