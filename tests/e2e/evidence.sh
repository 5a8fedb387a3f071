#!/usr/bin/env bash
# A statement about an agent uses only events of that agent and sandbox. For each kind of statement the test plants an
# event of another agent or sandbox of the session, which must not support it.
. "$(dirname "$0")/lib.sh"
need_boxes
sg=$SANDGLASS
cd "$t" || exit 1
turns() { # agent, commands...: a scripted model that runs them one by one, then says $says
	local name=$1 c
	shift
	{
		echo 'return {'
		for c; do printf '{ call = { "shell", { cmd = [[%s]] } } },\n' "$c"; done
		printf '{ say = [[%s]] } }\n' "$says"
	} >"$name.turns.lua"
}
session() { # name, policy: runs $name.lua
	printf 'return require("sandglass.policy").rules { default = "allow" }\n' >any.lua
	"$sg" run --no-tui --no-input --policy any.lua --name "$1" "$1.lua" >out 2>&1 </dev/null
	ok $? "the session $1 runs"
	"$sg" claims "$1" --json >"$1.claims" 2>/dev/null
}
verdicts() { python3 -c '
import json, sys
print(" ".join(c["verdict"] for c in map(json.loads, open(sys.argv[1])) if c["agent"] == sys.argv[2]))' "$1.claims" "$2"; }

# One agent does all the work; the other only claims it, in its own sandbox.
says='All tests pass. It builds successfully. I ran `make lint`. I pushed it. I committed it. I edited `Makefile`.'
turns doer "printf 'test lint all:\n\t@true\n' >Makefile" 'make all' 'make lint' \
	'git init -q . && git add -A && git -c user.name=a -c user.email=a@b commit -qm x' \
	'git init -q --bare /tmp/r.git && git push -q /tmp/r.git HEAD:main' 'make test'
turns sayer 'ls'
cat >apart.lua <<'L'
local sg = require "sandglass"
local a, b = sg.sandbox { name = "one" }, sg.sandbox { name = "two" }
assert(sg.agent.run { task = "do", box = a, model = "scripted:doer.turns.lua", name = "doer" })
assert(sg.agent.run { task = "do", box = b, model = "scripted:sayer.turns.lua", name = "sayer" })
L
session apart
is "$(verdicts apart doer)" 'supported supported supported supported supported supported' 'own events bear out each claim'
is "$(verdicts apart sayer)" 'unsupported unsupported unsupported unsupported unsupported unsupported' \
	'those of another agent in another sandbox none'

# The same in one sandbox, and with one name for both agents: an agent is its number.
sed 's/"two"/"one"/; s/box = b/box = a/; s/name = "sayer"/name = "doer"/' apart.lua >shared.lua
session shared
is "$(python3 -c '
import json
by = {}
for c in map(json.loads, open("shared.claims")): by.setdefault(c["agent_id"], []).append(c["verdict"])
print([sorted(set(v)) for _, v in sorted(by.items())])')" "[['supported'], ['unsupported']]" 'nor in the same sandbox under the same name'

# What no agent ran, and what an agent below it ran, can't be attributed.
says='All tests pass. I edited `Makefile`.'
turns idle 'ls'
cat >nobody.lua <<'L'
local sg = require "sandglass"
local a <close> = sg.sandbox { name = "one" }
assert(a:run "printf 'test:\n\t@true\n' >Makefile && make test")
assert(sg.agent.run { task = "do", box = a, model = "scripted:idle.turns.lua", name = "idle" })
L
session nobody
is "$(verdicts nobody idle)" 'unknown unsupported' 'the run of a script in its sandbox: unknown; a change by the script is not the agent'\''s'

# One agent, two sandboxes: tests in one prove nothing about the files of the other; those in a copy prove the copied files.
says='All tests pass.'
cat >roam.turns.lua <<'L'
return { { call = { "shell", { cmd = "echo int >a.c" } } }, { call = { "away", { cmd = "make test" } } }, { say = "All tests pass." } }
L
for where in other copy; do
	cat >$where.lua <<'L'
local sg = require "sandglass"
local a <close> = sg.sandbox { name = "one" }
local b = sg.sandbox { name = "two" }
assert(a:run "printf 'test:\n\t@true\n' >Makefile")
assert(b:run "printf 'test:\n\t@true\n' >Makefile")
local away = sg.tool { name = "away", about = "Runs it in the other sandbox.", params = { cmd = "string" },
  run = function(p) return HERE:exec(p.cmd).out end }
assert(sg.agent.run { task = "do", box = a, model = "scripted:roam.turns.lua", name = "roam", tools = { "shell", away } })
L
done
sed -i 's/HERE:exec/b:exec/' other.lua
sed -i 's/HERE:exec/a:fork():exec/' copy.lua
session other
is "$(verdicts other roam)" unknown 'tests in another sandbox than the changed files'
"$sg" verify other --check tests_after_edit >out 2>&1
is "$? $(grep -c "FAIL.*no tests ran in sandbox 'one'" out)" '1 1' 'and the check of the whole session says which sandbox has none'
session copy
is "$(verdicts copy roam)" supported 'tests in a copy of the changed files'
"$sg" verify copy --check tests_after_edit >out 2>&1
is "$? $(grep -c "FAIL.*sandbox 'two'" out)" '1 1' 'which says nothing of the other sandbox'

# A change by another agent after the tests makes them stale; one in another sandbox does not.
says='All tests pass.'
turns tester "printf 'test:\n\t@true\n' >Makefile" 'make test'
says='I edited `a.c`. No files were changed.'
turns editor 'echo int >a.c'
cat >after.lua <<'L'
local sg = require "sandglass"
local a, b = sg.sandbox { name = "one" }, sg.sandbox { name = "two" }
assert(sg.agent.run { task = "do", box = a, model = "scripted:tester.turns.lua", name = "tester" })
assert(sg.agent.run { task = "do", box = HERE, model = "scripted:editor.turns.lua", name = "editor" })
L
sed 's/HERE/a/' after.lua >stale.lua
sed -i 's/HERE/b/' after.lua
session stale
is "$(verdicts stale tester) $(verdicts stale editor)" 'stale supported contradicted' 'a later change in the sandbox'
session after
is "$(verdicts after tester)" supported 'a later change in another sandbox'

# Merged, undoable, and attributed are said of one sandbox and agent. Two agents do the same work in two sandboxes of one repository.
git init -q r && echo base >r/a.txt && git -C r add . && git -C r commit -qm x && chmod -R a+rX r
says='I edited `a.txt`.'
turns first 'echo same >a.txt'
turns second 'echo same >a.txt; echo two >b.txt'
cat >pair.lua <<'L'
local sg = require "sandglass"
local a, b = sg.sandbox { name = "one", repo = "r" }, sg.sandbox { name = "two", repo = "r" }
assert(sg.agent.run { task = "do", box = a, model = "scripted:first.turns.lua", name = "first" })
assert(sg.agent.run { task = "do", box = b, model = "scripted:second.turns.lua", name = "second" })
L
session pair
id=$("$sg" show pair --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["session"])')
by() { "$sg" blame a.txt --at "$id" --box "$1" --json | python3 -c 'import json, sys
print({(l.get("agent"), l["text"]) for l in map(json.loads, sys.stdin)})'; }
is "$(by one) $(by two)" "{('first', 'same')} {('second', 'same')}" 'a line is attributed to the agent of its own sandbox'
"$sg" undo -S "$id" >out 2>&1
is $? 2 'without a merge nothing is undoable'
"$sg" merge "$id/one" --to from-one >out 2>&1
ok $? 'one of the two sandboxes is merged'
"$sg" prune "$id" --merged --yes >out 2>&1
"$sg" show "$id" >/dev/null 2>&1
is $? 0 'the other one is not merged by that, though it holds the same file'
"$sg" merge "$id/two" --to from-two >out 2>&1
ok $? 'then the other'
is "$(git -C r show from-one:a.txt) $(git -C r ls-tree --name-only from-one | tr '\n' ' ')$(git -C r ls-tree --name-only from-two | tr '\n' ' ')" \
	'same a.txt a.txt b.txt ' 'each branch holds the work of its own sandbox'
"$sg" undo -S "$id" >out 2>&1
is "$? $(git -C r rev-parse -q --verify from-two >/dev/null; echo $?) $(git -C r rev-parse -q --verify from-one >/dev/null; echo $?)" '0 1 0' \
	'undo takes back the merge of the newest one only'
"$sg" prune "$id" --merged --yes >out 2>&1
"$sg" show "$id" >/dev/null 2>&1
is $? 0 'and its neighbor does not merge the undone part again'

# "Intact" applies to one recording: damage to another one in the directory does not count.
cp "$HOME"/.local/share/sandglass/sessions/*pair*.glass hurt.glass
python3 - <<'P'
f = open("hurt.glass", "r+b")
data = f.read()
f.seek(data.rindex(b"echo same"))
f.write(b"echo sane")
P
"$sg" verify "$PWD/hurt.glass" >out 2>&1
hurt=$?
"$sg" verify "$id" >out 2>&1
is "$? $((hurt != 0))" '0 1' 'a damaged copy is not intact, and the recording beside it is'

# Cost is counted for the agent, budget, and session that caused it. A call costs one dollar, a conversation has five.
export MINE=sk-canary-money no_proxy='*'
python3 "$here/model_server.py" >port 2>server.log </dev/null &
server=$!
trap 'kill $server 2>/dev/null; end_all' EXIT
wait_for 10 test -s port
cat >config.lua <<L
local c = require "sandglass.config"
c.models = { turns = { plugin = "anthropic", url = "http://127.0.0.1:$(cat port)/turns", key = "MINE" } }
c.prices = { m = { input = 10000, read = 0, write = 0, output = 0 } }
return c
L
cat >paid.lua <<'L'
local sg = require "sandglass"
local box = sg.sandbox { name = "one" }
local own = { sg.budget { usd = 5.5 }, sg.budget { usd = 20 } }
sg.map({ 1, 2 }, function(i)
  assert(sg.agent.run { task = "go", model = "turns:m", box = box, name = "same", tools = { "shell" }, budget = own[i] })
end)
print(("left %.2f %.2f"):format(own[1]:left().usd, own[2]:left().usd))
L
SANDGLASS_CONFIG=$t/config.lua session paid
like "$(cat out)" 'left 0\.50 15\.00' 'a budget counts the calls of its own agent, not those of another with its name in its sandbox'
cost() { "$sg" report "$1" --json | grep -oE '"cost_uusd":[0-9]+' | head -1; }
is "$(cost paid) $(cost after)" '"cost_uusd":10000000 "cost_uusd":0' 'a report has the cost of its own session only'
finish
