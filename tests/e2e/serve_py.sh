#!/usr/bin/env bash
# `sandglass serve` with unchanged Python programs from PyPI: the SDKs of Daytona and E2B, and a deepagents agent with a
# Daytona sandbox and a scripted model. Each of its steps is an event, in order. Needs build/py (make test-agents).
. "$(dirname "$0")/lib.sh"
need_boxes
sg=$SANDGLASS
py=${PY_DIR:-$(dirname "$sg")/py}/bin/python
"$py" -c 'import daytona, e2b, deepagents' 2>/dev/null || { skip "no SDKs of Python: make test-agents (fetches them into $(dirname "$sg")/py)"; finish; }
cd "$t" || exit 1
export no_proxy=127.0.0.1,localhost
for kind in daytona e2b; do
	timeout 100 "$sg" serve $kind -- "$py" "$here/serve/${kind}_sdk.py" >sdk.out 2>"$t/out" </dev/null
	is $? 0 "$kind of PyPI drives it to its end"
	while IFS= read -r line; do
		case $line in 'ok '*) ok 0 "$kind: ${line#ok }" ;; 'not ok '*) ok 1 "$kind: ${line#not ok }" ;; esac
	done <sdk.out
done
cat >steps.json <<'J'
[{"say":"First I write it.","tool":"write_file","args":{"file_path":"/workspace/hello.py","content":"print(6*7)\n"}},
 {"say":"Now I run it.","tool":"execute","args":{"command":"python3 /workspace/hello.py"}},
 {"text":"It has printed 42."}]
J
python3 "$here/inside/model.py" steps.json log >port 2>model.err &
model=$!
trap 'kill $model 2>/dev/null; end_all' EXIT
wait_for 30 test -s port
ANTHROPIC_API_KEY=sk-REAL-7731 ANTHROPIC_BASE_URL=http://127.0.0.1:$(cat port) timeout 150 "$sg" serve daytona --models -- \
	"$py" "$here/serve/deep.py" >said 2>"$t/out" </dev/null
is "$?:$(cat said)" '0:It has printed 42.' 'the well-known example of deepagents, unchanged'
file=$(ls -t "$HOME"/.local/share/sandglass/sessions/*.glass | head -1)
is "$("$sg" events "$file" --json | python3 -c '
import json, sys
for e in map(json.loads, sys.stdin):
    b = e["body"]
    if e["kind"] == "model.reply": print("model:", b["text"])
    elif e["kind"] == "tool.call": print("calls", b["name"])
    elif e["kind"] == "action.requested" and b["kind"] == "write": print("writes", b["path"])
    elif e["kind"] == "action.requested" and b["kind"] == "exec" and "hello.py" in json.dumps(b["argv"]): print("runs", b["argv"][-1])
    elif e["kind"] == "output" and "42" in str(b.get("data", "")): print("box:", b["data"].strip())
    elif e["kind"] == "tool.end": print("returns")
    elif e["kind"] == "box.frozen" and b.get("frozen"): print("stops")
' | grep -v '^runs.*base64')" "$(printf '%s\n' 'model: First I write it.' 'calls write_file' 'writes /workspace/hello.py' returns \
	'model: Now I run it.' 'calls execute' 'runs python3 /workspace/hello.py' returns 'model: It has printed 42.' stops)" 'its steps are events, in order'
is "$(grep -c '"good": true' log):$(grep -c '"good": false' log)" 3:0 'the model has seen the real key only'
is "$("$sg" events "$file" --json | grep -c sk-REAL-7731)" 0 'the record has not'
"$sg" verify "$file" >"$t/out" 2>&1
ok $? 'and it verifies'
finish
