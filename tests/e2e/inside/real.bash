# The real agents of build/agents with a scripted model, for agents.sh and agents_cases.sh. Sourced after lib.sh.
sg=$SANDGLASS key=sk-REAL-7731 pids=
agents=${AGENTS_DIR:-$(dirname "$sg")/agents}
stop_model() { for p in $pids; do kill "$p" 2>/dev/null; done; end_all; }
trap stop_model EXIT
export ANTHROPIC_API_KEY=$key OPENAI_API_KEY=$key GEMINI_API_KEY=$key no_proxy=127.0.0.1,localhost
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
events() { "$sg" events "$file" --json 2>/dev/null; }
told() { events | python3 -c 'import json, sys
for e in map(json.loads, sys.stdin):
    if e["kind"] == "agent.told": print(e["body"].get("what") + " | " + e["body"].get("say", ""))'; }
cat >"$t/ask.lua" <<'L'
local p = require "sandglass.policy"
return p.rules { default = "boxed", p.ask "touch" { cmd = "touch ..." } }
L
node22=$agents/node22/node_modules/node/bin/node
node22=$([ -x "$node22" ] && dirname "$(realpath "$node22")")
rows='claude|stream|anthropic:m-1|claude|claude
opencode|serve|openai-chat:m-1|opencode|opencode
claude|sandbox-agent|anthropic:m-1|sandbox-agent|sandbox-agent|claude-acp/claude-agent-acp
codex|sandbox-agent|openai:m-1|sandbox-agent|sandbox-agent|codex-acp/codex-acp
opencode|sandbox-agent|openai-chat:m-1|sandbox-agent|sandbox-agent|opencode/opencode
codex|app-server|openai:m-1|codex|codex
opencode|acp|openai-chat:m-1|opencode|opencode
gemini|acp|gemini:gemini-3.1-pro-preview|gemini|gemini
pi|rpc|openai-chat:m-1|pi|pi
claude|acp|anthropic:m-1|claude-acp|claude-agent-acp
codex|acp|openai:m-1|codex-acp|codex-acp
pi|acp|openai-chat:m-1|pi-acp|pi-acp|pi/pi'
row() { # agent|control: sets agent control m folder program; false and a skip if it is not installed
	local other
	IFS='|' read -r agent control m folder program other < <(grep -F "$1|" <<<"$rows")
	what="$agent by $control" roots=$agents/$folder:$agents/node22 beside=
	program=$(realpath -q "$agents/$folder/node_modules/.bin/$program")
	[ -z "$other" ] || { beside=$(realpath -q "$agents/${other%%/*}/node_modules/.bin/${other#*/}") roots=$roots:$agents/${other%%/*}; }
	[ -x "$program" ] && [ -z "$other" -o -x "$beside" ] && return
	skip "$what is not installed: make test-agents"
	false
}
begin() { # options of real.lua
	local repo=${work:-repo}
	rm -rf "$repo" && mkdir "$repo" && git -C "$repo" init -q && echo precious >"$repo/keep.txt" && git -C "$repo" add . && git -C "$repo" commit -qm first
	id=$("$sg" run -d ${more:-} --policy "$t/${rules:-ask.lua}" "$here/inside/real.lua" -- --agent $agent --control $control --model $m --program "$program" \
		--roots "$roots" --path "$node22" --beside "$beside" --repo "$t/$repo" "$@" 'do the thing' </dev/null 2>"$t/out")
	file=$(ls -t "$HOME"/.local/share/sandglass/sessions/*.glass | head -1)
}
held() { "$sg" state -S "$id" --json 2>/dev/null | grep -oE '"action": ?[0-9]+' | head -1 | grep -oE '[0-9]+'; }
is_held() { [ -n "$(held)" ]; }
printed() { events | python3 -c 'import json, sys
for e in map(json.loads, sys.stdin):
    if e["kind"] == "note" and e["body"].get("level") == "print": print(e["body"]["text"])'; }
prints() { printed | grep -q "$1"; }
says() { told | grep -q "$1"; }
ran_there() { events | grep '"kind":"proc.exec"' | grep -q "${1// /\",\"}"; }
ended() { ! "$sg" ls --live 2>/dev/null | grep -q "$id"; }
super_pid() { events | grep '"kind":"session.start"' | grep -oE '"pid":[0-9]+' | head -1 | grep -oE '[0-9]+'; }
# The first process of the box in which one with these words runs, below this session's supervisor.
box_of() { # words
	local super first p
	super=$(super_pid)
	for p in $(pgrep -xf "$1"); do
		first=
		while [ "${p:-1}" -gt 1 ] && [ "$p" != "$super" ]; do
			case $(ps -o args= -p "$p") in /run/sandglass/guest*) first=$p ;; esac
			p=$(ps -o ppid= -p "$p" | tr -d ' ')
		done
		[ "$p" = "$super" ] && [ -n "$first" ] && echo "$first" && return
	done
	false
}
