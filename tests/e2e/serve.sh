#!/usr/bin/env bash
# `sandglass serve`: the APIs of Daytona and E2B over our sandboxes, tested by hand and by the vendors' own SDKs.
. "$(dirname "$0")/lib.sh"
need_boxes
sg=$SANDGLASS
cd "$t" || exit 1
npm=$(dirname "$sg")/npm
cat >rules.lua <<'L'
local p = require "sandglass.policy"
return p.rules { default = "allow", p.deny "no-rm" { cmd = "rm -rf ...", say = "Nothing is removed here." }, p.ask "held" { cmd = "touch HELD" } }
L
echo 'return require("sandglass.policy").rules { default = "allow" }' >allow.lua
serving() { # kind: in the background; $url, $key, $session
	rm -f said
	"$sg" serve "$1" --json --policy rules.lua >said 2>"$t/out" </dev/null &
	server=$!
	wait_for 20 test -s said
	url=$(sed 's/.*"url":"\([^"]*\)".*/\1/' said) key=$(sed 's/.*_API_KEY":"\([^"]*\)".*/\1/' said) session=$(sed 's/.*"session":"\([^"]*\)".*/\1/' said)
}
over() { kill "$server"; wait "$server" 2>/dev/null; wait_for 20 ended; }
ended() { ! "$sg" ls --live | grep -q "$session"; }
ask() { # method, path, curl's words...: body and "status" in a line of its own
	local m=$1 p=$2
	shift 2
	curl -s -m 60 -w '\n%{http_code}' -X "$m" -H "Authorization: Bearer $key" "$url$p" "$@"
}
json() { ask "$1" "$2" -H 'Content-Type: application/json' -d "$3"; }
events() { "$sg" events "$session" --json; }

serving daytona
like "$key:$session" '^dtn_[0-9a-f]{40}:s-' 'the start says where, with which key, and the session'
is "$(curl -s -o said2 -w '%{http_code}' "$url/api/sandbox")" 401 'without the key: 401'
like "$(cat said2)" '"message":"wrong key' 'and why, as JSON'
is "$(curl -s -o said2 -w '%{http_code}' -H "Authorization: Bearer dtn_0000" "$url/api/sandbox")" 401 'another key: 401'
is "$(curl -s -o said2 -w '%{http_code}' -H "Authorization: Bearer $key" -H 'Host: evil.example' "$url/api/sandbox")" 403 'a foreign host name that leads here'
is "$(curl -s -o said2 -w '%{http_code}' -H "Authorization: Bearer $key" -H 'Origin: http://evil.example' "$url/api/sandbox")" 403 'a page of the web'
id=$(json POST /api/sandbox '{"name":"first","labels":{"a":"b"},"env":{"GIVEN":"to it"}}' | sed 's/.*"id":"\([^"]*\)".*/\1/;q')
like "$(json POST "/toolbox/$id/process/execute" '{"command":"echo $GIVEN; echo err >&2; exit 3"}')" '"exitCode":3,.*to it' 'a command runs in the box with its environment'
like "$(json POST "/toolbox/$id/process/execute" '{"command":"rm -rf /workspace/x"}')" '"exitCode":126.*Nothing is removed here' 'one that a rule denies has run with 126 and says why'
like "$(json POST "/toolbox/$id/process/execute" '{"command":"sleep 30","timeout":1}' | tail -1)" '^408$' 'one that takes too long: 408'
like "$(ask GET "/toolbox/$id/nothing")" '"message":"sandglass serves no GET .*"statusCode":404' 'an unserved path: 404 with a clear message'
like "$(events)" 'daytona: GET .*/nothing is not served' 'and it is in the record'
for what in lsp/start computeruse/mouse/click; do
	like "$(json POST "/toolbox/$id/$what" '{}')" '"code":"NOT_OFFERED".*"message":"sandglass offers no (language servers|computer use).*"statusCode":501' "what boxes have not is refused by its name: $what"
done
like "$(ask GET "/toolbox/$id/process/execute" | tail -1)" '^405$' 'a wrong method: 405'
like "$(json POST "/toolbox/$id/process/execute" 'no json')" 'not a JSON object' 'a wrong body: 400'
like "$(ask GET "/toolbox/none/files?path=/")" "sandbox 'none' not found" 'a box that is not there'
like "$(ask GET "/toolbox/$id/files/download?path=/workspace/none" | tail -1)" '^404$' 'a file that is not there: 404'
json POST "/toolbox/$id/process/execute" '{"command":"printf foo.foo >one; printf none >two"}' >"$t/out"
is "$(json POST "/toolbox/$id/files/replace" '{"files":["/workspace/one","/workspace/two","/workspace/gone"],"pattern":"foo","newValue":"%1&"}' | head -1 |
	jq -c 'map(.success)')" '[true,true,false]' 'text is replaced in files; the one that is not there has its own error'
