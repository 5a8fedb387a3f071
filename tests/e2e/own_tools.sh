#!/usr/bin/env bash
# A script's own tools: the call with its arguments and the result are recorded, found, and exported; secrets are not.
# Reports include the difference of changed files, claims with their verdict, the verification, and the cost.
. "$(dirname "$0")/lib.sh"
need_boxes
sg=$SANDGLASS
cd "$t" || exit 1
export SANDGLASS_SESSIONS=$t/sessions CAKE=Zwetschgenkuchen-4711
mkdir -p "$HOME/.config/sandglass"
echo 'return { secrets = { CAKE = "env:CAKE" } }' >"$HOME/.config/sandglass/config.lua"
echo 'return require "sandglass.policy".rules { default = "allow" }' >policy.lua
cat >turns.lua <<'L'
return {
  { say = "adds", call = { "add", { a = 1, b = 2 } } },
  { say = "looks", call = { "look_up", { word = "jam" } } },
  { say = "fails", call = { "bad", {} } },
  { say = "long", call = { "long", {} } },
  { say = "bakes", call = { "bake", {} } },
  { say = "All tests pass." },
}
L
cat >one.lua <<'L'
local sg = require "sandglass"
local box <close>, cake = sg.sandbox {}, sg.secret "CAKE"
local function tool(name, params, run, where) return sg.tool { name = name, about = name, params = params, where = where, run = run } end
assert(sg.agent.run { task = "work", model = "scripted:turns.lua", box = box, name = "cook", tools = {
  tool("add", { a = "number", b = "number" }, function(p) return { sum = p.a + p.b } end),
  tool("look_up", { word = "string" }, function(p) return p.word .. " is marmalade" end, "host"),
  tool("bad", {}, function() return nil, "no luck" end),
  tool("long", {}, function() return ("x"):rep(1000000) end),
  tool("bake", {}, function() box:write("a<b>.txt", "one\n") return "Zwetschgen" .. "kuchen-4711" end),
} })
L
"$sg" run one.lua --no-tui --no-input --policy policy.lua --name tools </dev/null >out 2>&1
is $? 0 'an agent uses tools of its script'
"$sg" events tools --json >events
is "$(python3 - <<'P'
import json
es = [json.loads(l) for l in open("events")]
by = {e["seq"]: e for e in es}
called = lambda e: e["body"].get("name") or e["body"].get("tool")
ends = {called(by[e["cause"]]): e["body"] for e in es if e["kind"] == "tool.end"}
args = {called(e): e["body"]["args"] for e in es if e["kind"] == "tool.call" or e["body"].get("kind") == "host"}
long = ends["long"].pop("text")
print(args["add"], args["look_up"], ends["add"], ends["look_up"], ends["bad"], ends["long"], 1000 < len(long) < 20000)
P
)" "{'a': 1, 'b': 2} {'word': 'jam'} {'ok': True, 'text': '{\"sum\":3}'} {'ok': True, 'text': 'jam is marmalade'} {'ok': False, 'text': 'no luck'} {'ok': True} True" \
	'arguments and results are recorded, long ones cut'
call_of() { "$sg" events tools --json | python3 -c 'import json, sys
print(next(e["seq"] for e in map(json.loads, sys.stdin) if e["kind"] in ("tool.call", "action.requested") and sys.argv[1] in (e["body"].get("name"), e["body"].get("tool"))))' "$1"; }
for one in 'add|a +1|result +\{"sum":3\}' 'look_up|word +jam|result +jam is marmalade' 'bad|tool +bad|error +no luck'; do
	IFS='|' read -r name arg result <<<"$one"
	card=$("$sg" show "tools#$(call_of "$name")")
	like "$card" "$arg" "show has what $name was called with"
	like "$card" "$result" "and what came of it"
done
grep -c "$CAKE" events >/dev/null
is $? 1 'a secret in a result is not'
"$sg" verify tools >verified 2>&1 && "$sg" export tools -F proof -o tools.proof >/dev/null &&
	bash "$here/../../schema/check_proof.sh" tools.proof "$(sqlite3 tools.proof 'SELECT lower(hex(chain)) FROM event ORDER BY seq DESC LIMIT 1')"
is $? 0 'the recording verifies with it, as a proof, too'
seqs() { "$sg" events tools --json --filter "$1" | grep -oE '"kind": ?"[a-z]+[.][a-z]+"' | tr -d '" ' | sort | uniq -c | tr -s ' \n' ' '; }
is "$(seqs kind:tool)" ' 4 kind:tool.call 5 kind:tool.end ' 'a filter finds them by kind'
is "$(seqs 'kind:tool tool:add')$(seqs 'tool:look_up')$(seqs 'kind:tool marmalade')" \
	' 1 kind:tool.call  1 kind:action.requested  1 kind:tool.end ' 'by name, and by a word of a result'
"$sg" export tools -F markdown -o out.md && "$sg" export tools -F html -o out.html && "$sg" export tools -F atif -o out.json
is $? 0 'a session with such calls is exported'
is "$(python3 - <<'P'
import json, re
items = json.loads(re.search(r'id="data">(.*?)</script>', open("out.html").read(), re.S).group(1))
call = {i["id"]: i["what"] for i in items if i["type"] in ("tool", "action")}
done = {call[i["of"]].split()[0]: (i["good"], i["output"]) for i in items if i["type"] == "result"}
print(call[[i["of"] for i in items if i["type"] == "result"][0]], done["add"], done["look_up"], done["bad"])
md = open("out.md").read()
print(all(w in md for w in ('tool `add` `{"a":1,"b":2}`: ok', '{"sum":3}', 'jam is marmalade', 'tool `bad` `{}`: failed')))
steps = json.load(open("out.json"))["steps"]
print('{"sum":3}' in json.dumps(steps).replace("\\", ""))
P
)" "add {\"a\":1,\"b\":2} (True, '{\"sum\":3}') (True, 'jam is marmalade') (False, 'no luck')
True
True" 'with their arguments and results'
is "$(python3 - <<'P'
import json, re
items = json.loads(re.search(r'id="data">(.*?)</script>', open("out.html").read(), re.S).group(1))
fact = {i["type"]: i for i in items if i.get("report")}
print(fact["cost"]["what"], fact["verification"]["what"], fact["claim"]["end"], fact["claim"]["agent"], fact["diff"]["what"],
      "+++ b/a<b>.txt\n@@ -0,0 +1 @@\n+one\n" in fact["diff"]["output"])
P
)" '$0.000000 verified unsupported cook box True' 'HTML states cost, verification, claims, and the difference'
is "$(grep -cE '^\| cost \| \$0.000000 \||^The recording is \*\*verified|^- \*\*unsupported\*\* `All tests pass|^\+\+\+ b/a<b>.txt' out.md)" 4 'and so does Markdown'
finish
