#!/usr/bin/env bash
# The real agents from npm, each in a sandbox without a network, with a scripted model behind the proxy. Each finishes a
# task, never carries out a denied call, and never sees the key. Runs the agents installed in build/agents (make
# test-agents); others are skipped.
. "$(dirname "$0")/lib.sh"
need_boxes
command -v node >/dev/null && need python3
cd "$t" || exit 1
. "$here/inside/real.bash"
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
for one in 'claude|stream' 'codex|app-server' 'opencode|acp' 'opencode|serve' 'gemini|acp' 'claude|acp' 'claude|sandbox-agent' 'opencode|sandbox-agent'; do
	row "$one" || continue
	model '[{"bash":"touch asked"},{"text":"all is done"}]'
	begin
	wait_for 90 is_held
	ok $? "$what: its question waits for a person"
	like "$(events | grep '"kind":"action.requested"' | tail -1)" '"options":\["' "$what: with the answers that it offers"
	"$sg" approve "$(held)" -S "$id" >"$t/out" 2>&1
	wait_for 90 ended
	like "$(printed)" '^FILES .*asked' "$what: allowed, it is done"
	model '[{"bash":"touch asked"},{"text":"all is done"}]'
	begin
	wait_for 90 is_held
	"$sg" deny "$(held)" -m 'not today' -S "$id" >"$t/out" 2>&1
	wait_for 90 ended
	like "$(told)" '^permit \| refused' "$what: refused, and the user learns it"
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
for one in 'codex|acp' 'pi|acp' 'codex|sandbox-agent'; do
	row "$one" || continue
	model '[{"bash":"echo hello > hello.txt"},{"text":"all is done"}]'
	begin --gate
	wait_for 90 ended
	like "$(printed)" 'END ok=true .*text=.*all is done' "$what: works to its end"
	like "$(printed)" '^FILES hello.txt' "$what: its file is in the box"
done

# --- one that asks nothing by its protocol: what its model wants is judged at the proxy ---
if row 'codex|sandbox-agent'; then
	model '[{"bash":"touch asked"},{"text":"all is done"}]'
	begin --gate
	wait_for 90 is_held
	ok $? "$what: what its model wants waits for a person"
	unlike "$(printed)" '^FILES' "$what: and it waits with it"
	"$sg" approve "$(held)" -S "$id" >"$t/out" 2>&1
	wait_for 90 ended
	like "$(printed)" '^FILES .*asked' "$what: allowed, it is done"
	like "$(told)" '^session \| .*codex-acp .* over sandbox-agent' "$what: it is Codex, over HTTP"
	"$sg" verify "$file" >"$t/out" 2>&1
	ok $? "$what: the record verifies"
fi

for one in 'codex|app-server' 'claude|stream'; do
	row "$one" || continue
	model '[{"bash":"touch asked"},{"text":"all is done"}]'
	begin --gate
	wait_for 90 is_held
	"$sg" approve "$(held)" -S "$id" >"$t/out" 2>&1
	wait_for 60 ended
	ok $? "$what, judged at the proxy: who has allowed it is not asked again by the agent"
	like "$(printed)" '^FILES .*asked' "$what: it is done"
	[ -n "$(held)" ] && "$sg" stop -S "$id" >"$t/out" 2>&1
done

