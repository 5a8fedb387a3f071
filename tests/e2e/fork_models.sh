#!/usr/bin/env bash
# Several models continue the same events and files at once: a table of the results, and one result that is applied.
. "$(dirname "$0")/lib.sh"
sg=$SANDGLASS
need_boxes
need git
cd "$t" || exit 1
printf 'return require("sandglass.policy").rules { default = "allow" }\n' >any.lua
git init -q r && echo base >r/base.txt && git -C r add -A && git -C r commit -qm base || exit 1
cat >f.lua <<'L'
local sg = require "sandglass"
local box = sg.sandbox { repo = "r" }
sg.agent.run { name = "worker", task = "go", box = box, model = "scripted:first.lua", tools = { "shell" } }
box:close()
L
turn() { printf '{ say = "%s", call = { "shell", { cmd = "%s" } } }, ' "$1" "$2"; }
echo "return { $(turn 1 'echo 1 >one.txt') $(turn 2 'echo 2 >two.txt') { say = 'done' } }" >first.lua
echo "return { $(turn b 'cat one.txt >three.txt') { say = 'b done' } }" >good.lua
echo "return { $(turn c false) { say = 'never', expect = 'no such thing' } }" >bad.lua
echo "return { $(turn d 'echo 1 >d') $(turn e 'echo 2 >e') $(turn f 'echo 3 >f') $(turn g 'echo 4 >g') { say = 'spent' } }" >dear.lua
echo "return { $(turn s 'echo s >slow.txt; sleep 100') { say = 's done' } }" >slow.lua
"$sg" run --no-tui --no-input --policy any.lua f.lua </dev/null >log 2>&1
s=$("$sg" ls --json | sed -n '1s/.*"session":"\([^"]*\)".*/\1/p')
at=$("$sg" events "$s" --json | grep '"kind":"action.ended"' | sed -n '2s/.*"seq":\([0-9]*\).*/\1/p')
"$sg" --json fork "$s#$at" --model scripted:good.lua,scripted:bad.lua,scripted:dear.lua,scripted:slow.lua --budget steps=3 --time 8s \
	--test 'test -f three.txt && test -f one.txt && test -f base.txt' >out.json 2>err.txt </dev/null
is $? 0 "one did well"
cp out.json "$t/out"
row() { grep "\"model\":\"scripted:$1.lua\"" out.json; }
like "$(row good)" '"outcome":"ok".*"test":0.*"files":2.*"model_calls":2' 'the good one: its test, difference and calls'
like "$(row bad)" '"outcome":"failed".*"test":1' 'one that failed'
is "$("$sg" ls --json | jq -r 'select(.name | startswith("test-") or . == "sandbox").name' | sort | xargs)" \
	'test-scripted-bad-lua-1 test-scripted-dear-lua-1 test-scripted-good-lua-1 test-scripted-slow-lua-1' 'the session of each test is named after its model'
like "$(row dear)" '"outcome":"budget"' 'one that used up its budget'
like "$(row slow)" '"outcome":"late"' 'one whose time was up'
id() { row "$1" | sed 's/.*"session":"\([^"]*\)".*/\1/'; }
upto() { "$sg" events "$1" --json | awk -v n="$at" '{ match($0, /"seq":[0-9]+/); if (substr($0, RSTART + 6, RLENGTH - 6) + 0 <= n) print }' | sha256sum; }
is "$(upto "$(id good)")" "$(upto "$s")" 'its events up to there are the same: nothing is asked or run again'
is "$("$sg" events "$(id good)" --json | grep -c '"kind":"model.call"')" 3 'only what came after was asked of a model'
is "$("$sg" cat one.txt "$(id bad)" 2>/dev/null || "$sg" tree "$(id bad)" --json | grep -c one.txt)" \
	"$("$sg" cat one.txt "$s" 2>/dev/null || "$sg" tree "$s" --json | grep -c one.txt)" 'each begins with the files as they were'
for one in bad dear slow; do
	"$sg" apply "$(id $one)" >"$t/out" 2>&1
	[ $? -ne 0 ] && [ -z "$(git -C r status --porcelain)" ]
	ok $? "apply refuses: $one"
