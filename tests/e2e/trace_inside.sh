#!/usr/bin/env bash
# Claims and effects of an agent inside a sandbox, side by side: the kernel's events for each tool call, a call without
# a command, and commands without a call. Also a program that waits for approval although no tool call did.
. "$(dirname "$0")/lib.sh"
need_boxes
need python3
sg=$SANDGLASS model=
trap 'kill $model 2>/dev/null; end_all' EXIT
cd "$t" || exit 1
cat >in.lua <<'L'
local sg = require "sandglass"
local a = sg.args { gate = true, hold = "" }
local r, err = sg.inside { agent = "custom", command = { "python3", "/workspace/agent.py" }, task = "go", repo = "repo", tool_gate = a.gate,
  hold_exec = a.hold ~= "" and a.hold or nil }
print(r and r.text or tostring(err))
L
mkdir repo
cp "$here/inside/agent.py" repo/
cat >steps.json <<'J'
[{"bash":"echo 'hello' > hello.txt; (sleep 0.1; ls >/dev/null) & wait"},{"until":"seen","bash":"true only claimed"},{"text":"all is done"}]
J
: >port
python3 "$here/inside/model.py" steps.json log >port 2>model.err &
model=$!
wait_for 30 test -s port
export ANTHROPIC_BASE_URL=http://127.0.0.1:$(cat port) ANTHROPIC_API_KEY=sk-REAL-7731 no_proxy=127.0.0.1,localhost
newest() { ls -t "$HOME"/.local/share/sandglass/sessions/*.glass 2>/dev/null | head -1; }
looked() { # in another session than $file
	[ "$(newest)" != "$file" ] && "$sg" events "$(newest)" --json 2>/dev/null | grep '"kind":"snapshot.taken"' | grep -q '"path":"hello.txt"'
}
file=
run() { # arguments...: its record in $file; the model's second answer comes when the first call's file was looked at
	rm -f seen
	timeout 120 "$sg" run --no-tui --no-input in.lua -- "$@" >"$t/out" 2>&1 </dev/null &
	[ "${1:-}" = --hold ] || wait_for 30 looked
	: >seen
	wait $!
	file=$(newest)
}
ran() { # of the call with this command; "" = of none
	"$sg" claims "$file" --json 2>/dev/null | python3 -c 'import json, sys
for c in map(json.loads, sys.stdin):
    if (sys.argv[1] in c["text"]) if sys.argv[1] else c["kind"] == "beside":
        print(c["verdict"], [e["exec"].split()[0] for e in c["ran"] if e.get("exec")])' "$1"
}
run
is "$(ran hello)" "supported ['bash', 'sleep', 'ls']" 'a call: what ran for it, children too'
is "$(ran claimed)" "unsupported []" 'a false claim: no program ran'
like "$(ran '')" "^seen .*'python3', 'git'\]" "the agent's own programs are listed separately"
out=$("$sg" claims "$file" 2>&1)
is $? 1 'an unsupported claim is a failure'
like "$out" 'net  127.0.0.1 port' 'its connections'
like "$("$sg" events "$file" --json 2>/dev/null | grep '"kind":"action.ended"')" '"permitted":true' 'the row of a call that is judged is what was allowed'
like "$("$sg" events "$file" 2>/dev/null)" '#[0-9]+ allowed' 'and shows the permission, not the end'
is "$("$sg" events "$file" --json 2>/dev/null | grep '"kind":"proc.exec"' | grep -c '"matched":"words"')" 1 'matched by its words'
changed() { # by the first call, seen before the second one has ended
	"$sg" events "$file" --json 2>/dev/null | awk '/"kind":"tool.end"/ { n++ } n == 1' | grep '"kind":"snapshot.taken"' | grep -m1 -oE '"path":"hello.txt"'
}
is "$(changed)" '"path":"hello.txt"' 'what a call has changed is looked at when it has ended'
run --no-gate
is "$(changed)" '"path":"hello.txt"' 'also where calls are only told'
is "$(ran hello)" "supported ['bash', 'sleep', 'ls']" 'the same where calls are only told'
run --hold 'git ...'
like "$("$sg" events "$file" --json 2>/dev/null | grep '"kind":"action.requested"')" '"tool":"execve","argv":\["git","--version"\]' 'a program that no call named waits for a person'
like "$(cat "$t/out")" 'exec DENIED: git --version' 'and is refused without one'
finish
