#!/usr/bin/env bash
# Scripts with concurrency, time, randomness, and models are functions of their recording. Uses random scripts (SEED;
# SCRIPTS of them, forked at FORKS of their events; SMALL=1: a small one, at every third event; LONG=1: the small one and
# eight, at every event). A fork at event n repeats events 1..n exactly, makes no model call for them, has the files of n, and ends as
# expected. A rerun of the unchanged script finds no difference; a rerun of a changed one names the place.
. "$(dirname "$0")/lib.sh"
need_boxes
sg=$SANDGLASS
scripts=${SCRIPTS:-2} forks=${FORKS:-12} begin=1
[ -n "${SMALL:-}" ] && scripts=0 begin=0 # every_event.sh
[ -n "${LONG:-}" ] && scripts=${SCRIPTS:-8} forks=${FORKS:-100000} begin=0
seed=${SEED:-161803}
cd "$t" || exit 1
cat >turns.lua <<'L'
return { { say = "I write", call = { "shell", { cmd = "echo by the model >> log" } } }, { say = "done" } }
L
cat >make.py <<'P'
import random, sys
r = random.Random(int(sys.argv[1]))
count = [0]
def line():
    count[0] += 1
    return f"add({count[0]})"
def step(depth):
    k = r.randrange(10 if depth < 2 else 5)
    if k == 0: return line()
    if k == 1: return f"sg.sleep({r.choice([0, 0.001, 0.01])})"
    if k == 2: return "seen[#seen + 1] = os.time() % 2 + math.random(1000)"
    if k == 3: return f'agent({r.randrange(100)}); ' + line()
    if k == 4: return f"sg.note('n %d', math.random({r.randrange(2, 9)})); sg.store('s'):add('k', 1)"
    if k == 5: return "sg.map({ 1, 2, 3 }, function(i) sg.sleep(math.random() / 100) " + block(depth) + " end)"
    if k == 6: return "sg.race { function() sg.sleep(math.random() / 50) end, function() sg.sleep(math.random() / 50) end }"
    if k == 7: return "pcall(sg.timeout, 5, function() " + block(depth) + " end)"
    if k == 8: return "do local c = sg.channel(1) local w <close> = sg.spawn(function() for i = 1, 3 do sg.sleep(math.random() / 100) c:send(i) end c:close() end) for v in c:each() do seen[#seen + 1] = v end " + block(depth) + " end"
    return "do local w <close> = sg.spawn(function() " + block(depth) + " end) w:await() end"
def block(depth): return " ".join(step(depth + 1) for _ in range(r.randrange(1, 3)))
small = sys.argv[2] == "0"
body = ("seen[1] = os.time() % 2 + math.random(1000) sg.map({ 1, 2 }, function(i) sg.sleep(math.random() / 100) seen[#seen + 1] = i end)" if small
        else "\n".join(step(0) for _ in range(7))) + "\nagent(7)\n" + ("" if small else line())
print(f'''local sg = require "sandglass"
local box <close> = sg.sandbox {{ name = "b", accept = "reduced" }}
local seen, adds, agents = {{}}, 0, 0
local function add(i) adds = adds + 1; assert(box:run("echo line " .. i .. " >> log")) end
local function agent(i)
  agents = agents + 1
  assert(sg.agent.run {{ name = "a" .. agents, task = "prompt number " .. i, model = "scripted:turns.lua", tools = {{ "shell" }}, box = box }})
end
{body}
local n = tonumber(box:run("wc -l < log").out)
print(("log %d of %d agents %d"):format(n, adds + agents, agents))
print(n == adds + agents and "the files are right" or "the files are wrong")
''')
P
cat >same.py <<'P'
# The first n rows of two session files are equal, in every column; prints the first that is not.
import sqlite3, sys
a, b = (sqlite3.connect(f"file:{p}?mode=ro", uri=True) for p in sys.argv[1:3])
q = "select * from event where seq <= ? order by seq"
for x, y in zip(a.execute(q, (sys.argv[3],)), b.execute(q, (sys.argv[3],))):
    if x != y: sys.exit(f"row {x[0]}: {x!r} is not {y!r}")
