#!/usr/bin/env bash
# The hooks of Gemini CLI, Codex, Copilot CLI, Cursor, and OpenCode: their settings call 'sandglass hook', which reads their events
# and answers in their format.
. "$(dirname "$0")/lib.sh"
need python3 jq
sg=$SANDGLASS
cd "$t" || exit 1
cat >rules.lua <<'L'
local p = require "sandglass.policy"
return p.rules { p.allow "echo" { cmd = "echo ..." }, p.deny "no-rm" { cmd = "rm ...", say = "Nothing is removed here." } }
L
mkdir bin
printf '#!/bin/sh\nexec "%s" "$@" --policy "%s/rules.lua"\n' "$sg" "$t" >bin/sandglass && chmod +x bin/sandglass
session() { "$sg" ls --json | jq -r --arg name "$1" '.. | objects | select(.name == $name) | .id // .session' | head -1; }
results() { "$sg" events "$(session "$1")" --json | jq -r 'select(.kind == "agent.told" and .body.status == "completed") | .body.text'; }
actions() { "$sg" events "$(session "$1")" --json | jq -r 'select(.kind == "action.requested") | .body.kind' | xargs; }
PATH=$t/bin:$PATH python3 "$here/hook/dialect.py" "$sg" >said 2>out
for agent in gemini codex copilot cursor; do
	is "$(grep "^$agent " said | cut -d' ' -f2- | tr '\n' ';')" 'first 0 allow;second 0 deny Nothing is removed here.;killed 2;alone 2;' \
		"$agent: allowed, denied with the rule's text, and blocked when its hook is killed or missing"
	is "$(results $agent)" 'hi there' "$agent: the result of the allowed call is recorded once"
	is "$(actions $agent)" 'exec exec exec' "$agent: its shell calls are commands"
	is "$("$sg" ls --json | jq -c --arg name $agent '.. | objects | select(.name == $name) | [.cost_uusd, .cost_unknown]' | head -1)" '[null,true]' \
		"$agent: its cost is unknown, not 0"
done
if command -v node >/dev/null; then
	"$sg" hook settings opencode >plugin.mjs 2>out
	is "$(PATH=$t/bin:$PATH node "$here/hook/host.mjs" "$t/plugin.mjs" 2>out | tr '\n' ';')" 'allowed;refused by rule;refused not found;' \
		'opencode: its plugin lets a call through, refuses one, and refuses all without sandglass'
	is "$(results opencode)" 'hi there' 'opencode: the result of the allowed call is recorded'
else
	skip 'opencode: no node for its plugin'
fi
for agent in claude codex gemini opencode copilot cursor; do
	"$sg" hook settings $agent >plain 2>places
	"$sg" hook settings $agent --defer >out 2>err && grep -q -- --defer out && echo "$agent $(($(wc -l <err) - $(wc -l <places)))"
done >deferring
is "$(xargs <deferring)" 'claude 0 codex 1 gemini 1 opencode 1 copilot 0 cursor 0' 'settings name the agents whose own settings decide with --defer'
"$sg" hook settings nobody >out 2>&1
is $? 2 'an unknown agent is an error'
finish
