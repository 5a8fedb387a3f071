#!/usr/bin/env bash
# The proxy of a sandbox: four dialects with the real key added outside, the refusals, the policy check of tool calls
# before the agent sees them, and the recorded events. The key appears nowhere.
. "$(dirname "$0")/lib.sh"
need_boxes
command -v curl >/dev/null && need python3
sg=$SANDGLASS key=sk-REAL-7731 pids=
stop_model() { for p in $pids; do kill "$p" 2>/dev/null; done; end_all; }
trap stop_model EXIT
export REAL=$key no_proxy=127.0.0.1,localhost
cd "$t" || exit 1
model() { # steps: the model's script; its port is $port
	printf '%s' "$1" >steps.json
	: >port
	: >log
	python3 "$here/inside/model.py" steps.json log >port 2>model.err &
	pids="$pids $!"
	wait_for 30 test -s port
	port=$(cat port)
}
cat >ask.lua <<'L'
local sg = require "sandglass"
local a = sg.args { port = "", gate = true, calls = 0, prompt = "", "cmd" }
local url = "http://127.0.0.1:" .. a.port
local key = sg.secret "REAL"
local px <close> = sg.proxy { name = "llm", tool_gate = a.gate, budget = a.calls > 0 and { calls = a.calls } or nil,
  prompt_host = a.prompt ~= "" and a.prompt or nil, routes = {
  anthropic = { speak = "anthropic", url = url, header = { ["x-api-key"] = key } },
  openai = { speak = "openai", url = url .. "/v1", header = { authorization = { "Bearer ", key } } },
  gemini = { speak = "gemini", url = url, header = { ["x-goog-api-key"] = key } },
} }
local other <close> = sg.proxy { name = "other", routes = { anthropic = { speak = "anthropic", url = url } } }
local box <close> = sg.sandbox { proxies = { px }, env = { K = px.key, U = px.url, OTHER = other.key } }
local r = assert(box:exec(a.cmd))
print(r.out .. r.err)
local u = px:used()
print(("used calls=%d in=%d out=%d refused=%d"):format(u.calls, u["in"], u.out, u.refused))
L
ask() { # options... command: output in $out, record in $file
	timeout 90 "$sg" run --no-tui --no-input ${policy:+--policy "$policy"} ${more:-} ask.lua -- --port "$port" "$@" >"$t/out" 2>&1 </dev/null
	status=$? file=$(ls -t "$HOME"/.local/share/sandglass/sessions/*.glass | head -1)
	out=$(events | python3 -c 'import json, sys
for e in map(json.loads, sys.stdin):
    if e["kind"] == "note": print(e["body"].get("text"))')
}
events() { "$sg" events "$file" --json 2>/dev/null; }
H='-sS -N -m 30 -H content-type:application/json'
anthropic="curl $H \$U/anthropic/v1/messages -H \"x-api-key: \$K\" -d '{\"model\":\"m-1\",\"stream\":true,\"tools\":[{\"name\":\"Bash\"}],\"messages\":[{\"role\":\"user\",\"content\":\"go\"}]}'"
chat="curl $H \$U/openai/v1/chat/completions -H \"Authorization: Bearer \$K\" -d '{\"model\":\"m-1\",\"stream\":true,\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"bash\"}}],\"messages\":[{\"role\":\"user\",\"content\":\"go\"}]}'"
responses="curl $H \$U/openai/v1/responses -H \"Authorization: Bearer \$K\" -d '{\"model\":\"m-1\",\"stream\":true,\"tools\":[{\"type\":\"function\",\"name\":\"exec_command\"}],\"input\":\"go\"}'"
gemini="curl $H \"\$U/gemini/v1beta/models/m-1:streamGenerateContent?alt=sse\" -H \"x-goog-api-key: \$K\" -d '{\"tools\":[{\"functionDeclarations\":[{\"name\":\"run_shell_command\"}]}],\"contents\":[{\"role\":\"user\",\"parts\":[{\"text\":\"go\"}]}]}'"
whole=${anthropic/\"stream\":true,/}

# --- a body of many values ---
model '[{"text":"done"}]'
ask "{ printf '{\"model\":\"m-1\",\"messages\":[0'; head -c 2000000 /dev/zero | sed 's/\\x00\\x00/,0/g'; printf ']}'; } >many
curl $H -o answer -w '%{http_code}' \$U/anthropic/v1/messages -H \"x-api-key: \$K\" --data-binary @many; cat answer"
is "$(grep -oE '^413|too many JSON values' <<<"$out" | xargs) $(wc -c <log)" '413 too many JSON values 0' 'a request with too many JSON values is refused'
like "$(events | grep 'too many JSON')" '"kind":"' 'and recorded'

# --- many of them at once: the memory of all requests has a limit, and is free again when they end ---
model '[{"text":"done","stall":60}]'
ask "{ printf '{\"model\":\"m-1\",\"stream\":true,\"messages\":[{\"role\":\"user\",\"content\":\"go\"}],\"x\":[0'; head -c 970000 /dev/zero | sed 's/\x00\x00/,0/g'; printf ']}'; } >many
post() { exec curl $H -m 80 \$2 \$3 -o body\$1 -w '%{http_code}' \$U/anthropic/v1/messages -H \"x-api-key: \$K\" --data-binary @many >code\$1; }
p=; for i in 1 2 3 4 5; do post \$i & p=\"\$p \$!\"; done
until grep -q 503 code?; do sleep 0.1; done; cat code?; grep -ho 'too much memory' body?; kill \$p; wait
for n in \$(seq 100); do rm -f head; post 6 -D head & until grep -qs HTTP head; do sleep 0.1; done; grep -q ' 200' head && break; wait; sleep 0.1; done; head -1 head; kill \$!"
is "$(grep -oE '503|too much memory|HTTP/1.1 200' <<<"$out" | xargs)" '503 too much memory HTTP/1.1 200' 'one request too many is refused, and finds room when others have ended'
like "$(events | grep 'too much memory')" '"kind":"proxy.refused"' 'and recorded'

# --- four dialects, and the refusals ---
model '[{"bash":"echo hello > hello.txt"},{"text":"done"}]'
ask "$anthropic; $chat; $responses; $gemini; $whole
echo; echo ==refused; curl $H \$U/anthropic/v1/files -H \"x-api-key: \$K\"; curl $H \$U/anthropic/v1/messages -d '{}'
curl $H \$U/anthropic/v1/messages -H 'x-api-key: sk-mine' -d '{}'; curl $H \$U/anthropic/v1/messages -H \"x-api-key: \$OTHER\" -d '{}'
curl $H -m 3 http://127.0.0.1:$port/v1/messages; echo; echo found:\$(env | grep -c sk-REA[L]):\$(cat /proc/[0-9]*/environ 2>/dev/null | grep -c sk-REA[L])"
is $status 0 "an agent's requests pass the proxy"
is "$(printf '%s' "$out" | grep -c 'echo hello > hello.txt\|mand.*echo hello')" 6 "all of them have the call of the tool, whole or in its parts (four streams, one body)"
like "$out" '"type": ?"message_stop"' "Anthropic: to the last event"
like "$out" 'data: \[DONE\]' "Chat: to the last event"
like "$out" 'response.completed' "Responses: to the last event"
like "$out" 'used calls=5 in=6735 out=2055 refused=4' "tokens of four dialects are counted, refusals too"
is "$(grep -c '"good": true' log)" 5 "the provider saw the real key, and nothing of what was refused"
like "$out" 'no path that this proxy serves' "another path is refused"
like "$out" 'no placeholder' "no placeholder: refused"
like "$out" 'placeholder of another sandbox' "the placeholder of another proxy: refused"
like "$out" 'found:0:0' "the key is in no environment of the box"
like "$out" "Couldn.t connect|Failed to connect" "there is no other way out"
is "$(events | grep -c '"kind":"proxy.refused"')" 4 "each refusal is recorded"
is "$(events | grep -c '"kind":"model.reply"')" 5 "each answer is recorded"
is "$(events | grep '"kind":"action.requested"' | grep -c '"cmd":"echo hello > hello.txt"')" 5 "each call of a tool is an action"
"$sg" verify "$file" >"$t/out" 2>&1
ok $? "the record verifies"
ask --no-gate "$anthropic"
is "$(events | grep -c '"kind":"tool.call"')" 1 "without the gate calls are told, not judged"

# --- judged before the agent sees it ---
cat >deny.lua <<'L'
local p = require "sandglass.policy"
return p.rules { default = "boxed", p.deny "no-rm" { cmd = "rm ...", say = "Nothing is removed here." } }
L
policy=$t/deny.lua
model '[{"say":"First.","bash":"rm -rf /workspace"},{"text":"I will not, then."}]'
ask "$anthropic; $chat; $responses; $gemini"
unlike "$out" 'rm -rf|"rm"' "a call that is refused never reaches the agent"
is "$(printf '%s' "$out" | grep -c 'not, then')" 6 "the model was told and asked again, in each dialect; its other answer came"
is "$(grep -c 'Nothing is removed here' log)" 4 "what the rule says stood in the second question"
is "$(printf '%s' "$out" | grep -o '"message_start"' | sort -u | wc -l)" 1 "one head"
is "$(events | grep -c '"kind":"proxy.gated"')" 4 "each is recorded"
model '[{"bash":"rm -rf a"},{"bash":"rm -rf b"},{"bash":"rm -rf c"},{"bash":"rm -rf d"}]'
ask "$anthropic; $whole"
like "$out" 'turn ends here: tool calls were refused 3 times' "three in a row end the turn"
is "$(wc -l <log)" 6 "and nothing more is asked"
unlike "$out" 'rm -rf' "none of them reached the agent"
policy=

# --- limits, errors ---
model '[{"status":529,"times":1,"then":{"text":"done"}}]'
ask --calls 2 "$anthropic; $anthropic; $anthropic"
like "$out" 'overloaded' "a provider's error is passed on as it is"
like "$out" 'budget of this proxy is used up \(calls\)' "what is beyond the limit is refused before it is asked"
is "$(wc -l <log)" 2 "and costs nothing"
model '[{"linger":40,"text":"said to the end"}]'
leaves() { # request; its answer is read before it leaves
	echo "$1 >o & p=\$!; until grep -q $2 o; do sleep 0.1; done; kill \$p; wait; rm o;"
}
ask "$(leaves "$anthropic" message_stop) $(leaves "$responses" response.completed)"
is "$(events | grep '"kind":"model.reply"' | grep -c 'said to the end')" 2 "an agent that leaves at the last event, before the last byte: the answer is recorded"
unlike "$(events | grep '"kind":"model.reply"')" '"incomplete"' "as a whole one"
like "$out" 'used calls=2 in=[1-9]' "and counted"
model '[{"linger":40,"bash":"echo told"},{"text":"done"}]'
ask --no-gate "$(leaves "$anthropic" message_stop)"
is "$(events | grep -c '"kind":"tool.call"')" 1 "one that leaves with a call of a tool: that is told, too"
model '[{"stall":40,"text":"one two three four five six seven eight nine ten"}]'
ask "$(leaves "$anthropic" content_block_delta)"
like "$(events | grep '"kind":"model.reply"')" '"incomplete":true' "one that leaves in the middle: what was said stands there as a part"
cat >nomodel.lua <<'L'
local p = require "sandglass.policy"
return p.rules { default = "boxed", p.deny "no-model" { kind = "model", say = "No model today." } }
L
policy=$t/nomodel.lua
model '[{"text":"done"}]'
ask "$anthropic -w '%{http_code}'; $chat -w '%{http_code}'; $responses -w '%{http_code}'; $gemini -w '%{http_code}'"
is "$(grep -o 'No model today[^}]*}*403' <<<"$out" | wc -l) $(wc -l <log)" '4 0' "a question that a rule denies: an error that nobody asks again after, with the reason, in each dialect"
policy=
model '[{"text":"said when it was recorded"}]'
more="--cassette $t/calls.jsonl --record" ask "$anthropic; $gemini"
kill "${pids##* }"
more="--cassette $t/calls.jsonl" ask "$anthropic; $gemini"
is "$(grep -c 'message_stop"\|"STOP"' <<<"$out")" 2 "answers out of a record, its provider gone: to the last event"
like "$out" 'said when it was recorded' "with the words of then"
# --- who gives up waiting and asks again; a prompt from outside ---
printf 'return require("sandglass.policy").rules { default = "boxed", require("sandglass.policy").ask "model" { kind = "model" } }\n' >hold.lua
model '[{"text":"said once"}]'
id=$("$sg" run -d --policy hold.lua ask.lua -- --port "$port" "${anthropic/-m 30/-m 3}; ${anthropic/-m 30/-m 90}" </dev/null 2>"$t/out")
file=$(echo "$HOME"/.local/share/sandglass/sessions/*-"${id#s-}".glass)
again() { [ "$(events | grep -c '"kind":"model.again"')" = 1 ]; }
wait_for 60 again
ok $? "an agent that gives up waiting for its model and asks the same again: that is told"
is "$(wc -l <log)" 0 "nothing has been asked meanwhile"
"$sg" approve "$("$sg" state -S "$id" --json | grep -oE '"action": ?[0-9]+' | head -1 | grep -oE '[0-9]+')" -S "$id" >"$t/out" 2>&1
ended() { ! "$sg" ls --live 2>/dev/null | grep -q "$id"; }
wait_for 60 ended
is "$(wc -l <log) $(events | grep -c '"kind":"model.call"') $(events | grep -c '"kind":"model.reply"')" '1 1 1' "it is one call: once held, once asked, once answered"
like "$(events | grep '"kind":"note"')" 'message_stop' "and whoever asked last hears it"
echo 'Never publish. (canary-prompt-1)' >prompt.txt
model '[{"text":"done"}]'
ask --prompt prompt.txt "$anthropic; $chat; $responses; $gemini; echo found:\$(grep -rl canary-promp[t] /workspace ~ /tmp /proc/[0-9]*/environ 2>/dev/null | wc -l)"
is "$(grep -c 'Never publish. (canary-prompt-1)' log)" 4 "a prompt that is put on outside reaches the model in each dialect"
like "$out" 'found:0' "and lies nowhere in the box"
unlike "$out" 'canary-prompt-1' "nor is it in the answers"
# --- a token in place of a key ---
model '[{"text":"done"}]'
row() { # auth
	printf 'local c = require "sandglass.config"\nc.models = { gateway = { plugin = "anthropic", url = "http://127.0.0.1:%s", key = "REAL", auth = %s } }\nreturn c\n' \
		"$port" "$1" >conf.lua
}
cat >token.lua <<'L'
local sg = require "sandglass"
local a = sg.args { "cmd" }
local px <close> = sg.proxy { routes = { anthropic = { provider = "gateway" } } }
local box <close> = sg.sandbox { proxies = { px }, env = { K = px.key, U = px.url } }
print(assert(box:exec(a.cmd)).out)
L
row '"Authorization: Bearer {key}"'
timeout 60 "$sg" run --no-tui --no-input --config conf.lua token.lua -- "$anthropic" >"$t/out" 2>&1 </dev/null
like "$(cat log)" '"keys": \[null, "sk-REAL-7731", null\]' "a provider of the configuration may want its credential as a bearer token"
row '"Bearer"'
timeout 60 "$sg" run --no-tui --no-input --config conf.lua token.lua -- "$anthropic" >"$t/out" 2>&1 </dev/null
like "$(cat "$t/out")" 'models.gateway.auth: expected a line like "Authorization: Bearer \{key\}"' "a line without a key is an error"

cat >env.lua <<'L'
local sg = require "sandglass"
sg.sandbox { env = { TOKEN = sg.secret "REAL" } }
L
timeout 60 "$sg" run --no-tui env.lua >"$t/out" 2>&1 </dev/null
like "$(cat "$t/out")" 'make a route for REAL' "a secret in a box's environment is an error that names the way"

# --- the key is nowhere ---
is "$(grep -rlF "$key" "$HOME" "$XDG_RUNTIME_DIR" 2>/dev/null | wc -l)" 0 "no file of ours holds the key"
for f in "$HOME"/.local/share/sandglass/sessions/*.glass; do
	"$sg" events "$f" --json 2>/dev/null
	"$sg" replay "$f" --screen 2>/dev/null
done | grep -cF "$key" >"$t/found"
is "$(cat "$t/found")" 0 "nor do events and screens"
finish
