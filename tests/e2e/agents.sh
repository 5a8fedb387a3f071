#!/usr/bin/env bash
# The real agents from npm, each in a box without a network, with a scripted model behind the proxy: a task to its end, a
# call that a rule denies and that none of them ever carries out, and the key nowhere. Those that are installed in
# build/agents (make test-agents); the others are skipped.
. "$(dirname "$0")/lib.sh"
need_boxes
command -v node >/dev/null && command -v python3 >/dev/null || { skip "needs node and python3"; finish; }
sg=$SANDGLASS key=sk-REAL-7731 pids=
agents=${AGENTS_DIR:-$(dirname "$sg")/agents}
stop_model() { for p in $pids; do kill "$p" 2>/dev/null; done; end_all; }
trap stop_model EXIT
export ANTHROPIC_API_KEY=$key OPENAI_API_KEY=$key GEMINI_API_KEY=$key no_proxy=127.0.0.1,localhost
cd "$t" || exit 1
model() { # steps
	printf '%s' "$1" >steps.json
	: >port
	: >log
	python3 "$here/inside/model.py" steps.json log >port 2>model.err &
	pids="$pids $!"
	wait_for 30 test -s port
	export ANTHROPIC_BASE_URL=http://127.0.0.1:$(cat port) OPENAI_BASE_URL=http://127.0.0.1:$(cat port)/v1
	export GEMINI_BASE_URL=http://127.0.0.1:$(cat port)/v1beta
}
cat >deny.lua <<'L'
local p = require "sandglass.policy"
return p.rules { default = "boxed", p.deny "no-rm" { cmd = "rm ...", say = "Nothing is removed here." } }
L
run() { # agent: its output in $out, its status $status, its record $file
	rm -rf repo && mkdir repo && git -C repo init -q && echo precious >repo/keep.txt && git -C repo add . && git -C repo commit -qm first
	PATH=$agents/node22/node_modules/.bin:$agents/$1/node_modules/.bin:$PATH timeout 180 "$sg" run --no-tui --no-input --policy deny.lua \
		--agent "$1" --model "$2" --repo repo -e "do the thing" >"$t/out" 2>&1 </dev/null
	status=$? file=$(ls -t "$HOME"/.local/share/sandglass/sessions/*.glass | head -1)
	out=$(cat "$t/out")
}
events() { "$sg" events "$file" --json 2>/dev/null; }
for pair in claude=anthropic:m-1 codex=openai:m-1 opencode=openai-chat:m-1 gemini=gemini:gemini-3.1-pro-preview pi=openai-chat:m-1; do
	agent=${pair%%=*}
	if [ ! -x "$agents/$agent/node_modules/.bin/$agent" ]; then
		skip "$agent is not installed: make test-agents (installs the agents from npm into $agents)"
		continue
	fi
	model '[{"bash":"echo hello > hello.txt"},{"text":"all is done"}]'
	run $agent "${pair#*=}"
	like "$(events | grep '"kind":"agent.end"')" '"ok":true' "$agent: works to its end"
	like "$out" 'hello.txt' "$agent: its file is in the box"
	like "$(events | grep '"kind":"action.requested"')" '"cmd":"echo hello > hello.txt"' "$agent: its call was judged as the command that it is"
	is "$(grep -c '"good": false' log)" 0 "$agent: the model saw the real key only"
	like "$(events | grep '"kind":"model.reply"')" '"in":1347,"out":411' "$agent: tokens are counted"
	model '[{"bash":"rm -rf /workspace/keep.txt"},{"text":"then not"}]'
	run $agent "${pair#*=}"
	like "$(events)" '"kind":"proxy.gated"' "$agent: a call that a rule denies is kept from it"
	unlike "$out" 'keep.txt \| ' "$agent: and is never carried out"
	"$sg" verify "$file" >"$t/out" 2>&1
	ok $? "$agent: the record verifies"
done
timeout 30 "$sg" run --agent clod -e x >"$t/out" 2>&1
like "$(cat "$t/out")" "no agent 'clod' \(did you mean 'claude'\?\)" "a misspelt agent: what was probably meant"
is "$(wc -l <"$t/out")" 1 "in one line"
is "$(grep -rlF "$key" "$HOME" "$XDG_RUNTIME_DIR" "$t/repo" 2>/dev/null | wc -l)" 0 "the key is in no file"
finish
