#!/usr/bin/env bash
# What rented boxes cost counts like what models cost: in the report, in budgets while they are open, with whom opened them; where no
# price is known, the cost is unknown and not 0.
. "$(dirname "$0")/../e2e/lib.sh"
need_boxes
command -v bwrap >/dev/null || { skip 'no bubblewrap for the fake'; finish; }
need curl
sg=$SANDGLASS
cd "$t" || exit 1
python3 "$here/../fakes/plain.py" "$t/port" </dev/null >"$t/fake.log" 2>&1 &
fake=$!
trap 'kill $fake 2>/dev/null; end_all' EXIT
wait_for 30 test -s port
export MINE_API_KEY=any-key-will-do MINE_URL=http://127.0.0.1:$(cat port)/v1 SANDGLASS_SESSIONS=$t/sessions no_proxy='*'
"$sg" plugin new sandbox mine >out 2>&1
cp mine.lua free.lua
# a dollar a second, so that it adds up while we look
sed -i 's|tag = b.labels and b.labels\["sandglass-box"\] }|tag = b.labels and b.labels["sandglass-box"], uusd_hour = 3600000000 }|' mine.lua
grep -q uusd_hour mine.lua
ok $? 'a kind of box with a price'
echo 'return require("sandglass.policy").rules { default = "allow" }' >any.lua
run() { timeout 60 "$sg" run --no-tui --no-input --policy any.lua "$@" >out 2>&1 </dev/null; }
reported() { # session, field
	"$sg" report --json | python3 -c '
import json, sys
for o in map(json.loads, sys.stdin):
    if o.get("name") == sys.argv[1]: print(json.dumps(o[sys.argv[2]]))' "$@"
}

