#!/usr/bin/env bash
# Hooks of an agent inside a sandbox: one entry per call, joined with the check of the proxy by the call's id. The first answer wins,
# and a client that gives up withdraws its entry.
. "$(dirname "$0")/lib.sh"
need_boxes
need python3
. "$here/terminal/screen.bash"
. "$here/inside/real.bash"
trap 'for p in $pids; do kill "$p" 2>/dev/null; done; end_all' EXIT
cd "$t" || exit 1
mkdir repo && cp "$here/inside/hooked.py" repo && git -C repo init -q && git -C repo add . && git -C repo commit -qm first
cat >own.lua <<'L'
local hooks = require "sandglass.inside.hooks"
return { program = "/workspace/hooked.py", speak = "anthropic", provider = "anthropic", model = "m-1",
  argv = function(x) return { x.program } end, env = function(x) return { HOOK_URL = x.proxy, HOOK_KEY = x.key } end,
  terminal = { argv = function(x) return { x.program, table.unpack(x.args) } end,
    files = function(x) return { [hooks.path] = hooks.script(x, "codex") } end } }
L
scenario() { # starts it: $s, $file
	s=
	cat >run.lua <<L
local sg = require "sandglass"
sg.inside { agent = "own.lua", repo = "repo", terminal = { args = { "$1" } } }
L
	s=$("$sg" run -d --policy ask.lua run.lua 2>"$t/out" | grep -oE 's-[0-9a-z]+' | head -1)
	[ -n "$s" ] || sed "s/^/# /" "$t/out" "$HOME"/.local/state/sandglass/supervisor.log
	file=$(ls -t "$HOME"/.local/share/sandglass/sessions/*.glass | head -1)
}
held() { "$sg" state -S "$s" --json 2>/dev/null | python3 -c 'import json, sys
def of(v):
    if isinstance(v, dict): return v.get("held") or next((f for f in map(of, v.values()) if f), [])
    return []
print(*[h["action"] for h in of(json.load(sys.stdin))])' 2>/dev/null; }
is_held() { [ -n "$(held)" ]; }
next_held() { [ "$(held)" != "$first" ] && is_held; }
answer() { # command of a pending approval, its options: then waits for the next one, or the end
	first=$(held)
	"$sg" "$1" "$first" -S "$s" "${@:2}" >"$t/out" 2>&1
	wait_for 60 next_or_over
}
next_or_over() { next_held || over; }
over() { "$sg" events "$file" --json 2>/dev/null | grep -q '"kind":"session.end"'; }
heard() { "$sg" cat log --at "$s" 2>/dev/null | python3 -c 'import json, sys
for l in sys.stdin:
    name, answer = json.loads(l)
    if name == sys.argv[1]: print(json.dumps(answer, sort_keys=True))' "$1"; }
asked() { "$sg" events "$file" --json 2>/dev/null | grep '"kind":"action.requested"' | grep -c "\"kind\":\"exec\".*touch $1"; }
withdrawn() { "$sg" events "$file" --json 2>/dev/null | grep '"kind":"action.cancel"' | grep -c '"how":"withdraw"'; }

# --- joined with the proxy ---
model '[{"bash":"touch asked"},{"tool":"Lookup","args":{"command":"x","description":"d"}},{"text":"done"}]'
scenario joined
wait_for 60 is_held
ok $? "the model's call is pending approval"
"$sg" approve "$(held)" -S "$s" >"$t/out" 2>&1
wait_for 60 over
ok $? "approved once, the agent comes to its end"
like "$(heard PreToolUse)" '"permissionDecision": "allow"' "its hook is answered from that approval"
like "$(heard PermissionRequest)" '"behavior": "allow"' "its dialog, too"
is "$(heard 'by script')" '[0, "{}"]' "so is Codex, whose hooks run a script"
is "$(heard 'another command')" '{}' "another command under the same id is not"
is "$(heard 'another tool')" '{}' "nor is another tool"
is "$(heard 'another call')" '{}' "nor is the same command of another call"
is "$(heard question)" '{}' "a question to you is left to the agent's dialog"
is "$(heard 'another key')" '{"status": 403}' "a key that is not this sandbox's is refused"
is "$(asked asked)" 1 "one entry for the call"
like "$(heard 'no command')" '"behavior": "allow"' "a call without a command is joined by its tool and input"
is "$("$sg" events "$file" --json | grep '"kind":"action.requested"' | grep -c '"tool":"Lookup"')" 1 "it has one entry, too"
is "$("$sg" events "$file" --json | grep '"kind":"agent.told"' | grep '"what":"hooks"' | grep -c '"step":"first"')" 1 "the first hook is recorded"

# --- entries of their own ---
scenario asks
wait_for 60 is_held
is "$(held | wc -w)" 1 "two hooks of one call are one entry"
answer approve
answer deny -m 'once only'
answer deny -m 'not today'
answer approve --cmd 'touch other'
for format in codex gemini plain; do
	answer deny -m "not for $format"
done
wait_for 60 over
like "$(heard one)" '"behavior": "allow"' "an approval reaches the hook"
is "$(heard 'one again')" "$(heard one)" "and the other hook of the call"
is "$(asked one)" 2 "it is one action, and another call is one of its own"
like "$(heard 'one more')" '"behavior": "deny", "message": ".*once only' "an approval answers for its call only"
like "$(heard 'PermissionRequest t2')" '"behavior": "deny", "message": ".*not today' "a denial has its words"
like "$(heard 'PermissionRequest t3')" '"behavior": "allow", "updatedInput": {"command": "touch other", "description": "d"}' "an edited command runs instead"
like "$(heard 'PreToolUse t4')" '^\[0, .*"permissionDecision\\":\\"deny.*not for codex' "Codex hears a denial as it wants it, by the script of its hooks"
like "$(heard 'no answer')" '^\[2, ' "without an answer its call is refused"
like "$(heard 'BeforeTool t5')" '"decision": "deny", "reason": ".*not for gemini' "Gemini, too"
like "$(heard 'tool_call t6')" '"allowed": false.*not for plain' "and an extension"

# --- answered in the agent's own dialog ---
scenario answered
screen a "$sg" attach "$s"
wait_for 60 is_held
first=$(held)
to a 'type go\r' >/dev/null
wait_for 60 next_held
ok $? "a result withdraws the entry of its call"
to a 'type go2\r' >/dev/null
wait_for 60 over
ok $? "so does a model call that holds the result"
is "$(withdrawn)" 2 "both are recorded as withdrawn"
is "$(heard late)" '{}' "the hook that is still there decides nothing"
is "$("$sg" events "$file" --json | grep '"kind":"tool.end"' | grep -c '"ok":false')" 1 "the result is recorded"
to a end >/dev/null

# --- the agent gives up ---
scenario gives_up
screen b "$sg" attach "$s"
wait_for 60 is_held
to b 'type go\r' >/dev/null
is_withdrawn() { [ "$(withdrawn)" = 1 ]; }
wait_for 60 is_withdrawn
ok $? "a hook that goes away withdraws its entry"
to b 'type bye\r' >/dev/null
wait_for 60 over
to b end >/dev/null

# --- the next model call waits ---
model '[{"text":"done"}]'
scenario waits
screen c "$sg" attach "$s"
wait_for 60 is_held
to c 'type go\r' >/dev/null
waits() { "$sg" events "$file" --json 2>/dev/null | grep '"what":"hooks"' | grep -q '"step":"waits"'; }
wait_for 60 waits
ok $? "a model call waits while an entry is open"
is "$(wc -l <log)" 0 "it does not reach the model"
"$sg" deny "$(held)" -m no -S "$s" >"$t/out" 2>&1
wait_for 60 over
ok $? "after the answer the agent comes to its end"
like "$(heard model)" '"text": "done"' "and its model answers"
is "$(wc -l <log)" 1 "once"
to c end >/dev/null
"$sg" verify "$file" >"$t/out" 2>&1
ok $? "the recording verifies"
finish
