#!/usr/bin/env bash
# Agents inside continue with other models: each fork has the same files, and loads the agent's own session as it was
# there. Uses small agents that speak ACP, stream-json, and Codex's app-server, and a scripted model.
. "$(dirname "$0")/lib.sh"
need_boxes
need python3 jq
. "$here/inside/real.bash"
cd "$t" || exit 1
mkdir repo && cp "$here"/inside/{acp_agent,load_agent}.py repo/
printf 'return require("sandglass.policy").rules { default = "allow" }\n' >any.lua
cat >go.lua <<'L'
local sg = require "sandglass"
local a = sg.args { agent = "custom", control = "acp", program = "", model = "anthropic:m-1", linger = "", terminal = false, "task" }
local r, err = sg.inside {
  agent = a.agent, control = a.control, model = a.model, terminal = a.terminal and {} or nil,
  command = a.terminal and { "cat" } or a.agent == "custom" and { "python3", "/workspace/acp_agent.py" } or nil,
  program = a.agent ~= "custom" and "/workspace/load_agent.py" or nil,
  repo = "repo", task = a.task, linger = a.linger ~= "" and a.linger or nil, tool_gate = false, name = "small",
}
if not r then sg.exit(err.exit, "%s", err) end
L
start() { # arguments of go.lua
	id=$("$sg" run -d --policy any.lua go.lua -- "$@" </dev/null 2>"$t/out")
	file=$(echo "$HOME"/.local/share/sandglass/sessions/*-"${id#s-}".glass)
}
of_told() { events | jq -r "select(.kind == \"agent.told\" and .body.what == \"$1\").seq" | sed -n "$2p"; } # what, which: its event
upto() { "$sg" events "$1" --json | jq -c "select(.seq <= $at)" | sha256sum; }
row() { jq -r "select(.model == \"$1\")$2" forks; } # model, field
asked() { jq -c "select(.body.model == \"$1\").body | [(.messages // .input)[] | .content | if type == \"array\" then .[].type else . end]" log; } # model
sessions() { "$sg" ls --json | wc -l; }

# --- in the middle of a turn, over ACP ---
model '[{"bash":"echo 1 >>one.txt"},{"bash":"echo 2 >>two.txt; cp one.txt $MODEL.txt"},{"text":"all is done"}]'
start model
wait_for 60 ended
at=$(of_told permit 2)
"$sg" --json fork "$id#$at" --model anthropic:m-2,anthropic:m-3 --test 'test "$(cat one.txt two.txt | tr -d "\n")" = 12' >forks 2>"$t/out" </dev/null
is "$?.$(row anthropic:m-2 .outcome).$(row anthropic:m-3 .outcome)" 0.ok.ok 'two models continue in the middle of a turn, and pass the test'
for m in m-2 m-3; do
	f=$(row anthropic:$m .session)
	is "$(upto "$f")" "$(upto "$id")" "$m: the events before are the same"
	is "$(asked $m | head -1)" '["work","tool_use","tool_result"]' "$m: its first call has what came before; no call is repeated"
	is "$("$sg" events "$f" --json | jq -r "select(.seq > $at and .kind == \"agent.told\" and .body.what == \"session\").body.how")" loaded "$m: the agent loaded its session"
	is "$("$sg" cat "$m.txt" --at "$f")" 1 "$m: its command worked on the files from before"
done
"$sg" apply "$(row anthropic:m-3 .session)" >"$t/out" 2>&1
is "$?.$(ls repo | tr '\n' ' ')" '0.acp_agent.py load_agent.py m-3.txt one.txt two.txt ' 'apply takes one'
rm -f repo/*.txt
# a fork with the same model asks whether the agent shall continue, and it has its own session, too
was=$id
id=$("$sg" fork "$was#$at" -d </dev/null 2>"$t/out")
file=$(echo "$HOME"/.local/share/sandglass/sessions/*-"${id#s-}".glass)
asks() { "$sg" state -S "$id" --json 2>/dev/null | jq -r '.. | .ask? // empty' | head -1; }
wait_for 60 eval '[ -n "$(asks)" ]'
"$sg" answer "$(asks)" continue -S "$id" >"$t/out" 2>&1
wait_for 60 ended
is "$(events | jq -r "select(.seq > $at and .kind == \"agent.told\" and .body.what == \"session\").body.how") $("$sg" cat m-1.txt --at "$id")" 'loaded 1' \
	'a fork with the same model: the agent loads its session'
id=$was file=$(echo "$HOME"/.local/share/sandglass/sessions/*-"${was#s-}".glass)

# --- what can't work is refused, and opens nothing ---
before=$(sessions)
refused() { # name, event, models, code, words that its error names...
	fails "$1" "$4" "$sg" fork "$id#$2" --model "$3"
}
done_at=$(events | jq -r 'select(.kind == "agent.told" and .body.status == "completed").seq' | head -1)
refused 'a copy that is older than the work: the event of the copy is named' "$done_at" anthropic:m-2 "2 invalid #$(of_told kept 1)"
refused 'no copy yet: the event before the turn is named' "$(($(of_told prompt 1) + 1))" anthropic:m-2 "2 invalid #$(($(of_told prompt 1) - 1))"
refused 'a model of another provider' "$at" anthropic:m-2,openai:m-9 "2 invalid anthropic:NAME openai:m-9"
start --control print x
wait_for 60 ended
refused 'a protocol that loads no session' "$(($(of_told prompt 1) + 1))" anthropic:m-2 "2 invalid #$(($(of_told prompt 1) - 1))"
model '[{"bash":"head -c 20000000 /dev/urandom >$HOME/big"},{"text":"done"}]'
start model
wait_for 60 ended
is "$(of_told notice 1 | wc -l).$(of_told kept 2).$(($(stat -c %s "$file") >> 20))" 1..0 'a session of 20 MB is not copied into the recording, and an event says so'
start --terminal x
wait_for 60 eval 'events | grep -q "\"state\":\"run\""'
refused 'an agent in its own terminal' "$(events | tail -1 | jq .seq)" anthropic:m-2 '2 invalid terminal'
"$sg" stop --now -S "$id" >"$t/out" 2>&1
is "$(sessions)" $((before + 3)) 'no session was opened'
id=$was file=$(echo "$HOME"/.local/share/sandglass/sessions/*-"${was#s-}".glass)
at=$(($(of_told prompt 1) - 1))
"$sg" --json fork "$id#$at" --model anthropic:m-4 >forks 2>"$t/out" </dev/null
is "$?.$(row anthropic:m-4 .outcome).$(asked m-4 | head -1)" '0.ok.["work"]' 'before its first turn: another model gets the task'

# --- between turns, over the protocols of Claude Code and Codex ---
model '[{"text":"well"}]'
for one in claude:stream:anthropic codex:app-server:openai; do
	IFS=: read -r agent control provider <<<"$one"
	start --agent "$agent" --control "$control" --model "$provider:m-1" --linger 60s one
	wait_for 60 eval 'events | grep -q "\"state\":\"wait\""'
	refused "$agent: nothing to continue while it waits for a message" "$("$sg" events "$id" --json | tail -1 | jq .seq)" "$provider:m-2" "2 invalid #$(($(of_told prompt 1) - 1))"
	"$sg" say -S "$id" small two >"$t/out" 2>&1
	wait_for 60 eval '[ -n "$(of_told turn 2)" ]'
	"$sg" stop -S "$id" >"$t/out" 2>&1
	wait_for 60 ended
	at=$(($(of_told prompt 2) - 1))
	"$sg" --json fork "$id#$at" --model "$provider:m-2" >forks 2>"$t/out" </dev/null
	is "$?.$(asked m-2)" '0.["one","two"]' "$agent: another model gets the next message after the same history"
	f=$(row "$provider:m-2" .session)
	is "$(upto "$f")" "$(upto "$id")" "$agent: the events before are the same"
	: >log
done
finish
