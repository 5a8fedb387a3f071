#!/usr/bin/env bash
# An agent on the host without a sandbox, through its hooks: checked against policy, pending approval, and recorded, in
# the hooks' own formats.
. "$(dirname "$0")/lib.sh"
need python3
sg=$SANDGLASS
cd "$t" || exit 1
cat >rules.lua <<'L'
local p = require "sandglass.policy"
return p.rules { p.allow "echo" { cmd = "echo ..." }, p.deny "no-rm" { cmd = "rm ...", say = "Nothing is removed here." } }
L
tell() { # session, name, fields..., then options after --
	local session=$1 name=$2 more=$3
	shift 3
	printf '{"hook_event_name":"%s","session_id":"%s","cwd":"%s"%s}' "$name" "$session" "$t" "${more:+,$more}" |
		timeout 60 "$sg" hook --agent claude --policy rules.lua "$@" >"$t/said" 2>"$t/out"
	status=$? said=$(cat "$t/said")
}
bash_call() { # session, id, command, options...
	local session=$1 id=$2 cmd=$3
	shift 3
	tell "$session" PreToolUse "\"tool_name\":\"Bash\",\"tool_use_id\":\"$id\",\"tool_input\":{\"command\":\"$cmd\",\"description\":\"d\"}" "$@"
}
newest() { ls -t "$HOME"/.local/share/sandglass/sessions/*.glass | head -1; }
events() { "$sg" events "$file" --json 2>/dev/null; }
over() { events | grep -q '"kind":"session.end"'; }

bash_call one t1 'echo hi' & # the first events come at once: one of them begins the session
tell one SessionStart '"source":"startup"'
wait
is $status 0 "a session of the agent begins one of ours"
is "$(ls "$HOME"/.local/share/sandglass/sessions/*.glass | wc -l)" 1 "one, also when its hooks begin at once"
file=$(newest) id=s-$(basename "$(newest)" .glass | sed 's/.*-//')
bash_call one t1 'echo hi'
like "$said" '"permissionDecision":"allow"' "what a rule allows is allowed, in the form that hooks read"
tell one PostToolUse '"tool_name":"Bash","tool_use_id":"t1","tool_response":{"stdout":"hi","stderr":""}'
is "$said" '' "a result is taken, and nothing is said"
bash_call one t2 'rm -rf /'
like "$said" '"permissionDecision":"deny","permissionDecisionReason":"Nothing is removed here."' "what a rule denies is denied, with its words"
tell one PreToolUse '"tool_name":"Read","tool_use_id":"t3","tool_input":{"file_path":"/etc/hostname"}'
like "$said" '"permissionDecision":"allow"' "without a rule it may read"
bash_call one t4 'make test' &
held() { "$sg" state -S "$id" --json 2>/dev/null | grep -oE '"action": ?[0-9]+' | head -1 | grep -oE '[0-9]+'; }
is_held() { [ -n "$(held)" ]; }
wait_for 20 is_held
ok $? "all else waits for a person"
"$sg" approve "$(held)" -S "$id" --cmd 'make check' >"$t/out" 2>&1
wait
like "$(cat "$t/said")" '"permissionDecision":"allow".*"updatedInput":\{"command":"make check","description":"d"\}' "who may change the command"
tell one SessionEnd '"reason":"exit"'
wait_for 20 over
ok $? "its end ends ours"
is "$(events | grep -c '"kind":"action.requested"')" 5 "each call is an action"
like "$(events | grep '"kind":"agent.told"' | grep completed)" '"text":"hi"' "its result is told"
"$sg" verify "$file" >"$t/out" 2>&1
ok $? "the record verifies"

bash_call two t1 'make test' --defer
like "$said" '"permissionDecision":"ask"' "--defer: what asks is asked by the agent's own prompt"
file=$(newest)
tell two SessionEnd ''
wait_for 20 over
printf 'no event' | "$sg" hook >"$t/out" 2>&1
is $? 2 "what is no event blocks"
SANDGLASS_SESSIONS=/proc/nowhere bash_call three t1 'echo hi'
is $status 2 "when nothing can be recorded the call is not made"
is "$(grep -c "^sandglass: " "$t/out")" 1 "with one line that says why"
"$sg" hook settings claude 2>/dev/null | python3 -c 'import json, sys; sys.exit(json.load(sys.stdin)["hooks"]["PreToolUse"][0]["hooks"][0]["type"] != "command")'
ok $? "settings are JSON that Claude Code takes"
finish
