#!/usr/bin/env bash
# Budgets of money and tokens over real answers: the counts, the stop, the approval, and the extension. Each model call
# costs exactly one dollar here.
. "$(dirname "$0")/lib.sh"
need_boxes
sg=$SANDGLASS
cd "$t" || exit 1
export SANDGLASS_SESSIONS=$t/sessions MINE=sk-canary-money no_proxy='*'
python3 "$here/model_server.py" >port 2>server.log </dev/null &
server=$!
trap 'kill $server 2>/dev/null; end_all' EXIT
wait_for 10 test -s port
port=$(cat port)
cat >config.lua <<L
local c = require "sandglass.config"
c.models = { turns = { plugin = "anthropic", url = "http://127.0.0.1:$port/turns", key = "MINE" } }
c.prices = { m = { input = 10000, read = 0, write = 0, output = 0 } }
return c
L
export SANDGLASS_CONFIG=$t/config.lua
cat >agent.lua <<'L'
local sg = require "sandglass"
local a = sg.args { usd = 0, tokens = 0, steps = 0, model = "turns:m" }
local box <close> = sg.sandbox {}
local budget = {}
if a.usd > 0 then budget.usd = a.usd end
if a.tokens > 0 then budget.tokens = a.tokens end
if a.steps > 0 then budget.steps = a.steps end
local r, err = sg.agent.run { name = "spender", task = "go", model = a.model, box = box, tools = { "shell" },
  budget = next(budget) and budget or nil }
if not r then
  print("stopped: " .. err.code .. ", calls " .. err.answer.usage.calls)
  sg.exit(err.exit, "%s", tostring(err))
end
print("done: " .. r.text .. ", calls " .. r.usage.calls)
L
echo 0 >asked
total() { curl -sS --noproxy '*' "http://127.0.0.1:$port/count/turns"; }
calls() { # since the last look
	local now
	now=$(total)
	echo $((now - $(cat asked)))
	echo "$now" >asked
}
newest() { sed -nE 's/.* session: (s-[a-z0-9]+) .*/\1/p' "$t/out" | head -1; }
run() { # options...
	timeout 60 "$sg" run --no-tui --no-input agent.lua "$@" >"$t/out" 2>&1 </dev/null
	status=$? id=$(newest) ev=$("$sg" events "$(newest)" --json)
}
of() { printf '%s\n' "$ev" | grep "\"kind\":\"$1\""; }

# --- nobody to ask ----------------------------------------------------------------------------------------------------
run
is $status 0 'without a budget it runs to its end'
is "$(calls)" 5 'five calls'
like "$(cat "$t/out")" '\$1\.00' 'each of which costs what the table says'
run --budget usd=2.50
is $status 5 'a budget that is used up is exit status 5'
is "$(calls)" 3 'no call begins when it is used up; the one that passed the limit was the last'
like "$(cat "$t/out")" 'stopped: budget, calls 3' 'the script gets the error value'
like "$(of budget.warn)" '"what":"uusd","used":2000000,"limit":2500000' 'at 80 percent a warning is recorded'
like "$(of budget.empty)" '"what":"uusd","used":3000000,"limit":2500000' 'and at the end'
is "$(of budget.warn | wc -l)" 1 'once'
like "$(of action.ended)" '"end":"budget"' 'the call that did not begin has its own end'
"$sg" verify "$id" >"$t/verify" 2>&1
ok $? 'the record verifies'
run -- --usd 1
is "$(calls)" 1 "an agent's own budget"
run -- --tokens 300
is "$(calls)" 2 'a budget of tokens'
like "$(of budget.empty)" '"what":"tokens","used":340,"limit":300' 'which are counted as the provider says'
run -- --steps 2
is "$(calls)" 2 'a budget of steps'
run --budget usd=0.000001
is "$(calls)" 1 'a very small one: what a call costs is known when it has ended'

# --- a tree -----------------------------------------------------------------------------------------------------------
cat >tree.lua <<'L'
local sg = require "sandglass"
local box <close> = sg.sandbox {}
local all = sg.budget { usd = 3 }
for i = 1, 2 do
  local r, err = sg.agent.run { name = "a" .. i, task = "go", model = "turns:m", box = box, tools = { "shell" }, budget = all:part { usd = 2 } }
  print(("a%d: %s, left %.2f"):format(i, r and "done" or err.code .. " after " .. err.answer.usage.calls, all:left().usd))
end
L
timeout 60 "$sg" run --no-tui --no-input tree.lua >"$t/out" 2>&1 </dev/null
like "$(cat "$t/out")" 'a1: budget after 2, left 1\.00' 'a part ends at its own limit'
like "$(cat "$t/out")" 'a2: budget after 1, left 0\.00' 'and at that of the whole'
is "$(calls)" 3 'together they have spent the whole'