json POST "/toolbox/$id/files/replace" '{"files":["/workspace/one"],"pattern":".","newValue":"-"}' >"$t/out"
like "$(json POST "/toolbox/$id/process/execute" '{"command":"cat one two"}')" '"result":"%1&-%1&none"' 'as it is written: no pattern, in every place'
is "$(json POST "/toolbox/$id/files/replace" '{"files":["/workspace/one"],"pattern":"","newValue":"-"}' | tail -1)" 400 'an empty text is refused'
json POST "/toolbox/$id/process/execute" '{"command":"rm one two"}' >"$t/out"
json POST "/toolbox/$id/process/execute" '{"command":"touch HELD"}' >held.out &
held() { "$sg" state -S "$session" --json | grep -q HELD; }
wait_for 20 held
ok $? 'what the policy asks about waits for a person'
"$sg" approve -S "$session" "$("$sg" state -S "$session" --json | grep -oE '"action": ?[0-9]+' | head -1 | grep -oE '[0-9]+')" >"$t/out" 2>&1
wait $!
like "$(cat held.out)" '"exitCode":0' 'and continues after the approval'
json POST "/toolbox/$id/process/execute" '{"command":"git init -q -b main from && cd from && echo one >a && git add a && git -c user.name=n -c user.email=e@x commit -qm first"}' >"$t/out"
git() { json "$1" "/toolbox/$id/git/$2" "$3"; }
is "$(git POST clone '{"url":"/workspace/from","path":"repo","branch":"main"}' | tail -1)" 200 'git: a repository is cloned'
json POST "/toolbox/$id/process/execute" '{"command":"cd repo && git mv a b && echo two >c && echo odd >\"x y\""}' >"$t/out"
git POST add '{"path":"repo","files":["c"]}' >"$t/out"
is "$(ask GET "/toolbox/$id/git/status?path=repo" | head -1 | python3 -c 'import json, sys
v = json.load(sys.stdin)
print(v["currentBranch"], v["upstream"], v["ahead"], [[f["name"], f["staging"], f["worktree"], f["extra"]] for f in v["fileStatus"]])')" \
	"main origin/main 0 [['b', 'Renamed', 'Unmodified', 'a'], ['c', 'Added', 'Unmodified', ''], ['x y', 'Untracked', 'Untracked', '']]" 'git: its state, with a rename'