# --- another model continues in the middle of a turn, with the agent's own session ---
printf 'return require("sandglass.policy").rules { default = "allow" }\n' >any.lua
for one in 'claude|stream' 'codex|app-server'; do
	row "$one" || continue
	model '[{"bash":"echo 1 >>one.txt"},{"bash":"echo 2 >>two.txt"},{"text":"all is done"}]'
	rules=any.lua begin
	wait_for 90 ended
	at=$(events | python3 -c 'import json, sys
print([e["seq"] for e in map(json.loads, sys.stdin) if e["kind"] == "agent.told" and e["body"].get("what") == "permit"][1])')
	timeout 120 "$sg" --json fork "$id#$at" --model "${m%%:*}:m-2" >"$t/out" 2>&1 </dev/null
	is "$?.$(grep -c '"outcome":"ok"' "$t/out")" 0.1 "$what: fork --model continues"
	file=$(ls -t "$HOME"/.local/share/sandglass/sessions/*.glass | head -1)
	is "$(told | grep -c '^session | .* resumed session')" 1 "$what: with its own session"
	is "$("$sg" cat one.txt --at "$(sed 's/.*"session":"\([^"]*\)".*/\1/' "$t/out")")" 1 "$what: and does nothing again"
done

# --- asleep, and woken by a word: the same session, in a new process ---
for one in 'claude|stream' 'codex|app-server' 'pi|rpc' 'opencode|acp' 'opencode|serve' 'gemini|acp' 'codex|acp' 'claude|sandbox-agent' 'codex|sandbox-agent'; do
	row "$one" || continue
	model '[{"bash":"echo hello > hello.txt"},{"text":"all is done"}]'
	begin --gate --linger 300s --idle 500ms
	wait_for 90 says 'sleeps until your next message'
	ok $? "$what: sleeps when nobody speaks"
	"$sg" say -S "$id" it and what else >"$t/out" 2>&1
	wait_for 90 eval '[ "$(told | grep -c "^turn | end_turn")" = 2 ]'
	ok $? "$what: a word wakes it"
	like "$(told)" '^session \| .*(loaded|resumed) session' "$what: with its own session"
	ok "$(grep -q 'do the thing.*and what else' log; echo $?)" "$what: its model gets the history"
	unlike "$(told | sed -n '/and what else/,$p')" 'I will|all is done ?all is done' "$what: and what was said before is not said again"
	"$sg" stop -S "$id" >"$t/out" 2>&1
	wait_for 30 ended
done

# --- its box killed in the middle of a turn ---
heard_both() { grep -q 'do the thing.*go on please' log; }
for one in 'claude|stream' 'codex|app-server' 'pi|rpc' 'opencode|serve' 'gemini|acp' 'claude|sandbox-agent'; do
	row "$one" || continue
	model '[{"bash":"echo begun > begun; tail -f /dev/null"},{"text":"all is done"}]'
	begin --gate --linger 300s
	wait_for 90 ran_there 'tail -f'
	kill -9 "$(box_of 'tail -f /dev/null')"
	wait_for 60 says '^wake | .*in the middle of its turn'
	ok $? "$what: its box is killed in its turn, which ends with an error"
	like "$(events | grep '"step":"gone"')" '"why":"(interrupted|backend)"' "$what: of a type"
	"$sg" say -S "$id" it go on please >"$t/out" 2>&1
	wait_for 90 heard_both
	ok $? "$what: a word brings back its box; its model gets the history and the word"
	like "$(told)" '^session \| .*(loaded|resumed) session' "$what: with its own session"
	is "$(told | grep -c '^prompt | go on please')" 1 "$what: the word is delivered once"
	"$sg" stop -S "$id" >"$t/out" 2>&1
	wait_for 30 ended
done

# --- a turn that is broken off; words in the middle of one ---
for one in 'claude|stream' 'codex|app-server' 'pi|rpc' 'opencode|acp' 'opencode|serve' 'claude|acp' 'codex|acp' 'claude|sandbox-agent' 'codex|sandbox-agent'; do
	row "$one" || continue
	model '[{"bash":"echo begun > begun; tail -f /dev/null"},{"text":"all is done"}]'
	begin --gate --linger 300s
	wait_for 90 ran_there 'tail -f'
	"$sg" kill it --turn -S "$id" >"$t/out" 2>&1
	wait_for 30 says '^turn | cancelled'
	ok $? "$what: its turn is broken off, and it lives"
	"$sg" say -S "$id" it go on please >"$t/out" 2>&1
	wait_for 60 says '^turn | end_turn'
	ok $? "$what: and takes words again"
	"$sg" stop -S "$id" >"$t/out" 2>&1
	wait_for 30 ended
done
approved_to_its_end() {
	! is_held || "$sg" approve "$(held)" -S "$id" >"$t/out" 2>&1
	ended
}
for one in 'codex|app-server' 'pi|rpc' 'opencode|serve'; do
	row "$one" || continue
	model '[{"bash":"touch asked"},{"text":"all is done"}]'
	begin --gate
	wait_for 90 is_held
	"$sg" say -S "$id" it and mind the gap >"$t/out" 2>&1
	wait_for 30 says '^prompt | and mind the gap'
	wait_for 60 approved_to_its_end # some ask their model anew at once, and so a second time
	ok "$(grep -q 'mind the gap' log; echo $?)" "$what: words in the middle of its turn reach its model in that turn"
	is "$(told | grep -c '^turn | end_turn')" 1 "$what: which is one turn"
done

# --- deepagents: inside a box, and with a box as its sandbox backend ---
if [ -x "$agents/deepagents/bin/python3" ]; then
	agent=deepagents control=acp m=anthropic:m-1 program=$agents/deepagents/bin/python3 roots=$agents/deepagents beside=
	python=$(realpath "$program")
	[[ $python = /usr/bin/* ]] || roots=$roots:${python%/bin/*} # a Python of one's own
	model '[{"bash":"touch asked"},{"text":"all is done"}]'
	begin
	wait_for 90 is_held
	ok $? "deepagents inside: what it asks waits for a person"
	"$sg" approve "$(held)" -S "$id" >"$t/out" 2>&1
	wait_for 90 ended
	like "$(printed)" '^FILES .*asked' "deepagents inside: allowed, it is done"
	like "$(told)" '^session \| .*over ACP' "deepagents inside: it is spoken with over ACP"
	"$sg" verify "$file" >"$t/out" 2>&1
	ok $? "deepagents inside: the record verifies"
	model '[{"bash":"cat keep.txt; echo hello > hello.txt"},{"tool":"write_file","args":{"file_path":"/workspace/notes.txt","content":"one\ntwo\n"}},
		{"tool":"edit_file","args":{"file_path":"/workspace/notes.txt","old_string":"two","new_string":"three"}},
		{"tool":"read_file","args":{"file_path":"/workspace/notes.txt"}},{"bash":"rm keep.txt"},{"text":"all is done"}]'
	rm -rf repo && mkdir repo && git -C repo init -q && echo precious >repo/keep.txt && git -C repo add . && git -C repo commit -qm first
	PYTHONDONTWRITEBYTECODE=1 timeout 90 "$agents/deepagents/bin/python3" "$here/inside/deep.py" "$here/../../plugins/deepagents" "$sg" "$t/repo" \
		"$t/deny.lua" >"$t/out" 2>"$t/deep.err" </dev/null
	ok $? "deepagents with a box as its backend: it works to its end"
	like "$(cat "$t/out")" '^END all is done' "deepagents with a box: its last words"
	like "$(cat "$t/out")" '^NOTES one three' "deepagents with a box: a file written, edited, fetched"
	like "$(cat log)" 'precious' "deepagents with a box: its model sees what the command printed"
	like "$(cat log)" 'Nothing is removed here' "deepagents with a box: a rule refuses, and the model hears why"
	is "$(cat repo/keep.txt; ls repo)" "precious
keep.txt" "deepagents with a box: the repository is untouched"
	file=$(ls -t "$HOME"/.local/share/sandglass/sessions/*.glass | head -1)
	like "$(events | grep '"kind":"action.requested"')" 'echo hello > hello.txt' "deepagents with a box: each command is an action of a session"
	"$sg" verify "$file" >"$t/out" 2>&1
	ok $? "deepagents with a box: the record verifies"
else
	skip "deepagents is not installed: make test-agents"
fi

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
like "$(cat "$t/out")" "unknown agent 'clod'; did you mean 'claude'" "a misspelt agent: what was probably meant"
is "$(grep -c "^sandglass: " "$t/out")" 1 "in one line"
is "$(grep -rlF "$key" "$HOME" "$XDG_RUNTIME_DIR" "$t/repo" 2>/dev/null | wc -l)" 0 "the key is in no file"
finish
