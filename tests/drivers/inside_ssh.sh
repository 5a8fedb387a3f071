#!/usr/bin/env bash
# An agent in a remote sandbox (a real sshd on loopback) over sandbox-agent's HTTP API: its requests, reports, and
# effects come from there. A small HTTP agent of ours replaces sandbox-agent, which make test-agents has.
. "$(dirname "$0")/../e2e/lib.sh"
. "$(dirname "$0")/suite.bash"
need python3
sshd_start || { skip "${no_sshd:-no keys for sshd}"; finish; }
trap 'sshd_stop; end_all' EXIT
sg=$SANDGLASS
mkdir "$t/repo"
cp "$here/../e2e/inside/acp_agent.py" "$here/../e2e/inside/acp_http.py" "$t/repo/"
cd "$t" || exit 1
cat >rules.lua <<'L'
local p = require "sandglass.policy"
return p.rules { default = "boxed", p.allow "far" { kind = "exec" }, p.ask "touch" { cmd = "touch ask*" } }
L
cat >far.lua <<'L'
local sg = require "sandglass"
local a = sg.args { config = "", dir = "", port = 0, program = "" }
local r, err = sg.inside {
  agent = "custom", control = "sandbox-agent", command = { "python3", a.program, tostring(a.port), "word-1" }, port = a.port, token = "word-1",
  backend = "ssh", options = { host = "there", config = a.config, dir = a.dir }, repo = "repo", task = "touch:ask0 write:w say:hello",
}
if not r then sg.exit(err.exit, "ERR %s %s", err.code, err) end
print(("END ok=%s stop=%s text=%s"):format(tostring(r.ok), tostring(r.stop), r.text))
print("FILES " .. r.box:exec("ls; ls -A ~").out:gsub("\n", " "))
L
begin() { # the command of the agent
	id=$("$sg" run -d --policy rules.lua far.lua -- --config "$t/ssh/config" --dir "$t/far" --port $((33000 + RANDOM % 12000)) --program "$1" </dev/null 2>"$t/out")
	file=$(echo "$HOME"/.local/share/sandglass/sessions/*-"${id#s-}".glass)
}
events() { "$sg" events "$file" --json 2>/dev/null; }
held() { "$sg" state -S "$id" --json 2>/dev/null | grep -oE '"(action|id)": ?[0-9]+' | head -1 | grep -oE '[0-9]+'; }
is_held() { [ -n "$(held)" ]; }
ended() { ! "$sg" ls --live 2>/dev/null | grep -q "$id"; }

begin acp_http.py
wait_for 60 is_held
ok $? "what it asks over there waits for a person here"
"$sg" approve "$(held)" -S "$id" >"$t/out" 2>&1
wait_for 60 ended
out=$(events)
like "$out" 'END ok=true stop=end_turn .*prompt 1 done' "an agent in a box on another machine, over sandbox-agent's API: it works to its end"
like "$out" 'FILES acp_agent.py acp_http.py ask0 w \.acp_agent' "allowed, it is done; its files and its home are there"
like "$(grep '"agent.told"' <<<"$out")" 'small 7 over sandbox-agent' "its session is told"
like "$(grep '"agent.told"' <<<"$out")" 'hello' "and what it says"
"$sg" verify "$file" >"$t/out" 2>&1
ok $? "the record verifies"
is "$(ls "$t/far/boxes")" '' "nothing is left there"
finish