# --- a person is asked ------------------------------------------------------------------------------------------------
held() { "$sg" events "$id" --json 2>/dev/null | python3 -c '
import json, sys
open = {}
for l in sys.stdin:
    e = json.loads(l)
    if e.get("kind") == "action.held": open[e["action"]] = ",".join(e["body"]["reasons"])
    elif e.get("kind") in ("action.started", "action.ended"): open.pop(e["action"], None)
for a, why in open.items(): print(a, why)'; }
is_held() { held | grep -q budget; }
ended() { "$sg" events "$id" --json 2>/dev/null | grep -q '"kind": *"session.end"'; }
id=$("$sg" run -d agent.lua --budget usd=2 </dev/null 2>"$t/out")
wait_for 20 is_held
ok $? 'with a person it asks instead of ending'
is "$(calls)" 2 'before the call that it has no money for'
like "$("$sg" budget -S "$id" 2>&1)" '^left of budget #[0-9]+: \$0\.[0-9]+$' 'the rest of the budget can be printed'
"$sg" budget --steps 3 -S "$id" --json >"$t/out" 2>&1 </dev/null
like "$(cat "$t/out") $(held)" 'still used up: \$2\.0000 of \$2\.0000.* budget' 'an extension without effect on the used-up limit is reported'
"$sg" budget --usd 1.50 -S "$id" >"$t/out" 2>&1 </dev/null
ok $? 'the budget is extended'
two_more() { [ "$(total)" -ge $(($(cat asked) + 2)) ]; }
wait_for 20 two_more
wait_for 20 is_held
ok $? 'it continues, and asks again at the new limit'
is "$(calls)" 2 'two calls more'
first=$(held | cut -d' ' -f1)
"$sg" approve "$first" -S "$id" >"$t/out" 2>&1 </dev/null
ok $? 'one action is approved without more budget'
other_held() { is_held && [ "$(held | cut -d' ' -f1)" != "$first" ]; }
wait_for 20 other_held
ok $? 'that one runs, the next asks again'
"$sg" approve "$(held | cut -d' ' -f1)" -S "$id" >"$t/out" 2>&1 </dev/null
wait_for 20 ended
is "$(calls)" 1 'the call of the model'
ev=$("$sg" events "$id" --json)
like "$(of note)" 'done: all done, calls 5' 'and was the last'
like "$(of budget.extended)" '"uusd":1500000' 'who has extended it is in the record'
id=$("$sg" run -d agent.lua --budget usd=1 </dev/null 2>"$t/out")
wait_for 20 is_held
"$sg" deny "$(held | cut -d' ' -f1)" -m 'enough for today' -S "$id" >"$t/out" 2>&1 </dev/null
ok $? 'a person says no'
wait_for 20 ended
like "$("$sg" events "$id" --json)" 'stopped: budget, calls 1' 'the script gets the error'
calls >/dev/null

# --- a price that is not known ----------------------------------------------------------------------------------------
run --budget usd=1 -- --model turns:other
is "$(calls) $status" '0 5' 'a budget in dollars without a price, and nobody to ask: no call is made'
like "$(of action.ended)" '"end":"budget","why":"no price is known for .turns:other' 'with the reason'
run --budget tokens=300 -- --model turns:other
is "$(calls)" 2 'a budget of tokens needs no price'
like "$(cat "$t/out")" '\$\?' 'and its cost is unknown'
like "$("$sg" export "$(newest)" -F html)" '"type":"cost","what":"unknown' 'in a report, too'
run -- --model turns:m-20260701
is "$(calls) $("$sg" report --json | grep "$id" | grep -o '"cost_uusd":[0-9]*')" '5 "cost_uusd":5000000' 'a dated model has the price of its family'
is_held_for() { held | grep -q "$1"; }
id=$("$sg" run -d agent.lua --budget usd=1 -- --model turns:other </dev/null 2>"$t/out")
wait_for 20 is_held_for price
ok $? 'with a person it asks before the first call'
is "$(calls)" 0 'which has not been made'
"$sg" approve "$(held | cut -d' ' -f1)" -S "$id" >"$t/out" 2>&1 </dev/null
wait_for 20 ended
is "$(calls)" 5 'and not again once it is approved'
id=$("$sg" run -d agent.lua --budget usd=1 -- --model turns:other </dev/null 2>"$t/out")
wait_for 20 is_held_for price
"$sg" deny "$(held | cut -d' ' -f1)" -S "$id" >"$t/out" 2>&1 </dev/null
wait_for 20 ended
is "$(calls)" 0 'a denial ends it'
like "$("$sg" events "$id" --json)" 'stopped: budget, calls 0' 'as a budget that is used up'
finish
