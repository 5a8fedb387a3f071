#!/usr/bin/env bash
# kill -9 of the supervisor at random moments (8; LONG=1: 200; KILLS=n) of an agent of 50 steps with sub-agents, up to
# three times in a session: `resume` ends with the same files, and no completed action is done again: every step appends
# one line to a file of the box.
. "$(dirname "$0")/../e2e/lib.sh"
accept_any
sg=$SANDGLASS
rounds=${KILLS:-8}
[ -n "${LONG:-}" ] && rounds=${KILLS:-200}
cd "$t" || exit 1
mkdir repo
cat >agent.lua <<'L'
local sg = require "sandglass"
local a = sg.args { repo = "." }
local box <close> = sg.sandbox { name = "work", repo = a.repo, accept = "reduced" }
local helper = sg.agent.define { name = "helper", about = "helps", model = "scripted:helper.lua", tools = { "shell" } }
local r, err = sg.agent.run { name = "main", task = "count", model = "scripted:steps.lua", box = box,
  tools = { "shell", "write" }, agents = { helper }, budget = { steps = 60 } }
assert(r, tostring(err))
print("steps " .. r.steps .. " text " .. r.text)
print("log " .. box:run("cksum < log; wc -l < log").out:gsub("%s+", " "))
L
cat >steps.lua <<'L'
local turns = {}
for i = 1, 50 do
  if i % 10 == 5 then
    turns[i] = { call = { "task", { agent = "helper", task = "part " .. i } } }
  elseif i % 10 == 0 then
    turns[i] = { call = { { "write", { path = "f" .. i, data = "file " .. i } }, { "shell", { cmd = "echo step " .. i .. " >> log" } } } }
  else
    turns[i] = { say = "step " .. i, call = { "shell", { cmd = "echo step " .. i .. " >> log" } } }
  end
end
turns[51] = { say = "counted" }
return turns
L
cat >helper.lua <<'L'
return function(task)
  return {
    { call = { "shell", { cmd = "echo " .. task .. " one >> log" } } },
    { call = { "shell", { cmd = "echo " .. task .. " two >> log; seq 1 2000" } } },
    { say = "helped with " .. task },
  }
end
L
begun=$(date +%s%N)
whole=$(timeout 120 "$sg" run $accept --no-tui -q agent.lua -- --repo repo 2>&1 </dev/null)
took=$((($(date +%s%N) - begun) / 1000000))
want=$(printf '%s\n' "$whole" | grep -oE 'log [0-9]+ [0-9]+ 55')
like "$whole" 'steps 51 text counted' "without a kill: 51 turns in $took ms"
like "$want" '^log' 'without a kill: 55 lines'
# A call of the script whose command succeeded and whose files are in a snapshot has no second action.
cat >repeated.py <<'P'
import json, sys
call, ended, kept = {}, set(), set()
for line in sys.stdin:
    e = json.loads(line)
    b = e.get("body") or {}
    if e["kind"] == "action.requested" and b.get("call"):
        for a in (a for a in ended & kept if call.get(a) == b["call"]):
            print(f"#{e['seq']} repeats #{a} (call {b['call']}, {b.get('argv')})")
        call[e["seq"]] = b["call"]
    if e["kind"] == "action.ended" and b.get("end") == "ok": ended.add(e.get("action"))
    if e["kind"] == "snapshot.taken": kept.update([e.get("action")] + b.get("by", []))
P
wrong=0 unfinished=0 unverified=0 kills=0 told='' twice=''
RANDOM=${SEED:-2718}
alive() { [ -d "/proc/$1" ] && [ "$(sed 's/.*) \(.\).*/\1/' "/proc/$1/stat" 2>/dev/null)" != Z ]; }
gone() { ! alive "$1"; }
for _ in $(seq "$rounds"); do
	line=$("$sg" run $accept -d agent.lua --json -- --repo repo 2>"$t/out") || { unfinished=$((unfinished + 1)); continue; }
	id=$(printf '%s' "$line" | grep -oE '"session":"[^"]*' | cut -d'"' -f4)
	pid=$(printf '%s' "$line" | grep -oE '"pid":[0-9]+' | cut -d: -f2)
	window=$((took < 900 ? took : 900))
	for _ in $(seq $((RANDOM % 3 + 1))); do
		sleep "$(printf '%d.%03d' 0 $((RANDOM % window)))"
		window=250 # the next kill meets the resume: its sandbox, its files, its first commands
		alive "$pid" || break
		kill -9 "$pid" && kills=$((kills + 1))
		wait_for 10 gone "$pid"
		line=$(timeout 60 "$sg" resume "$id" -d --json 2>"$t/out" </dev/null) || break
		pid=$(printf '%s' "$line" | grep -oE '"pid":[0-9]+' | cut -d: -f2)
	done
	wait_for 60 gone "${pid:-1}"
	events=$("$sg" events "$id" --json 2>/dev/null)
	if printf '%s' "$events" | grep -q "$want"; then :; else
		# killed before its script started: no resume is possible
		grep -q 'was interrupted before its script started' "$t/out" || {
			wrong=$((wrong + 1))
			told+="$id: $(printf '%s' "$events" | grep -oE 'log [0-9]+ [0-9]+ [0-9]+' | tail -1) $(tail -1 "$t/out"); "
			[ -n "${KEEP:-}" ] && cp "$HOME"/.local/share/sandglass/sessions/*"${id#s-}"*.glass "$KEEP/" 2>/dev/null
		}
	fi
	again=$(printf '%s' "$events" | python3 repeated.py 2>&1)
	[ -z "$again" ] || {
		twice+="$id: $again; "
		[ -n "${KEEP:-}" ] && cp "$HOME"/.local/share/sandglass/sessions/*"${id#s-}"*.glass "$KEEP/" 2>/dev/null
	}
	"$sg" verify "$id" >"$t/verify" 2>&1 || { unverified=$((unverified + 1)); cp "$t/verify" "$t/out"; }
	rm -f "$HOME"/.local/share/sandglass/sessions/*"${id#s-}"*
done
ok $((kills < rounds / 4)) "$kills kills in $rounds sessions"
is "$unfinished" 0 'every session begins'
is "$wrong $told" '0 ' 'all end with the files of an undisturbed run'
is "$twice" '' 'no completed action is done again'
is "$unverified" 0 'every record verifies'
finish