if len(list(a.execute(q, (sys.argv[3],)))) != len(list(b.execute(q, (sys.argv[3],)))): sys.exit("rows are missing")
# The fork's sandbox starts with the tree of the newest snapshot up to n. The end of an action counts as its own place.
end = a.execute("select action from event join kind on number = kind where seq = ? and name = 'action.ended' and box > 0", (sys.argv[3],)).fetchone()
mine = end and a.execute("select max(seq) from event where kind = 210 and action = ?", end).fetchone()[0]
until = max(int(sys.argv[3]), mine or 0)
tree = "select json_extract(body, '$.tree') from event where kind = 210 and seq %s ? %s order by seq %s limit 1"
was = a.execute(tree % ("<=", "", "desc"), (until,)).fetchone()
now = b.execute(tree % (">", "and json_extract(body, '$.why') = 'resume'", "asc"), (until,)).fetchone()
if now and now != was: sys.exit(f"the box has the tree {now} and not {was}")
closed = a.execute("select 1 from event join kind on number = kind where name = 'box.closed' and seq <= ?", (sys.argv[3],)).fetchone()
if was and was[0] and not now and not closed: sys.exit(f"the box has not the tree {was}")
P
sessions=$HOME/.local/share/sandglass/sessions
replies() { "$sg" events "$1" --json | grep -c '"kind":"model.reply"'; }
RANDOM=$seed
fork_at() { # event: errors of the fork there go to files rows.N, ends.N, calls.N, records.N
	local at=$1 fork
	timeout 60 "$sg" fork "$file#$at" --no-tui -q --name "f$at" >"fork.$at" 2>&1 </dev/null
	fork=$(ls -t "$sessions"/*-f"$at"-*.glass 2>/dev/null | head -1)
	[ -n "$fork" ] || { cp "fork.$at" "ends.$at"; return; }
	grep -q 'the files are right' "fork.$at" || cp "fork.$at" "ends.$at"
	python3 same.py "$file" "$fork" "$at" >"same.$at" 2>&1 || cp "same.$at" "rows.$at"
	[ "$(replies "$fork")" = "$models" ] || replies "$fork" >"calls.$at"
	"$sg" verify "$fork" >"verify.$at" 2>&1 || cp "verify.$at" "records.$at"
	[ -n "${KEEP:-}" ] || rm -f "$fork"
}
wrong() { find . -maxdepth 1 -name "$1.[0-9]*" -printf '%f ' -exec sed 's/^/#   /' {} + >"$t/out"; find . -maxdepth 1 -name "$1.[0-9]*" -printf '%f '; }
for i in $(seq "$begin" "$scripts"); do # 0: the small one
	python3 make.py $((seed + i)) "$i" >script.lua
	timeout 60 "$sg" run --no-tui -q script.lua >"$t/out" 2>&1 </dev/null
	like "$(cat "$t/out")" 'the files are right' "script $i: runs (seed $((seed + i)))"
	file=$(ls -t "$sessions"/*.glass | head -1)
	mv "$file" "$t/base.glass"
	file=$t/base.glass
	timeout 60 "$sg" simulate "$file" >"$t/out" 2>&1
	is $? 0 "script $i: rerun finds no difference"
	sed 's/prompt number /prompt numbir /' script.lua >changed.lua
	timeout 60 "$sg" simulate "$file" --script changed.lua >"$t/out" 2>&1
	is $? 10 "script $i: rerun finds one changed character"
	like "$(cat "$t/out")" 'numbir' "script $i: and shows it"
	like "$(cat "$t/out")" '#[0-9]+' "script $i: and at which event"
	like "$(cat "$t/out")" '/args/(task|messages)' "script $i: and where in what was asked"
	events=$("$sg" events "$file" --json)
	first=$(printf '%s\n' "$events" | grep -m1 '"host.frame"' | grep -oE '"seq":[0-9]+' | cut -d: -f2)
	last=$(printf '%s\n' "$events" | grep '"host.end"' | grep -v plugin | tail -1 | grep -oE '"seq":[0-9]+' | cut -d: -f2)
	models=$(replies "$file")
	every=1
	[ "$i" -gt 0 ] || [ -n "${LONG:-}" ] || every=3
	points=$(seq "$first" $every $((last - 1)))
	[ "$i" -gt 0 ] && [ $((last - first)) -gt "$forks" ] && points=$(for _ in $(seq "$forks"); do echo $((first + RANDOM * 32768 % (last - first) + RANDOM % 32768 % 97)); done | awk -v l="$last" '$1 < l' | sort -nu)
	busy=0
	for at in $points; do # four at once: most of a fork's time is waiting
		[ $busy -lt 4 ] || { wait -n; busy=$((busy - 1)); }
		fork_at "$at" &
		busy=$((busy + 1))
	done
	wait
	nr=$(echo $points | wc -w)
	is "$(wrong rows)" '' "script $i: forks at $nr of events $first..$((last - 1)) repeat the events before exactly"
	is "$(wrong calls)" '' "script $i: they repeat no model call ($models of them)"
	is "$(wrong ends)" '' "script $i: they go on with the files of then, and end well"
	is "$(wrong records)" '' "script $i: they verify"
	rm -f "$t"/base.glass "$sessions"/*.glass {rows,ends,calls,records}.[0-9]*
done
finish
