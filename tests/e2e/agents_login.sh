#!/usr/bin/env bash
# Real agents from npm with their maker's subscription login, in their own interface and a sandbox without a network: the prompt is there
# without a dialog, one turn ends, the vendor's server sees the token, and the sandbox, the recording, and the screen don't.
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
	if [ ! -x "$agents/$agent/node_modules/.bin/$agent" ]; then
		skip "$agent is not installed: make test-agents (installs the agents from npm into $agents)"
		continue
	fi
	model '[{"text":"all is done"},{"text":"all is done"}]'
	unset OPENAI_BASE_URL GEMINI_API_KEY GEMINI_BASE_URL
	: >port2
	: >vendor/requests
	"vendors_$agent"
	"$sg" login add "$agent" --yes >"$t/out" 2>&1
	is $? 0 "$agent: its login is added"
	rm -rf repo && mkdir repo && git -C repo init -q && echo precious >repo/keep.txt && git -C repo add . && git -C repo commit -qm first
	PATH=$agents/node22/node_modules/node/bin:$agents/$agent/node_modules/.bin:$PATH mux new-session -d -s agent -x 100 -y 30 \
		"$sg run --agent $agent -i --repo repo 2>run.err; echo status \$?; cat run.err; read x"
	wait_for 60 shows "$prompt"
	ok $? "$agent: its prompt is there without a dialog"
	press 'do the thing'
	wait_for 20 shows 'do the thing'
	press Enter
	wait_for 60 shows 'all is done'
	ok $? "$agent: a turn of the subscription ends"
	file=$(ls -t "$HOME"/.local/share/sandglass/sessions/*.glass | head -1)
	id=$(basename "$file" .glass | sed 's/.*-/s-/')
	"$sg" stop --now -S "$id" >"$t/out" 2>&1
	wait_for 60 ended
	ok $? "$agent: stopped, its session ends"
	is "$(cat log vendor/requests | grep -c '"good": true' | sed 's/[1-9].*/some/') $(cat log vendor/requests | grep -c '"good": false')" 'some 0' \
		"$agent: the vendor saw its token with every request"
	[ "$agent" != codex ] || is "$(grep '/responses' vendor/requests | grep -c '"coding": "zstd"' | sed 's/[1-9].*/some/')" some \
		"$agent: and the program's own compressed bytes"
	is "$("$sg" events "$file" --json | grep -c '"kind":"model.reply"' | sed 's/[1-9].*/some/')" some "$agent: the model's answers are recorded"
	"$sg" verify "$file" >"$t/out" 2>&1
	ok $? "$agent: the recording verifies"
	"$sg" tree "$id" -o tree >/dev/null 2>&1
	is "$(grep -rlaE "$key|token-REAL|grant-REAL" "$file" tree screen 2>/dev/null | wc -l)" 0 "$agent: no token is in the recording, the files, or on the screen"
	mux kill-server 2>/dev/null
	rm -rf tree
done
finish