like "$(git POST commit '{"path":"repo","message":"second","author":"An Author","email":"a@b.c"}')" '"hash":"[0-9a-f]{40}"' 'git: a commit'
like "$(ask GET "/toolbox/$id/git/history?path=repo")" '"author":"An Author".*"message":"second".*"message":"first"' 'git: its history'
git POST branches '{"path":"repo","name":"side"}' >"$t/out"
git POST checkout '{"path":"repo","branch":"side"}' >"$t/out"
like "$(ask GET "/toolbox/$id/git/branches?path=repo")" '"branches":\["main","side"\],"current":"side"' 'git: branches'
like "$(git POST clone '{"url":"https://x.y/z","path":"z","username":"u","password":"p"}')" 'passes no passwords' 'git: a password is not taken'
like "$(git POST checkout '{"path":"repo","branch":"--orphan"}')" "must not begin with '-'" 'git: nor an option for a name'
like "$(git POST clone '{"url":"/workspace/from","path":"z","depth":"x"}' | tr '\n' ' ')" 'depth is to be a whole number.* 400 ?$' 'git: an invalid depth'
like "$(git POST add '{"path":"repo","files":["c",{"a":1}]}' | tr '\n' ' ')" 'files is to be a list of paths.* 400 ?$' 'git: files that are none'
like "$(git POST commit '{"path":"repo","message":[1],"author":"n","email":"e@x"}' | tr '\n' ' ')" 'message is to be a text.* 400 ?$' 'git: an invalid message'
unset -f git
head -c 3000000 /dev/urandom >big
ask POST "/toolbox/$id/files/upload-v2?path=/workspace/big" -F "file=@big" >"$t/out"
curl -s -H "Authorization: Bearer $key" "$url/toolbox/$id/files/download?path=/workspace/big" | cmp - big
ok $? '3 MB of any bytes go in and come out'
is "$(ask GET "/toolbox/$id/process/pty/create-connect?id=x" | tail -1)" 426 'a terminal is asked for as a WebSocket'
is "$(ask POST "/api/sandbox/$id/autostop/-1" | tail -1)" 400 'an invalid time'
state() { ask GET "/api/sandbox/$id" | sed -n 's/.*"state":"\([a-z]*\)".*/\1/p'; }
is_in() { [ "$(state)" = "$1" ]; }
ask POST "/api/sandbox/$id/autostop/0.01" >"$t/out"
wait_for 20 is_in stopped
ok $? 'a sandbox that nobody uses is stopped when its time is over'
like "$(json POST "/toolbox/$id/process/execute" '{"command":"true"}' | tr '\n' ' ')" 'the sandbox is stopped; start it first.* 409 ?$' 'then the error asks for a start'
like "$(ask GET "/toolbox/$id/files?path=/workspace" | tail -1)" '^409$' 'for its files as well'
ask POST "/api/sandbox/$id/autostop/0" >"$t/out"
ask POST "/api/sandbox/$id/start" >"$t/out"
like "$(json POST "/toolbox/$id/process/execute" '{"command":"echo on"}')" '"exitCode":0' 'and works after the start'
ask POST "/api/sandbox/$id/ttl/0.01" >"$t/out"
like "$(events)" 'was stopped: unused for 0.01 min' 'the record says why'
is_in_none() { [ "$(ask GET "/api/sandbox/$id" | tail -1)" = 404 ]; }
wait_for 20 is_in_none
ok $? 'its time to live ends it'
over
like "$(events)" '"kind":"box.closed"' 'the end closes its boxes'
is "$(events | grep -c "${key#dtn_}")" 0 'the key is not in the record'
"$sg" verify "$session" >"$t/out" 2>&1
ok $? 'which verifies'
serving daytona
is "$(json POST /api/sandbox '{"name":"odd","cpu":"many"}' | tail -1)" 400 'a sandbox that cannot be is refused'
odd_over() { events | grep '"kind":"agent.end' | grep -q '"stop":"error"'; }
wait_for 20 odd_over
ok $? 'and its agent has ended'
json POST /api/sandbox '{"name":"second"}' >"$t/out"
before=$("$sg" ls | wc -l)
"$sg" stop -S "$session" >"$t/out" 2>&1
wait "$server"
is "$?:$("$sg" ls | wc -l)" "1:$before" 'a session that is stopped ends what serves it, and no other one begins'
echo '[{"text":"It answers."}]' >steps.json
python3 "$here/inside/model.py" steps.json log >port 2>model.err &
model=$!
trap 'kill $model 2>/dev/null; end_all' EXIT
wait_for 30 test -s port
cat >ask.sh <<'S'
for k in "$ANTHROPIC_API_KEY" sk-sg-0000; do
	curl -s -m 30 -w ' %{http_code}\n' -H "x-api-key: $k" -H 'content-type: application/json' "$ANTHROPIC_BASE_URL/v1/messages" \
		-d '{"model":"claude-sonnet-4-20250514","max_tokens":9,"messages":[{"role":"user","content":"Hi"}]}'
done
echo "$ANTHROPIC_API_KEY" >model.key
S
ANTHROPIC_API_KEY=sk-REAL-7731 ANTHROPIC_BASE_URL=http://127.0.0.1:$(cat port) "$sg" serve daytona --models -- sh ask.sh >said 2>"$t/out" </dev/null
like "$(tr '\n' ' ' <said)" 'It answers.* 200 .* 403 ' 'models are asked with the key of the start and with no other'
is "$("$sg" events "$(ls -t "$HOME"/.local/share/sandglass/sessions/*.glass | head -1)" --json | grep -c "$(cut -c7- model.key)")" 0 'which is not in the record'
"$sg" serve fly >"$t/out" 2>&1
is "$?:$(grep -c "got 'fly'" "$t/out")" 2:1 'an API that is not served: one line'
"$sg" serve daytona 127.0.0.1:x >"$t/out" 2>&1
is "$?:$(grep -c 'invalid address' "$t/out")" 2:1 'an invalid port: one line'
"$sg" serve daytona -- sh -c 'echo "$DAYTONA_API_URL"; exit 9' >said 2>"$t/out" </dev/null
is "$?:$(grep -c '^http://127.0.0.1:.*/api$' said)" 9:1 'a program gets the variables, and its status is ours'

# --- the vendors' own programs --------------------------------------------------------------------------------------
command -v node >/dev/null || { skip 'no node for the SDKs'; finish; }
for pair in daytona=@daytonaio/sdk e2b=e2b; do
	kind=${pair%%=*} sdk=${pair#*=}
	[ -d "$npm/node_modules/$sdk" ] || { skip "$sdk is not installed (make deps, with npm)"; continue; }
	for of in "$here/../fakes/$kind.sdk.mjs" "$here/serve/$kind.mjs"; do
		# a terminal is a shell whose commands no rule sees: where one denies some, a person is asked
		timeout 100 "$sg" serve "$kind" --policy allow.lua -- sh -c 'at=${DAYTONA_API_URL:-$E2B_API_URL}; exec node "$1" "${at%/api}" "$2"' sh "$of" "$npm" >sdk.out 2>"$t/out" </dev/null
		is $? 0 "$sdk drives it to its end"
		while IFS= read -r line; do
			case $line in 'ok '*) ok 0 "$sdk: ${line#ok }" ;; 'not ok '*) ok 1 "$sdk: ${line#not ok }" ;; esac
		done <sdk.out
	done
	# its recorded actions are repeated, terminals and times included
	like "$("$sg" simulate "$(ls -t "$HOME"/.local/share/sandglass/sessions/*.glass | head -1)" 2>&1)" 'the same: ([0-9]+) of \1 calls equal' "$kind: the session runs again as it did"
done
finish
