#!/usr/bin/env bash
# MCP servers that fail during requests, on the host, over HTTP, and in a sandbox: one clear line, an error value in the
# script, nothing lost, nothing repeated, and a fresh next call. Secrets by name. After resume, rerun, and fork the
# recording answers and no server is started.
. "$(dirname "$0")/lib.sh"
sg=$SANDGLASS
cd "$t" || exit 1
chmod 777 "$t"
last() { ls -t "$HOME"/.local/share/sandglass/sessions/*.glass | head -1; }
cp "$here/mcp/bad_server.py" . && chmod a+r bad_server.py
cat >yes.lua <<'L'
local p = require "sandglass.policy"
return p.rules { default = "allow", p.allow "mcp" { kind = "mcp", tool = "mcp:*" } }
L
# the script: TOOL=TEXT words; one line for each, "TOOL: answer [code] message"
cat >use.lua <<'L'
local sg = require "sandglass"
local a = sg.args { what = "", known = "", url = "", box = "", how = "", log = "-", timeout = "20s" }
local box = a.box ~= "" and assert(sg.sandbox { name = "b", repo = a.box }) or nil
local list, err = sg.mcp {
  name = a.known ~= "" and a.known or "bad", url = a.url ~= "" and a.url or nil, box = box, where = box and "box" or nil,
  command = a.known == "" and a.url == "" and { "python3", (box and "/workspace" or ".") .. "/bad_server.py", a.log, a.how } or nil,
  timeout = a.timeout,
}
if not list then
  print("open: nil [" .. err.code .. "] " .. err.msg)
  return
end
local chat = sg.chat { model = "scripted:turns.lua", tools = list }
local server = list[1].name:match "^mcp__(.-)__"
for word in a.what:gmatch "%S+" do
  local tool, text = word:match "^(%a+)=?(.*)$"
  if tool == "sleep" then
    sg.sleep(text)
  else
    local v, e = chat:call { id = "1", name = "mcp__" .. server .. "__" .. tool, args = { text = text } }
    print(("%s: %s [%s] %s"):format(tool, tostring(v), tostring(e and e.code), e and e.msg or ""))
  end
end
L
echo 'return { { say = "x" } }' >turns.lua
use() { # options of the script; its output is in $t/out
	timeout 100 "$sg" run use.lua --policy yes.lua --no-tui --no-input -- "$@" >"$t/raw" 2>&1 </dev/null
	local status=$?
	sed -n 's/^[^ ]* session event [0-9]* note: //p' "$t/raw" >"$t/out"
	return $status
}
good() { # what happened in the session is whole
	"$sg" verify "$(last)" >"$t/verify" 2>&1
	local rc=$?
	is $rc 0 "$1: the record verifies"
	[ $rc = 0 ] || sed 's/^/# /' "$t/verify"
}

# --- on the host ----------------------------------------------------------------------------------------------------
use --what 'echo=a die echo=b half echo=c long echo=d progress' --log "$t/log"
is $? 0 'a server dies, disconnects, and sends 100 MB: the script continues'
out=$(cat "$t/out")
like "$out" '^die: nil \[backend\] .*exit status 7' 'dies in the middle: an error value that says how'
like "$out" '^half: nil \[backend\] .*ended with exit status 0' 'breaks off in the middle of an answer: the same'
like "$out" '^long: nil \[backend\] .*longer than 67108864 bytes' 'a line of 100 MB: the same'
like "$out" '^echo: you said b' 'each time the next call starts it again' && like "$out" '^echo: you said d' 'and once more'
like "$out" '^progress: three steps' 'progress is not an answer'
is "$(grep -c start log):$(grep -c '^call' log)" 4:8 'nothing was called twice'
[ "$(stat -c %s "$(last)")" -lt 20000000 ]
ok $? 'an oversized answer is not recorded'
good 'on the host'
use --how html --what 'echo=h'
like "$(cat "$t/out")" '^echo: you said h' 'one that says other things first is heard all the same'
for how in long trickle mute; do
	use --how $how --timeout $([ $how = long ] && echo 60s || echo 3s) # 100 MB take their time on a busy machine
	like "$?:$(grep -c '^open: nil \[' "$t/out"):$(grep -c . "$t/out")" '^0:1:' "begins with $how: an error value"
	like "$(cat "$t/out")" "$(case $how in long) echo longer ;; *) echo 'time is up|not answered' ;; esac)" '  that says what'
	out=$(timeout 60 "$sg" mcp test --timeout 4 -- python3 bad_server.py - $how 2>&1 </dev/null)
	is "$(printf '%s\n' "$out" | grep -c .)" 1 "  and mcp test says it in one line"
done
use --what 'trickle echo=e' --timeout 2s
like "$(cat "$t/out")" '^trickle: nil \[timeout\]' 'a byte at times is not an answer: the time limit applies'

# --- secrets and environment ----------------------------------------------------------------------------------------
export BAD_TOKEN=bad-token-0123456789abcdef OTHER_API_KEY=other-key-0123456789abcdef PLAIN_THING=1
"$sg" mcp add bad --env 'TOKEN=$BAD_TOKEN' --env SPOON=wood -- python3 "$t/bad_server.py" "$t/log2" >"$t/out" 2>&1
use --known bad --what 'env leak'
out=$(cat "$t/out")
like "$out" '^env: .*\bHOME\b.*\bPATH\b.*\bSPOON\b.*\bTOKEN\b' 'a server gets the everyday environment and the named variables'
unlike "$(grep ^env <<<"$out")" 'OTHER_API_KEY|BAD_TOKEN|PLAIN_THING' 'and nothing else of ours'
like "$out" '^leak: it is <secret:' 'a secret in its output is removed'
is "$(strings -a "$(last)" | grep -c bad-token-0123)" 0 'and not in the record'
like "$("$sg" events "$(last)" --json)" '"kind": ?"secret.used".*BAD_TOKEN|BAD_TOKEN.*secret.used' 'that it was used is'
out=$("$sg" mcp call leak -- python3 bad_server.py - 2>&1)
like "$out" '\(none\)' 'by hand it gets none that is not named'
unset BAD_TOKEN
use --known bad --what 'echo=x'
like "$(cat "$t/out")" "^open: nil \[[a-z]+\] .*BAD_TOKEN" 'a secret that is not there: one line names it'
good 'secrets'

# --- over HTTP ------------------------------------------------------------------------------------------------------
WANTED=wanted-token-0123456789 python3 "$here/mcp/bad_http.py" "$t/log3" >port 2>server.log </dev/null &
server=$!
wait_for 10 test -s port
at=http://127.0.0.1:$(cat port)
for how in html gateway silent; do
	use --url "$at/$how" --timeout 3s
	like "$?:$(cat "$t/out")" '0:open: nil \[[a-z]+\] ' "$how: an error value"
done
use --url "$at/html"
like "$(cat "$t/out")" 'HTTP 200: an HTML page' 'an HTML page is called so'
out=$("$sg" mcp test --url "$at/html" 2>&1)
is "$?:$(printf '%s\n' "$out" | wc -l)" 1:1 'by hand, too: one line'
for how in cut stream long body page; do
	use --url "$at/$how" --what 'echo=1 echo=2 echo=3'
	out=$(cat "$t/out")
	like "$out" '^echo: nil \[(io|backend)\] .*' "$how in the middle: an error value"
	is "$(grep -c 'you said' <<<"$out"):$(grep -c "call $how" log3)" 2:3 '  the calls round it are answered, and none was made twice'
done
like "$out" 'an HTML page' 'a page in the middle is called so'
use --url "$at/trickle" --what 'echo=1 echo=2 echo=3' --timeout 2s
like "$(cat "$t/out")" '^echo: nil \[timeout\]' 'one that trickles: time is up'
use --url "$at/forget" --what 'echo=1 echo=2 echo=3'
is "$(grep -c 'you said' "$t/out"):$(grep -c 'init forget' log3):$(grep -c 'call forget 2' log3)" 3:2:1 'one that has forgotten us: a new session, the call is made once'
use --url "$at/resume" --what 'echo=1'
like "$(cat "$t/out")" '^echo: at last' 'a stream that breaks off 25 times is taken up each time'
is "$(grep -c 'call resume' log3):$(grep -c 'get resume' log3):$(grep -c 'get resume 9' log3)" 1:25:1 'where it was, not at half an id'
use --url "$at/twice" --what 'echo=1 echo=2'
is "$(grep -c 'you said' "$t/out")" 2 'answers that come twice count once'
"$sg" mcp add keyed --url "$at/key" --header 'Authorization: Bearer $WEB_TOKEN' >"$t/out" 2>&1
WEB_TOKEN=wanted-token-0123456789 use --known keyed --what 'echo=in'
like "$(cat "$t/out")" '^echo: you said in' 'a secret in a header'
is "$(strings -a "$(last)" | grep -c wanted-token)" 0 'is not in the record'
WEB_TOKEN=another-token-0123456789 use --known keyed
like "$(cat "$t/out")" 'HTTP 401' 'a wrong one: the status'
good 'over HTTP'
kill "$server"
wait "$server" 2>/dev/null
use --url "$at/key"
like "$(cat "$t/out")" '^open: nil \[backend\] ' 'nobody there: an error value'

# --- resume, rerun, fork --------------------------------------------------------------------------------------------
: >log4
id=$("$sg" run -d --policy yes.lua use.lua -- --what 'echo=one sleep=4s echo=two' --log "$t/log4" 2>"$t/out")
wait_for 15 grep -q 'call echo one' log4
wait_for 10 sh -c "'$sg' events '$id' --json | grep -q '\"op\": *\"sleep\"'"
pid=$("$sg" events "$id" --json | grep -m1 '"session.start"' | grep -oE '"pid":[0-9]+' | cut -d: -f2)
kill -9 "$pid"
wait_for 10 sh -c "! kill -0 $pid"
timeout 60 "$sg" resume "$id" --no-tui --no-input >"$t/out" 2>&1 </dev/null
is $? 0 'an interrupted session resumes'
is "$(tr '\n' ';' <log4)" 'start;call echo one;start;call echo two;' 'the first answer is out of the record, the server starts for the second'
"$sg" simulate "$id" >"$t/out" 2>&1
is "$?:$(grep -c . log4)" 0:4 'a rerun starts nothing and is the same'
at=$("$sg" events "$id" --json | grep '"call echo two"\|"text":"two"' | head -1 | grep -oE '"seq":[0-9]+' | head -1 | cut -d: -f2)
end=$("$sg" events "$id" --json | grep '"kind":"action.ended"' | tail -1 | grep -oE '"seq":[0-9]+' | head -1 | cut -d: -f2)
timeout 60 "$sg" fork "$id#$end" --name after --no-tui >"$t/out" 2>&1 </dev/null
is "$?:$(grep -c . log4)" 0:4 'a fork after the last call: both answers are out of the record'
first=$("$sg" events "$id" --json | grep '"kind":"action.ended"' | sed -n 2p | grep -oE '"seq":[0-9]+' | head -1 | cut -d: -f2)
timeout 60 "$sg" fork "$id#$first" --name before --no-tui >"$t/out" 2>&1 </dev/null
is "$?:$(tail -2 log4 | tr '\n' ';')" '0:start;call echo two;' 'a fork between them: one start, one call'
is "$(grep -c 'echo one' log4)" 1 'and the first is never made again'
"$sg" verify "$id" >"$t/verify" 2>&1
is $? 0 'the record verifies'

# two servers: a resumed script must not take one for the other
cat >two.lua <<'L'
local sg = require "sandglass"
local a = sg.args { log = "" }
local function open(n) return assert(sg.mcp { name = n, command = { "python3", "bad_server.py", a.log .. n } }) end
local list, other = open "aa", open "bb"
for _, t in ipairs(other) do list[#list + 1] = t end
local chat = sg.chat { model = "scripted:turns.lua", tools = list }
sg.sleep "4s"
print(chat:call { id = "1", name = "mcp__bb__echo", args = { text = "to-b" } })
print(chat:call { id = "2", name = "mcp__aa__echo", args = { text = "to-a" } })
L
id=$("$sg" run -d --policy yes.lua two.lua -- --log "$t/two." 2>"$t/out")
wait_for 15 sh -c "'$sg' events '$id' --json | grep -q '\"op\": *\"sleep\"'"
pid=$("$sg" events "$id" --json | grep -m1 '"session.start"' | grep -oE '"pid":[0-9]+' | cut -d: -f2)
kill -9 "$pid"
wait_for 10 sh -c "! kill -0 $pid"
timeout 60 "$sg" resume "$id" --no-tui --no-input >"$t/out" 2>&1 </dev/null
is "$(grep -c 'call echo to-a' two.aa):$(grep -c 'call echo to-b' two.bb)" 1:1 'after a resume each of two servers gets its own calls'

# --- in a box -------------------------------------------------------------------------------------------------------
if ! boxes || ! "$sg" sandbox exec -- python3 -c 1 >/dev/null 2>&1; then
	skip 'no box with python3 here'
	finish
fi
mkdir repo && cp bad_server.py repo && git -C repo init -q && git -C repo add . && git -C repo commit -qm one && chmod -R a+rX repo
use --box repo --what 'echo=a env die echo=b half echo=c long echo=d' --log /workspace/log
out=$(cat "$t/out")
is "$(grep -c '^echo: you said' <<<"$out")" 4 'a server in a box'
unlike "$out" 'OTHER_API_KEY|PLAIN_THING' 'gets nothing of our environment'
like "$out" '^die: nil \[backend\] ' 'dies in the middle: an error value'
like "$out" '^half: nil \[backend\] ' 'breaks off in the middle: an error value'
like "$out" '^long: nil \[backend\] .*longer than' '100 MB in a line: an error value'
ev=$("$sg" events "$(last)" --json)
like "$(grep '"kind":"action.requested"' <<<"$ev" | head -1)" 'bad_server.py' 'its start is an action of the box'
like "$ev" '"tool": ?"mcp:bad:echo"' 'its calls are actions of kind mcp'
good 'in a box'
for how in long trickle mute; do
	use --box repo --how $how --timeout 3s
	like "$(cat "$t/out")" '^open: nil \[(timeout|backend)\] ' "in a box, begins with $how: an error value"
done
"$sg" mcp add inside --where box -- python3 /workspace/bad_server.py /workspace/log5 >"$t/out" 2>&1
"$sg" mcp test inside >"$t/out" 2>&1
is "$?:$(grep -c '^sandglass: ' "$t/out")" 2:1 'a server that is for a box is not started on the host, not even to look at it'
use --known inside --box repo --what 'echo=by-name'
like "$(cat "$t/out")" '^echo: you said by-name' 'a script uses it by its name'
cat >secret.lua <<'L'
local sg = require "sandglass"
local box = assert(sg.sandbox { repo = "repo" })
local list, err = sg.mcp { name = "bad", command = { "python3", "bad_server.py", "-" }, box = box, where = "box",
  env = { TOKEN = sg.secret "OTHER_API_KEY" } }
print(list and "open" or err.code, err and err.msg)
L
timeout 60 "$sg" run secret.lua --policy yes.lua --no-tui --no-input >"$t/out" 2>&1 </dev/null
like "$(cat "$t/out")" 'script.*have secrets' 'no secret goes into a box'
finish
