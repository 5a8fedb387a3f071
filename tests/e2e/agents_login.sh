#!/usr/bin/env bash
# Real agents from npm (AGENTS='claude pi': only these) with their maker's subscription login, in their own interface and a sandbox without a
# network: the prompt is there without a dialog, calls are answered in the overlay, from another terminal, and in the agent's own dialog, and the
# reasons reach its model. The vendor's server sees the token; the sandbox, the recording, and the screen don't.
. "$(dirname "$0")/lib.sh"
need_boxes
need tmux
need zstd
command -v node >/dev/null && need python3
cd "$t" || exit 1
. "$here/inside/real.bash"
unset NO_COLOR TMUX ANTHROPIC_API_KEY OPENAI_API_KEY
mkdir -p vendor
mux() { tmux -S "$t/tmux.$agent" -f /dev/null "$@"; }
trap 'mux kill-server 2>/dev/null; stop_model' EXIT
see() { mux capture-pane -p -t agent >"$t/screen" 2>/dev/null; cat "$t/screen"; }
shows() { see | grep -qE -- "$1"; } # regular expression
press() { mux send-keys -t agent "$@"; }
held() { # the oldest pending approval: state also names the agent's own process
	"$sg" state -S "$id" --json 2>/dev/null | python3 -c 'import json, sys
def of(v):
    if isinstance(v, dict): return v.get("held") or next((f for f in map(of, v.values()) if f), [])
    return []
print(*[h["action"] for h in of(json.load(sys.stdin))][:1])' 2>/dev/null
}
held_now() {
	file=$(ls -t "$HOME"/.local/share/sandglass/sessions/*.glass 2>/dev/null | head -1)
	id=$(basename "$file" .glass | sed 's/.*-/s-/')
	is_held
}
another_is_held() { [ -n "$(held)" ] && [ "$(held)" != "$first" ]; }
in_agent() { PATH=$agents/node22/node_modules/node/bin:$agents/$agent/node_modules/.bin:$PATH mux new-session -d -s agent -x 100 -y 30 "$1 2>run.err; echo status \$?; cat run.err; read x"; }
entries() { events | grep '"kind":"action.requested"' | grep -c "\"cmd\":\"$1\""; }
paints() { events | grep '"kind":"output"' | grep -q '"stream":3'; }
withdrawn() { [ "$(events | grep '"kind":"action.cancel"' | grep -c '"how":"withdraw"')" = 1 ]; }
# Without the check of its tool calls at the proxy its hooks ask, and its own dialog beside them: the first answer wins.
own_dialog() { # what the dialog shows
	local program url=nil
	[ -z "${SANDGLASS_CHATGPT_URL:-}" ] || url="\"$SANDGLASS_CHATGPT_URL\""
	program=$(realpath "$agents/$agent/node_modules/.bin/$agent")
	cat >own.lua <<L
local sg = require "sandglass"
local r, err = sg.inside { agent = "$agent", program = "$program", roots = { "$agents/$agent", "$agents/node22" }, path = "$node22", repo = "repo", tool_gate = false,
  login = { name = "$agent", account_id = "acc-1", url = $url }, terminal = { cols = 100, rows = 30 } }
if not r then sg.exit(1, "%s", err) end
L
	sed 's/default = "boxed",/& p.allow "roots" { kind = "put" },/' ask.lua >roots.lua
	id=$("$sg" run -d --policy roots.lua own.lua 2>"$t/out")
	file=$(ls -t "$HOME"/.local/share/sandglass/sessions/*.glass | head -1)
	wait_for 60 paints # before, the console would open
	in_agent "$sg attach $id"
	wait_for 60 shows "$prompt"
	press 'do the thing'
	wait_for 20 shows 'do the thing'
	press Enter
	wait_for 60 held_now
	first=$(held)
	wait_for 60 shows "$1"
	ok $? "$agent, unchecked: its call is pending approval, and its own dialog stands beside it"
	press Enter
	wait_for 60 another_is_held
	ok $? "$agent, unchecked: approved in its dialog, it continues"
	withdrawn
	ok $? "$agent, unchecked: that withdrew the entry"
	"$sg" deny "$(held)" -m 'said to its hook' -S "$id" >"$t/out" 2>&1
	wait_for 60 another_is_held
	"$sg" deny "$(held)" -m 'said again' -S "$id" >"$t/out" 2>&1
	wait_for 60 shows 'all is done'
	ok $? "$agent, unchecked: denied from another terminal, its dialog closes and its turn ends"
	like "$(tail -1 log)" 'said to its hook.*said again' "$agent, unchecked: its model receives the reasons"
	like "$("$sg" tree "$id")" '\bone\b' "$agent, unchecked: the approved command ran"
	"$sg" stop --now -S "$id" >"$t/out" 2>&1
	wait_for 60 ended
	mux kill-server 2>/dev/null
}
look_shows() { mux capture-pane -p -t look | grep -qE "$1"; }
looked() { ! mux has-session -t look 2>/dev/null; }
ended() { events | grep -q '"kind":"session.end"'; }
vendors_claude() { # its own file, with the token that model.py takes for good
	mkdir -p "$HOME/.claude"
	printf '{"claudeAiOauth":{"accessToken":"%s","refreshToken":"grant-REAL","expiresAt":%d000,"scopes":["user:inference"],"subscriptionType":"max"}}' \
		"$key" $(($(date +%s) + 36000)) >"$HOME/.claude/.credentials.json"
}
vendors_gemini() {
	python3 "$here/inside/codeassist.py" vendor "http://127.0.0.1:$(cat port)" >port2 2>vendor.err &
	pids="$pids $!"
	wait_for 30 test -s port2
	export CODE_ASSIST_ENDPOINT=http://127.0.0.1:$(cat port2)
	mkdir -p "$HOME/.gemini"
	printf token-REAL-g >vendor/valid
	printf '{"access_token":"token-REAL-g","refresh_token":"grant-REAL","token_type":"Bearer","expiry_date":%d000}' $(($(date +%s) + 3500)) >"$HOME/.gemini/oauth_creds.json"
}
chatgpt() {
	python3 "$here/inside/chatgpt.py" vendor "http://127.0.0.1:$(cat port)" >port2 2>vendor.err &
	pids="$pids $!"
	wait_for 30 test -s port2
	export SANDGLASS_CHATGPT_URL=http://127.0.0.1:$(cat port2)
}
vendors_opencode() {
	chatgpt
	mkdir -p "$HOME/.local/share/opencode"
	printf token-REAL-o >vendor/valid
	printf '{"openai":{"type":"oauth","access":"token-REAL-o","refresh":"grant-REAL","expires":%d000,"accountId":"acc-1"}}' $(($(date +%s) + 36000)) \
		>"$HOME/.local/share/opencode/auth.json"
}
vendors_pi() {
	chatgpt
	mkdir -p "$HOME/.pi/agent"
	printf token-REAL-p >vendor/valid
	printf '{"openai-codex":{"type":"oauth","access":"token-REAL-p","refresh":"grant-REAL","expires":%d000,"accountId":"acc-1"}}' $(($(date +%s) + 36000)) \
		>"$HOME/.pi/agent/auth.json"
}
vendors_codex() {
	chatgpt
	mkdir -p "$HOME/.codex"
	python3 "$here/login/codex_auth.py" 36000 grant-REAL vendor/valid >"$HOME/.codex/auth.json"
}
# agent=what its prompt shows
for row in 'claude=❯|for shortcuts' 'codex=Ask Codex to do anything' 'gemini=Type your message' 'opencode=Ask anything' 'pi=0\.0%/'; do
	IFS='=' read -r agent prompt <<<"$row"
	[[ " ${AGENTS:-$agent} " == *" $agent "* ]] || continue
	if [ ! -x "$agents/$agent/node_modules/.bin/$agent" ]; then
		skip "$agent is not installed: make test-agents (installs the agents from npm into $agents)"
		continue
	fi
	model '[{"bash":"touch one"},{"bash":"touch two"},{"bash":"touch three"},{"text":"all is done"}]'
	unset OPENAI_BASE_URL GEMINI_API_KEY GEMINI_BASE_URL SANDGLASS_CHATGPT_URL CODE_ASSIST_ENDPOINT
	: >port2
	: >vendor/requests
	"vendors_$agent"
	"$sg" login add "$agent" --yes >"$t/out" 2>&1
	is $? 0 "$agent: its login is added"
	rm -rf repo && mkdir repo && git -C repo init -q && echo precious >repo/keep.txt && cp "$here/login/find_token.py" repo && git -C repo add . && git -C repo commit -qm first
	in_agent "$sg run --agent $agent -i --repo repo --policy ask.lua"
	wait_for 60 shows "$prompt"
	ok $? "$agent: its prompt is there without a dialog"
	press 'do the thing'
	wait_for 20 shows 'do the thing'
	press Enter
	wait_for 60 held_now
	ok $? "$agent: its call is pending approval"
	first=$(held)
	press 'C-\'
	wait_for 20 shows "HELD 1: #$first"
	press y
	wait_for 60 another_is_held
	ok $? "$agent: approved in the overlay, it continues without a dialog of its own"
	first=$(held)
	shows 'd detach' || press 'C-\'
	wait_for 20 shows "HELD 1: #$first"
	press n
	wait_for 20 shows 'reason: _'
	press 'said in the overlay'
	press Enter
	wait_for 60 another_is_held
	ok $? "$agent: denied in the overlay, it continues"
	like "$(cat log)" 'said in the overlay' "$agent: its model receives the reason"
	"$sg" deny "$(held)" -m 'said elsewhere' -S "$id" >"$t/out" 2>&1
	wait_for 60 shows 'all is done'
	ok $? "$agent: denied from another terminal, a turn of the subscription ends"
	like "$(cat log)" 'said elsewhere' "$agent: its model receives that reason"
	mux new-session -d -s look -x 100 -y 30 "$sg shell -S $id"
	wait_for 60 look_shows 'cancels it'
	"$sg" approve "$(held)" -S "$id" >"$t/out" 2>&1
	wait_for 60 look_shows '[$#] *$'
	mux send-keys -t look 'python3 find_token.py inside; exit' Enter
	wait_for 120 looked
	ok $? "$agent: a process inside looks for a token"
	python3 "$here/login/find_token.py" -p "$(supervisor "$id")" >found 2>read
	is "$? $(cat found)" '0 ' "$agent: root finds no token in memory, environment, and arguments of its sandbox's processes"
	like "$(cat read)" ' ([3-9]|[1-9][0-9]+) processes, [0-9]{7,} bytes' "$agent: which it has read"
	is "$(entries 'touch one') $(entries 'touch two') $(entries 'touch three')" '1 1 1' "$agent: each call was one entry"
	"$sg" stop --now -S "$id" >"$t/out" 2>&1
	wait_for 60 ended
	ok $? "$agent: stopped, its session ends"
	is "$(cat log vendor/requests | grep -c '"good": true' | sed 's/[1-9].*/some/') $(cat log vendor/requests | grep -c '"good": false')" 'some 0' \
		"$agent: the vendor saw its token with every request"
	[ "$agent" != codex ] || is "$(grep '/responses' vendor/requests | grep -c '"coding": "zstd"' | sed 's/[1-9].*/some/')" some \
		"$agent: and the program's own compressed bytes"
	is "$("$sg" events "$file" --json | grep -c '"kind":"model.reply"' | sed 's/[1-9].*/some/')" some "$agent: the model's answers are recorded"
	[ "$agent" != claude ] || like "$("$sg" search -S "$id" '"Claude Max"')" "^$id" "$agent: search finds the words of its screen"
	"$sg" verify "$file" >"$t/out" 2>&1
	ok $? "$agent: the recording verifies"
	"$sg" tree "$id" -o tree >/dev/null 2>&1
	is "$(cat tree/found)" '' "$agent: a process inside finds none in the processes and files that it can read"
	like "$(cat tree/read)" '[0-9]{7,} bytes' "$agent: which it has read"
	python3 "$here/login/find_token.py" "$XDG_RUNTIME_DIR" "$HOME/.local/state" "$HOME/.local/share/sandglass" >found 2>&1
	ok $? "$agent: none is in the runtime directory, the state, and what sandglass keeps: $(head -3 found)"
	is "$(grep -rlaE "$key|token-REAL|grant-REAL" "$file" tree screen 2>/dev/null | wc -l)" 0 "$agent: no token is in the recording, the files, or on the screen"
	mux kill-server 2>/dev/null
	rm -rf tree
	case $agent in
	claude) own_dialog 'Do you want to proceed' ;;
	opencode) own_dialog 'Allow once' ;;
	esac
done
finish