done
"$sg" apply "$(id good)" >"$t/out" 2>&1 </dev/null
is "$?.$(cat r/three.txt 2>&1).$(ls r/two.txt 2>/dev/null)" 0.1. 'apply takes one: what came before and what its model did'
"$sg" apply "$(id slow)" --force >"$t/out" 2>&1 </dev/null
is "$?.$(cat r/slow.txt 2>&1)" 0.s '--force takes a failed one'
"$sg" --json fork "$s#$at" --model scripted:good.lua --runs 2 >"$t/out" 2>&1 </dev/null
is "$(grep -c '"outcome":"ok"' "$t/out").$(grep -o '"tree":"[^"]*"' "$t/out" | sort -u | wc -l)" 2.1 'several runs of one'
"$sg" fork "$s#$at" --model scripted:none.lua >"$t/out" 2>&1 </dev/null
is $? 1 'none did well'
# Three models continue from random events of a longer session: no recorded call is repeated, each begins with the same
# tree, and one table has all of them. 3 events, 20 with LONG.
cat >long.lua <<'L'
local turns = {}
for i = 1, 12 do turns[i] = { say = "turn " .. i, call = { "shell", { cmd = ("echo %d >f%d.txt; rm -f f%d.txt"):format(i, i, i - 3) } } } end
turns[13] = { say = "done" }
return turns
L
sed 's/first.lua/long.lua/' f.lua >g.lua
for m in one two three; do echo "return { $(turn $m "echo $m >$m.txt") { say = '$m done' } }" >$m.lua; done
"$sg" run --no-tui --no-input --policy any.lua --name long g.lua </dev/null >log 2>&1
long=$(sed -n 's/.*session: \(s-[a-z0-9]*\) .*started.*/\1/p' log | head -1)
"$sg" events "$long" --json >all.json
RANDOM=${SEED:-27}
seqs=$(sed -n '/"kind":"action.ended"/s/.*"seq":\([0-9]*\).*/\1/p; /"kind":"model.reply"/s/.*"seq":\([0-9]*\).*/\1/p' all.json |
	awk 'NR > 4' | head -n -2) # not before the first command, nor after the last answer, when nothing is left to do
paths() { "$sg" tree "$1" --json 2>/dev/null | grep -o '"path":"[^"]*"' | sort | tr '\n' ' '; }
after() { "$sg" events "$1" --json | awk -v n="$at" '{ match($0, /"seq":[0-9]+/); if (substr($0, RSTART + 6, RLENGTH - 6) + 0 > n) print }'; }
before() { awk -v n="$at" '{ match($0, /"seq":[0-9]+/); if (substr($0, RSTART + 6, RLENGTH - 6) + 0 <= n) print }' all.json; }
done_by() { grep '"kind":"action.requested"' <<<"$1" | grep -o 'echo [0-9]* >f[0-9]*' | sort; } # events
for ((i = 0; i < ${LONG:+17}+3; i++)); do
	at=$(sed -n "$((RANDOM % $(wc -l <<<"$seqs") + 1))p" <<<"$seqs")
	"$sg" --json fork "$long#$at" --model scripted:one.lua,scripted:two.lua,scripted:three.lua >out.json 2>err.txt </dev/null
	cp out.json "$t/out"
	is "$?.$(grep -c '"model":"scripted:' out.json)" 0.3 "event $at: one table of three models"
	[ -n "$(done_by "$(before)")" ] && [ -n "$(paths "$long#$at")" ]
	ok $? "event $at: there are commands and files before it"
	for m in one two three; do
		f=$(id $m)
		is "$(upto "$f")" "$(upto "$long")" "event $at, $m: the events before are the same"
		is "$(after "$f" | grep -c '"kind":"model.call"')" 2 "event $at, $m: only its own model calls were made"
		is "$(comm -12 <(done_by "$(before)") <(done_by "$(after "$f")"))" '' "event $at, $m: no recorded command ran again"
	done
	is "$(for m in one two three; do paths "$(id $m)#$at"; echo; done | sort -u)" "$(paths "$long#$at")" "event $at: each begins with the same tree"
done
"$sg" fork "$s#$at" --test true >"$t/out" 2>&1 </dev/null
isnt=$?
[ $isnt -ne 0 ]
ok $? '--test without models is refused'
finish
