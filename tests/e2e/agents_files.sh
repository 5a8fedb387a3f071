#!/usr/bin/env bash
# Imports the real agents' own session files and compares turns, calls, and tokens with counts by jq. Runs the agents
# installed in build/agents (make test-agents), with a scripted model.
. "$(dirname "$0")/lib.sh"
. "$here/exchange/counts.bash"
sg=$SANDGLASS key=sk-REAL-7731 pids=
agents=${AGENTS_DIR:-$(dirname "$sg")/agents}
need node python3 jq
stop_model() { for p in $pids; do kill "$p" 2>/dev/null; done; end_all; }
trap stop_model EXIT
cd "$t" || exit 1
PATH=$agents/node22/node_modules/.bin:$PATH
model() {
	echo '[{"bash":"echo hello > hello.txt; cat hello.txt"},{"bash":"ls /nonexistent"},{"bash":"seq 1 5"},{"text":"all is done"}]' >steps.json
	: >port
	python3 "$here/inside/model.py" steps.json log >port 2>model.err &
	pids="$pids $!"
	wait_for 30 test -s port
	at=http://127.0.0.1:$(cat port)
	rm -rf repo && mkdir repo && git -C repo init -q
}
number() { sed "s/.*\"$1\":\([0-9]*\).*/\1/"; }
compare() { # form, file
	got=$("$sg" import "$2" -F "$1" --json)
	is "$(number turns <<<"$got") $(number calls <<<"$got") $(number tokens_in <<<"$got") $(number tokens_out <<<"$got") $(number gaps <<<"$got")" \
		"$(jq -rs "${count[$1]} | join(\" \")" "$2") 0" "$1: as jq counts"
	is "$(number calls <<<"$got")" 3 "$1: three calls"
}
have() { [ -x "$agents/$1/node_modules/.bin/$1" ] || { skip "$1 is not installed: make test-agents"; return 1; }; }
export no_proxy=127.0.0.1,localhost
if have claude; then
	model
	(cd repo && ANTHROPIC_API_KEY=$key ANTHROPIC_BASE_URL=$at CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 timeout 120 \
		"$agents/claude/node_modules/.bin/claude" -p 'make hello' --model m-1 --allowedTools Bash </dev/null) >out 2>&1
	compare claude "$(find "$HOME/.claude/projects" -name '*.jsonl' | head -1)"
fi
if have codex; then
	model
	mkdir -p "$HOME/.codex"
	printf 'model = "m-1"\nmodel_provider = "here"\n[model_providers.here]\nname = "here"\nbase_url = "%s/v1"\nenv_key = "OPENAI_API_KEY"\nwire_api = "responses"\n' \
		"$at" >"$HOME/.codex/config.toml"
	(cd repo && OPENAI_API_KEY=$key timeout 120 "$agents/codex/node_modules/.bin/codex" exec --json --skip-git-repo-check \
		--dangerously-bypass-approvals-and-sandbox 'make hello' </dev/null) >exec.jsonl 2>out
	compare codex "$(find "$HOME/.codex/sessions" -name '*.jsonl' | head -1)"
	compare codex-exec exec.jsonl
fi
finish