# A large file goes there and back in pieces; the script's other task continues meanwhile.
head -c 9000000 /dev/urandom >large
cat >large.lua <<'L'
local sg = require "sandglass"
local box <close> = sg.sandbox { backend = "./free.lua", name = "far" }
local busy, turns = true, 0
sg.spawn(function() while busy do sg.sleep(0.01); turns = turns + 1 end end)
assert(box:put("large", "large"))
local there = turns
assert(box:get("large", "back"))
busy = false
assert(there > 5 and turns > there + 5, there .. " and " .. turns)
sg.note "there and back"
sg.sleep(60)
L
id=$("$sg" run -d --policy any.lua large.lua </dev/null 2>out)
noted() { "$sg" events "$id" --json 2>/dev/null | grep -q '"text":"there and back"'; }
wait_for 60 noted
is "$? $(cmp large back 2>&1)" '0 ' 'a large file returns as it was, and does not hold the script'
# Work in place of time: the frames of the plugin are converted beside the loop.
pid=$("$sg" events "$id" --json | grep '"kind":"session.start"' | grep -oE '"pid":[0-9]+' | head -1 | grep -oE '[0-9]+')
ticks=$(for task in /proc/"$pid"/task/*; do [ "$(cat "$task/comm")" != frames ] || cut -d' ' -f14 "$task/stat"; done)
[ "${ticks:-0}" -ge 5 ]
ok $? "a thread of its own converts its pieces ($ticks ticks)"
"$sg" stop --now -S "$id" >out 2>&1

# The plugin's process dies; the next file, which waits already, is written by a new one.
sed 's|^\(function M.write(.*\)$|\1 while bytes:sub(1, 4) == "FAIL" do kept = (kept or "x") .. (kept or "x") end|; s|^local M = |local kept\n&|' free.lua >dies.lua
{ printf FAIL; head -c 300000 /dev/zero; } >bad
cat >dies_run.lua <<'L'
local sg = require "sandglass"
local box <close> = sg.sandbox { backend = "./dies.lua" }
local over = 0
for _, name in ipairs { "bad", "large" } do
  sg.spawn(function()
    local put, err = box:put(name, name)
    print(name, put and "there" or err.msg:find "256 MB of memory" and "died" or err.msg)
    over = over + 1
  end)
end
while over < 2 do sg.sleep(0.01) end
L
run dies_run.lua
is "$(sed -n 's/.* note: //p' out | tr -s ' \t' ' ' | sort)" 'bad died
large there' 'a question of a plugin that starts again waits until it is loaded'

# One agent opens a box of its own; its neighbor has none.
cat >two.lua <<'L'
local sg = require "sandglass"
local rent = sg.tool { name = "rent", about = "Runs it in a rented box.", params = { cmd = "string" }, run = function(p)
  local box <close> = sg.sandbox { backend = "./mine.lua", name = "far" }
  return box:exec(p.cmd).out
end }
local near <close> = sg.sandbox { name = "near" }
for _, name in ipairs { "payer", "neighbor" } do
  assert(sg.agent.run { task = "go", box = near, model = ("scripted:%s.turns.lua"):format(name), name = name, tools = { "shell", rent } })
end
L
echo 'return { { call = { "rent", { cmd = "sleep 1; echo there" } } }, { say = "Done." } }' >payer.turns.lua
echo 'return { { call = { "shell", { cmd = "echo here" } } }, { say = "Done." } }' >neighbor.turns.lua
run --name two two.lua
is $? 0 'a session with a rented box'
total=$(reported two cost_uusd) box=$(reported two box_uusd)
[ "${box:-0}" -ge 1000000 ] && [ "$total" = "$box" ]
ok $? "the report has what it cost ($box)"
is "$(reported two cost_unknown)" false 'which is known'
like "$("$sg" compare two two --no-tui 2>&1)" " $(awk "BEGIN { printf \"%.4f\", $box / 1e6 }") " 'compare has it'
like "$("$sg" events two)" 'box closed, cost \$[1-9]' 'the event says it'
cat >whose.lua <<'L'
local v = require "sandglass.verify"
return v.checks(function(log, t)
  t:min("payer", log:sum("cost", "agent:payer"), 1)
  t:equal("neighbor", log:sum("cost", "agent:neighbor"), 0)
end)
L
"$sg" verify two --with whose.lua >out 2>&1
is "$? $(grep -c 'ok .*whose.lua' out)" '0 2' 'it counts with the agent that opened it, and not with its neighbor'
cat >most.lua <<'L'
local v = require "sandglass.verify"
return v.checks(function(log, t) t:max("cost", log:sum "cost", 0.5) end)
L
"$sg" verify two --with most.lua >out 2>&1
is "$? $(grep -c 'FAIL.*cost' out)" '1 1' 'a check of the cost sees it'

# A budget in dollars ends work in a rented box, while it is open.
cat >long.lua <<'L'
local sg = require "sandglass"
local box <close> = sg.sandbox { backend = "./mine.lua" }
for i = 1, 20 do
  local r, err = box:exec "sleep 1"
  if not r then print("stopped at " .. i .. ": " .. err.code) sg.exit(err.exit, "%s", tostring(err)) end
end
L
run --name long --budget usd=2.00 long.lua
is $? 5 'a budget ends it'
like "$(cat out)" 'stopped at [2-5]: budget' 'after as many commands as it had money for'
like "$("$sg" events long --json)" '"kind":"budget.spent".*"uusd":[1-9]' 'the final price is charged to the budget'

# No price: unknown, never 0.
sed 's/mine.lua/free.lua/; s/1, 20/1, 1/' long.lua >nothing.lua
run --name nothing nothing.lua
is "$? $(reported nothing cost_uusd) $(reported nothing cost_unknown)" '0 null true' 'without a price the cost is unknown'
like "$("$sg" report | grep nothing)" ' \? +nothing' 'and the report marks it'
like "$("$sg" compare nothing two --no-tui 2>&1 | grep -v "^session" | head -1)" ' \? ' 'compare, too'
"$sg" verify nothing --check budgets=1 >out 2>&1
like "$(cat out)" 'warn +check +every cost is known' 'a check of the budget warns'
finish
