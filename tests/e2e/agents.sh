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
told() { events | python3 -c 'import json, sys
for e in map(json.loads, sys.stdin):
    if e["kind"] == "agent.told": print(e["body"].get("what") + " | " + e["body"].get("say", ""))'; }
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
	like "$(told)" '^session \| .*new session' "$agent: is spoken with by its protocol"
	like "$(told)" '^call \| completed: ' "$agent: says what it does"
	model '[{"bash":"rm -rf /workspace/keep.txt"},{"text":"then not"}]'
	run $agent "${pair#*=}"
	like "$(events)" '"kind":"proxy.gated"' "$agent: a call that a rule denies is kept from it"
	unlike "$out" 'keep.txt \| ' "$agent: and is never carried out"
	"$sg" verify "$file" >"$t/out" 2>&1
	ok $? "$agent: the record verifies"
done

# --- what they ask by their protocols, with nothing judged at the proxy ---
cat >ask.lua <<'L'
local p = require "sandglass.policy"
return p.rules { default = "boxed", p.ask "touch" { cmd = "touch ..." } }
L
node22=$agents/node22/node_modules/node/bin/node
node22=$([ -x "$node22" ] && dirname "$(realpath "$node22")")
rows='claude|stream|anthropic:m-1|claude|claude
codex|app-server|openai:m-1|codex|codex
opencode|acp|openai-chat:m-1|opencode|opencode
gemini|acp|gemini:gemini-3.1-pro-preview|gemini|gemini
pi|rpc|openai-chat:m-1|pi|pi
claude|acp|anthropic:m-1|claude-acp|claude-agent-acp
codex|acp|openai:m-1|codex-acp|codex-acp
pi|acp|openai-chat:m-1|pi-acp|pi-acp'
row() { # agent|control: sets agent control m folder program; false and a skip if it is not installed
	IFS='|' read -r agent control m folder program < <(grep -F "$1|" <<<"$rows")
	what="$agent by $control" roots=$agents/$folder:$agents/node22 beside=
	program=$(realpath -q "$agents/$folder/node_modules/.bin/$program")
	[ "$1" != 'pi|acp' ] || { beside=$(realpath -q "$agents/pi/node_modules/.bin/pi") roots=$roots:$agents/pi; }
	[ -x "$program" ] && return
	skip "$what is not installed: make test-agents"
	false
}
begin() { # options of real.lua
	rm -rf repo && mkdir repo && git -C repo init -q && echo precious >repo/keep.txt && git -C repo add . && git -C repo commit -qm first
	id=$("$sg" run -d --policy ask.lua "$here/inside/real.lua" -- --agent $agent --control $control --model $m --program "$program" \
		--roots "$roots" --path "$node22" --beside "$beside" --repo "$t/repo" "$@" 'do the thing' </dev/null 2>"$t/out")
	file=$(ls -t "$HOME"/.local/share/sandglass/sessions/*.glass | head -1)
}
held() { "$sg" state -S "$id" --json 2>/dev/null | grep -oE '"action": ?[0-9]+' | head -1 | grep -oE '[0-9]+'; }
is_held() { [ -n "$(held)" ]; }
printed() { events | python3 -c 'import json, sys
for e in map(json.loads, sys.stdin):
    if e["kind"] == "note" and e["body"].get("level") == "print": print(e["body"]["text"])'; }
prints() { printed | grep -q "$1"; }
says() { told | grep -q "$1"; }
ended() { ! "$sg" ls --live 2>/dev/null | grep -q "$id"; }

for one in 'claude|stream' 'codex|app-server' 'opencode|acp' 'gemini|acp' 'claude|acp'; do
	row "$one" || continue
	model '[{"bash":"touch asked"},{"text":"all is done"}]'
	begin
	wait_for 90 is_held
	ok $? "$what: what it asks waits for a person"
	like "$(events | grep '"kind":"action.requested"' | tail -1)" '"options":\["' "$what: with the answers that it offers"
	"$sg" approve "$(held)" -S "$id" >"$t/out" 2>&1
	wait_for 90 ended
	like "$(printed)" '^FILES .*asked' "$what: allowed, it is done"
	model '[{"bash":"touch asked"},{"text":"all is done"}]'
	begin
	wait_for 90 is_held
	"$sg" deny "$(held)" -m 'not today' -S "$id" >"$t/out" 2>&1
	wait_for 90 ended
	like "$(told)" '^permit \| refused' "$what: refused, that is told"
	unlike "$(printed)" '^FILES .*asked' "$what: and it is not done"
	like "$(cat log)" 'not today|rejected|denied|refused|cancel' "$what: its model hears of it"
	"$sg" verify "$file" >"$t/out" 2>&1
	ok $? "$what: the record verifies"
done
if row 'claude|stream'; then
	model '[{"bash":"touch asked"},{"text":"all is done"}]'
	begin
	wait_for 90 is_held
	"$sg" approve "$(held)" --cmd 'touch instead' -S "$id" >"$t/out" 2>&1
	wait_for 90 ended
	like "$(printed)" '^FILES instead keep.txt ' "$what: an edited command is the one that runs"
fi
for one in 'codex|acp' 'pi|acp'; do
	row "$one" || continue
	model '[{"bash":"echo hello > hello.txt"},{"text":"all is done"}]'
	begin --gate
	wait_for 90 ended
	like "$(printed)" 'END ok=true .*text=.*all is done' "$what: works to its end"
	like "$(printed)" '^FILES hello.txt' "$what: its file is in the box"
done

# --- asleep, and woken by a word: the same session, in a new process ---
for one in 'claude|stream' 'codex|app-server' 'pi|rpc' 'opencode|acp'; do
	row "$one" || continue
	model '[{"bash":"echo hello > hello.txt"},{"text":"all is done"}]'
	begin --gate --linger 300s --idle 500ms
	wait_for 90 says 'it sleeps until somebody does'
	ok $? "$what: sleeps when nobody speaks"
	"$sg" say -S "$id" it and what else >"$t/out" 2>&1
	wait_for 90 eval '[ "$(told | grep -c "^turn | end_turn")" = 2 ]'
	ok $? "$what: a word wakes it"
	like "$(told)" '^session \| .*(loaded|resumed) session' "$what: with its own session"
	ok "$(tail -1 log | grep -q 'do the thing.*and what else'; echo $?)" "$what: its model is told what was before"
	"$sg" stop -S "$id" >"$t/out" 2>&1
	wait_for 30 ended
done

# --- without a box, by its hooks ---
cat >hooks.lua <<'L'
local p = require "sandglass.policy"
return p.rules { p.allow "touch" { cmd = "touch ..." }, p.deny "no-rm" { cmd = "rm ...", say = "Nothing is removed here." } }
L
for agent in claude codex; do
	row "$agent|$([ $agent = claude ] && echo stream || echo app-server)" || continue
	model '[{"bash":"touch hello.txt"},{"bash":"rm hello.txt"},{"text":"all is done"}]'
	rm -rf work conf && mkdir work conf
	where=conf/settings.json
	[ $agent = claude ] || where=conf/hooks.json
	"$sg" hook settings $agent 2>/dev/null | sed "s#sandglass hook#$sg hook --policy $t/hooks.lua#" >$where
	printf 'model="m-1"\nmodel_provider="x"\n[model_providers.x]\nname="x"\nbase_url="%s"\nenv_key="OPENAI_API_KEY"\nwire_api="responses"\n' \
		"$OPENAI_BASE_URL" >conf/config.toml
	if [ $agent = claude ]; then
		(cd work && CLAUDE_CONFIG_DIR=$t/conf IS_SANDBOX=1 CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 timeout 60 "$program" -p 'do it' --model m-1) >"$t/out" 2>&1 </dev/null
	else
		(cd work && CODEX_HOME=$t/conf timeout 60 "$program" exec --skip-git-repo-check --dangerously-bypass-approvals-and-sandbox \
			--dangerously-bypass-hook-trust 'do it') >"$t/out" 2>&1 </dev/null
	fi
	file=$(ls -t "$HOME"/.local/share/sandglass/sessions/*.glass | head -1)
	ok "$([ -f work/hello.txt ]; echo $?)" "$agent by its hooks: what is allowed is done, what is denied is not"
	like "$(told)" '^permit \| refused: Bash rm hello.txt' "$agent by its hooks: it is recorded"
	like "$(cat log)" 'Nothing is removed here' "$agent by its hooks: its model hears why"
done
if [ -d "$agents/acp-sdk" ]; then
	is "$(timeout 60 node "$here/inside/honest.mjs" "$agents/acp-sdk" "$here/inside/acp_agent.py" 2>&1 | tail -1)" honest \
		"the small agent of our own tests is one to the protocol's own library"
else
	skip "the protocol's library is not installed: make test-agents"
fi
timeout 30 "$sg" run --agent clod -e x >"$t/out" 2>&1
like "$(cat "$t/out")" "no agent 'clod' \(did you mean 'claude'\?\)" "a misspelt agent: what was probably meant"
is "$(wc -l <"$t/out")" 1 "in one line"
is "$(grep -rlF "$key" "$HOME" "$XDG_RUNTIME_DIR" "$t/repo" 2>/dev/null | wc -l)" 0 "the key is in no file"
finish
