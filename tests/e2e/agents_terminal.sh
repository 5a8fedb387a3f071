#!/usr/bin/env bash
# The real agents from npm (AGENTS='claude pi': only these) in their own interface, each in a sandbox without a network, with a scripted model
# behind the proxy: the prompt is there without a dialog, one call is approved over the interface and one denied from another terminal, and the
# key is nowhere.
. "$(dirname "$0")/lib.sh"
need_boxes
need tmux
command -v node >/dev/null && need python3
cd "$t" || exit 1
. "$here/inside/real.bash"
unset NO_COLOR TMUX
held() { # the oldest pending approval: state also names the agent's own process
	"$sg" state -S "$id" --json 2>/dev/null | python3 -c 'import json, sys
def of(v):
    if isinstance(v, dict): return v.get("held") or next((f for f in map(of, v.values()) if f), [])
    return []
print(*[h["action"] for h in of(json.load(sys.stdin))][:1])' 2>/dev/null
}
mux() { tmux -S "$t/tmux.$agent" -f /dev/null "$@"; }
trap 'mux kill-server 2>/dev/null; stop_model' EXIT
agent=none
see() { mux capture-pane -p -t agent >"$t/screen" 2>/dev/null; cat "$t/screen"; }
shows() { see | grep -qE -- "$1"; } # regular expression
press() { mux send-keys -t agent "$@"; }
held_now() {
	id=$(basename "$(ls -t "$HOME"/.local/share/sandglass/sessions/*.glass 2>/dev/null | head -1)" .glass | sed 's/.*-/s-/')
	is_held
}
ran() { [ -n "$(files)" ]; }
files() { "$sg" tree "$id" 2>/dev/null | grep -oE '\basked\b'; }
another_is_held() { [ -n "$(held)" ] && [ "$(held)" != "$first" ]; }
ended() { events | grep -q '"kind":"session.end"'; }

# agent=model=what its prompt shows
for row in 'claude=anthropic:m-1=❯|for shortcuts' 'codex=openai:m-1=Ask Codex to do anything' 'gemini=gemini:gemini-3.1-pro-preview=Type your message' \
	'opencode=openai-chat:m-1=Ask anything' 'pi=openai-chat:m-1=0\.0%/'; do
	IFS='=' read -r agent m prompt <<<"$row"
	[[ " ${AGENTS:-$agent} " == *" $agent "* ]] || continue
	if [ ! -x "$agents/$agent/node_modules/.bin/$agent" ]; then
		skip "$agent is not installed: make test-agents (installs the agents from npm into $agents)"
		continue
	fi
	model '[{"bash":"touch asked"},{"bash":"touch other"},{"text":"all is done"}]'
	rm -rf repo && mkdir repo && git -C repo init -q && echo precious >repo/keep.txt && git -C repo add . && git -C repo commit -qm first
	PATH=$agents/node22/node_modules/node/bin:$agents/$agent/node_modules/.bin:$PATH mux new-session -d -s agent -x 100 -y 30 \
		"$sg run --agent $agent -i --model $m --repo repo --policy ask.lua 2>run.err; echo status \$?; cat run.err; read x"
	wait_for 60 shows "$prompt"
	ok $? "$agent: its prompt is there without a dialog"
	press 'do the thing'
	wait_for 20 shows 'do the thing'
	ok $? "$agent: what is typed is shown"
	press Enter
	wait_for 60 held_now
	ok $? "$agent: its call is pending approval"
	file=$(ls -t "$HOME"/.local/share/sandglass/sessions/*.glass | head -1) first=$(held)
	press 'C-\'
	wait_for 20 shows "HELD 1: #$first"
	ok $? "$agent: the overlay names it"
	press y
	wait_for 60 another_is_held
	ok $? "$agent: approved over its interface, it continues without a dialog of its own"
	is "$(events | grep '"kind":"agent.told"' | grep '"what":"hooks"' | grep -c '"step":"first"')" 1 "$agent: they ask here"
	is "$(events | grep '"kind":"action.requested"' | grep -c 'touch asked')" 1 "$agent: one entry for the call"
	! shows 'd detach' || press q # the next question may have kept the overlay open
	"$sg" deny "$(held)" -m 'not today' -S "$id" >"$t/out" 2>&1
	wait_for 60 shows 'all is done'
	ok $? "$agent: denied from another terminal, its turn ends"
	like "$(cat log)" 'not today' "$agent: its model receives the reason"
	is "$(grep -c '"good": false' log)" 0 "$agent: the model saw the real key only"
	press 'C-\'
	wait_for 20 shows 'd detach'
	press d
	wait_for 20 shows '^status 0'
	ok $? "$agent: d detaches"
	"$sg" stop --now -S "$id" >"$t/out" 2>&1
	wait_for 60 ended
	ran
	ok $? "$agent: the approved command ran"
	unlike "$("$sg" tree "$id" 2>/dev/null)" '\bother\b' "$agent: the denied command did not run"
	"$sg" verify "$file" >"$t/out" 2>&1
	ok $? "$agent: the recording verifies"
	mux kill-server 2>/dev/null
done
is "$(grep -rlF "$key" "$HOME" "$XDG_RUNTIME_DIR" "$t/repo" 2>/dev/null | wc -l)" 0 "the key is in no file"
finish
