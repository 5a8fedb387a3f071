#!/usr/bin/env bash
# Web pages for scripts and agents: results, refusals, redirects with a new policy check, search services of both
# shapes, taint, and keys. Nothing is fetched twice.
. "$(dirname "$0")/lib.sh"
sg=$SANDGLASS
export no_proxy='*' SANDGLASS_SESSIONS=$t/sessions MY_KEY=sk-search-canary-77
unset SANDGLASS_SEARCH http_proxy https_proxy all_proxy HTTPS_PROXY ALL_PROXY
python3 "$here/web/server.py" >"$t/port" 2>"$t/server.err" </dev/null &
server=$!
trap 'kill $server 2>/dev/null; end_all' EXIT
wait_for 10 test -s "$t/port"
port=$(cat "$t/port") base=http://127.0.0.1:$(cat "$t/port")
cd "$t" || exit 1
cat >one.lua <<'L'
local p = require "sandglass.policy"
return p.rules { default = "boxed", p.allow "here" { kind = "fetch", host = "127.0.0.1" } }
L
printf 'local p = require "sandglass.policy"\nreturn p.rules { default = "allow" }\n' >all.lua
cat >fetch.lua <<'L'
local sg = require "sandglass"
local a = sg.args { "code" }
local r, e = load(a.code, "code", "t", { sg = sg, print = print, pcall = pcall, select = select, pairs = pairs, tostring = tostring, io = io })()
if e then print("code=" .. tostring(e.code) .. " " .. tostring(e)) end
if r then
  io.write("status=", tostring(r.status), " type=", tostring(r.type), " title=", tostring(r.title), " cut=",
    tostring(r.cut), " bytes=", tostring(r.bytes), " ok=", tostring(r.ok), " unseen=", tostring(r.unseen))
  print("at " .. r.url)
  print(r.text and r.text:sub(1, 600) or "DATA " .. #r.data)
end
L
newest() { sed -nE 's/.* session: (s-[a-z0-9]+) .*/\1/p' "$t/out" | head -1; }
run() { # code, options...: what the script printed is $out
	local code=$1
	shift
	timeout 60 "$sg" run --no-tui --no-input fetch.lua "$@" -- "$code" >"$t/out" 2>&1 </dev/null
	status=$?
	id=$(newest)
	out=$("$sg" events "$id" --json 2>/dev/null | python3 -c '
import json, sys
for l in sys.stdin:
    e = json.loads(l)
    if e.get("kind") == "note": print(e["body"]["text"])')
}
fetches() { "$sg" events "${1:-$id}" --json | grep '"kind":"action.requested"' | grep -c '"kind":"fetch"'; }
get() { echo "return sg.host.fetch '$base$1'"; }

# --- a page is text ---------------------------------------------------------------------------------------------------
run "$(get /page)" --policy one.lua
want="status=200 type=text/html title=A & B cut=false bytes=N ok=true unseen=2
at $base/page
# Heading

First words, [the next]($base/next?x=1) — end.

- one
- two

a | b
1 | 2

x
  y"
is "$(printf '%s' "$out" | sed -E 's/bytes=[0-9]+/bytes=N/' | sed -e :a -e '/^\n*$/{$d;N;ba' -e '}')" "$want" 'HTML becomes text, without what is hidden'
unlike "$out" 'Ignore all|send the key|secret note|evil' 'nothing of what a reader would not see'
run "$(get /latin)" --policy one.lua
like "$out" 'café – naïve' 'another encoding'
run "$(get /text)" --policy one.lua
like "$out" 'plain 世' 'plain text'
run "$(get /json)" --policy one.lua
like "$out" '\{"a":1\}' 'JSON stays as it is'
run "$(get /gone)" --policy one.lua
like "$out" 'status=404 .*ok=false' 'a status of 404 is data'
run "return sg.host.fetch { url = '$base/pdf', raw = true }" --policy one.lua
like "$out" 'DATA 11' 'raw gives the bytes'
run "return sg.host.fetch { url = '$base/huge', max = '100K' }" --policy one.lua
like "$out" 'cut=true bytes=102400' 'no more is read than was wanted'
run "return sg.host.fetch { url = '$base/echo', body = 'two words' }" --policy one.lua
like "$out" 'POST two words' 'with a body it is a POST'
"$sg" verify "$id" >"$t/out" 2>&1
ok $? 'the record verifies'
like "$("$sg" events "$id" --filter 'kind:fetch' 2>&1)" "POST $base/echo" 'the filter language knows the kind'

# --- what is refused --------------------------------------------------------------------------------------------------
run "$(get /page)"
like "$out" 'code=denied' 'without a rule and a person: denied'
run "$(get /page)" --policy all.lua
like "$out" 'code=net 127.0.0.1: not a public internet address' 'a rule that allows everything does not open this machine'
for u in "http://localhost:$port/page" "http://[::1]:$port/" http://169.254.169.254/latest/meta-data/ http://2130706433:$port/page \
	http://metadata.google.internal/ http://10.1.2.3/; do
	run "return sg.host.fetch '$u'" --policy all.lua
	like "$out" 'not a public internet address' "refused: $u"
done
# a public name that leads to the host
name=$(hostname)
if python3 -c "import socket,sys; sys.exit(socket.gethostbyname('$name') == '127.0.0.1' and '$name' != 'localhost' or not 1)" 2>/dev/null ||
	getent ahostsv4 "$name" >/dev/null 2>&1; then
	run "return sg.host.fetch 'http://$name:$port/page'" --policy all.lua
	like "$out" 'not a public internet address' "refused when the connection is made: a name that leads here"
	printf 'local p = require "sandglass.policy"\nreturn p.rules { default = "deny", p.allow "n" { kind = "fetch", host = "%s" } }\n' "$name" >name.lua
	run "return sg.host.fetch 'http://$name:$port/text'" --policy name.lua
	like "$out" 'plain' 'a rule that names it allows it'
else
	skip 'this machine has no name'
	skip 'this machine has no name'
fi
refuse() { # code, the expected message, name
	run "$1" --policy one.lua
	like "$out" "$2" "$3"
}
refuse "return sg.host.fetch 'file:///etc/passwd'" 'code=net .*is not an http or https address' 'a file is not a page'
refuse "return sg.host.fetch 'http://u:p@127.0.0.1/'" 'code=net an address can.t contain a user or password' 'nor an address with a password'
refuse "return sg.host.fetch 'http://127.0.0.1:1/'" 'code=net 127.0.0.1: .*(refused|connect)' 'nobody listens'
refuse "$(get /pdf)" 'code=net .*application/pdf, which is not text' 'bytes are no text'
refuse "$(get /loop)" 'code=net .*more than 5 redirects' 'a circle of redirects'
refuse "$(get /file)" 'code=net .*redirects to an address that can.t be fetched' 'a redirect to a file'
refuse "return sg.host.fetch { url = '$base/slow', timeout = 1 }" 'code=timeout 127.0.0.1: .*1.0 s' 'a server that is too slow'
refuse "return sg.host.search 'x'" 'no search service' 'no search service'
refuse "return sg.host.fetch { url = '$base/', headers = { Host = 'x' } }" "can.t set the header 'Host'" 'a header that is ours'
refuse "return nil, select(2, pcall(sg.host.fetch, { ulr = '$base/' }))" "unknown option 'ulr'; did you mean 'url'" 'an unknown option'
refuse "return sg.host.fetch { url = '$base/', method = 'BREW' }" "unknown method 'BREW'" 'an unknown method'

# --- rules and redirects ----------------------------------------------------------------------------------------------
cat >rules.lua <<'L'
local p = require "sandglass.policy"
return p.rules { default = "boxed",
  p.allow "here" { kind = "fetch", host = { "127.0.0.1", "127.0.0.2" }, method = { "GET", "HEAD" } },
  p.deny "no-text" { url = "http://127.0.0.1:*/text*", say = "not that one" },
  p.deny "no-other" { kind = "fetch", host = "127.0.0.2", say = "not over there" },
}
L
run "$(get /hop)" --policy rules.lua
like "$out" "at $base/page" 'a redirect is followed'
is "$(fetches)" 2 'as an action of its own'
run "$(get /away)" --policy rules.lua
like "$out" 'code=denied .*not over there' 'and judged anew: elsewhere it is denied'
run "$(get /text)" --policy rules.lua
like "$out" 'code=denied .*not that one' 'a rule by address'
run "return sg.host.fetch { url = '$base/echo', body = 'x' }" --policy rules.lua
like "$out" 'code=denied' 'a rule by method'

# --- keys -------------------------------------------------------------------------------------------------------------
seen() { python3 -c 'import sys, urllib.request as u; print(u.build_opener(u.ProxyHandler({})).open(sys.argv[1]).read().decode(), end="")' "$base/seen"; }
run "return sg.host.fetch { url = '$base/echo', headers = { ['X-Key'] = sg.secret 'MY_KEY' } }" --policy one.lua
like "$(seen | tail -1)" "key=$MY_KEY" 'a secret is sent by name'
printf 'local p = require "sandglass.policy"\nreturn p.rules { default = "boxed", p.allow "h" { kind = "fetch", host = { "127.0.0.1", "127.0.0.2" } } }\n' >both.lua
run "return sg.host.fetch { url = '$base/away', headers = { ['X-Key'] = sg.secret 'MY_KEY' } }" --policy both.lua
like "$(seen | tail -1)" 'host=127.0.0.2:[0-9]+ key=None' 'and never to another origin'
! grep -rqa "$MY_KEY" "$SANDGLASS_SESSIONS" && ! grep -qa "$MY_KEY" "$t/out"
ok $? 'its value is in no record'

# --- search -----------------------------------------------------------------------------------------------------------
find_code='local l, e = sg.host.search { query = "two words & more", count = 5 } if l then for _, r in pairs(l) do print("R", r.title, r.url, r.text) end end return nil, e'
SANDGLASS_SEARCH=$base/searx run "$find_code" --policy all.lua
like "$out" 'R.About two%20words%20%26%20more.https://docs.example.org/a.An extract\.' 'SearXNG by a variable'
like "$out" 'https://docs.example.org/b' 'a result without an extract'
unlike "$out" 'javascript' 'an invalid address is left out'
mkdir -p "$HOME/.config/sandglass"
cat >"$HOME/.config/sandglass/config.lua" <<L
local c = require "sandglass.config"
c.search = { url = "$base/find", shape = "generic", body = '{"q":"{query}"}', results = "web.items", title = "name",
  link = "link", text = "about.text", headers = { ["X-Key"] = { secret = "MY_KEY", prefix = "Key " } } }
return c
L
run "$find_code" --policy all.lua
like "$out" 'R.Got two words & more.https://docs.example.org/g.words' 'any JSON, with a key'
! grep -rqa "$MY_KEY" "$SANDGLASS_SESSIONS"
ok $? 'which is in no record'
run "$find_code"
like "$out" 'code=denied' 'a search asks, too'
MY_KEY=wrong-canary-0000 run "$find_code" --policy all.lua
like "$out" 'code=net .*answers with status 403' 'a service that refuses'
rm "$HOME/.config/sandglass/config.lua"
SANDGLASS_SEARCH=$base/notjson run "$find_code" --policy all.lua
like "$out" 'answer is not JSON \(does the server allow format=json' 'a service that does not speak JSON'

# --- nothing is fetched twice -----------------------------------------------------------------------------------------
cat >resume.lua <<L
local sg = require "sandglass"
local r = assert(sg.host.fetch "$base/hop?once")
print("first " .. r.title)
sg.sleep(3)
print("second " .. assert(sg.host.fetch "$base/text?after").text)
L
before=$(seen | wc -l)
id=$("$sg" run -d resume.lua --policy one.lua </dev/null 2>"$t/out")
wait_for 10 sh -c "'$sg' events '$id' | grep -q 'first A'"
pid=$("$sg" events "$id" --json | grep -m1 '"session.start"' | grep -oE '"pid":[0-9]+' | cut -d: -f2)
kill -9 "$pid"
wait_for 10 sh -c "! kill -0 $pid"
timeout 30 "$sg" resume "$id" --no-tui --no-input >"$t/out" 2>&1 </dev/null
ok $? 'an interrupted session resumes'
like "$("$sg" events "$id")" 'second plain' 'and fetches what is new'
is "$(seen | tail -n +$((before + 1)) | grep -c once)" 1 'its earlier fetches come from the recording'
"$sg" simulate "$id" >"$t/out" 2>&1 </dev/null
ok $? 'a rerun finds no difference'
is "$(seen | tail -n +$((before + 1)) | grep -c .)" 3 'and fetches nothing'

# --- a person ---------------------------------------------------------------------------------------------------------
printf 'local sg = require "sandglass"\nprint(assert(sg.host.fetch "%s/text").text)\n' "$base" >ask.lua
id=$("$sg" run -d ask.lua </dev/null 2>"$t/out")
wait_for 10 sh -c "'$sg' state -S '$id' --json | grep -q '\"kind\": *\"fetch\"'"
held=$("$sg" state -S "$id" --json | grep -oE '"(action|id)": ?[0-9]+' | head -1 | grep -oE '[0-9]+')
"$sg" approve "$held" -S "$id" >"$t/out" 2>&1 </dev/null
ok $? 'a person is asked, and says yes to this machine'
wait_for 10 sh -c "'$sg' events '$id' --json | grep -q session.end"
like "$("$sg" events "$id")" 'print: plain' 'which then is reached'

# --- an agent ---------------------------------------------------------------------------------------------------------
if ! boxes; then
	skip 'no boxes here'
	finish
fi
cat >turns.lua <<L
return {
  { say = "search", call = { "web_search", { query = "sand" } } },
  { say = "read", call = { "web_fetch", { url = "$base/long" } } },
  { say = "on", call = { "web_fetch", { url = "$base/long", from = 12001 } } },
  { say = "act", call = { "shell", { cmd = "echo ran" } } },
  { say = "bad", call = { "web_fetch", { url = "$base/gone" } } },
  { say = "done" },
}
L
cat >agent.lua <<'L'
local sg = require "sandglass"
local box <close> = sg.sandbox { accept = "reduced" }
local r = assert(sg.agent.run { name = "alone", task = "look", model = "scripted:turns.lua", box = box,
  tools = { "web_search", "web_fetch", "shell" } })
for _, m in ipairs(r.messages) do if m.role == "tool" then print("T " .. m.text) end end
L
SANDGLASS_SEARCH=$base/searx timeout 60 "$sg" run --no-tui --no-input agent.lua --policy all.lua --policy one.lua >"$t/out" 2>&1 </dev/null
ok $? 'an agent searches and reads'
id=$(newest)
ev=$("$sg" events "$id" --json)
like "$ev" '1. About sand' 'it is given what was found'
like "$ev" 'bytes more: from = 12001' 'a long page comes in pieces'
is "$(printf '%s\n' "$ev" | grep '"action.requested"' | grep -c "$base/long")" 1 'reading on does not fetch again'
like "$ev" 'status 404: # Not here' 'a page that is not there is an error'
cat >nested.lua <<'L'
local sg = require "sandglass"
local box <close> = sg.sandbox { accept = "reduced" }
local child = sg.agent.define { name = "reader", about = "reads", model = "scripted:turns.lua", tools = { "web_search", "web_fetch", "shell" } }
box:run "echo before"
assert(sg.agent.run { name = "above", task = "look", model = "scripted:above.lua", box = box, agents = { child }, tools = { "shell" } })
box:run "echo after"
L
cat >above.lua <<'L'
return { { call = { "shell", { cmd = "echo early" } } }, { call = { "task", { agent = "reader", task = "read" } } },
  { call = { "shell", { cmd = "echo late" } } }, { say = "done" } }
L
SANDGLASS_SEARCH=$base/searx timeout 60 "$sg" run --no-tui --no-input nested.lua --policy all.lua --policy one.lua >"$t/out" 2>&1 </dev/null
ok $? 'an agent below another reads'
id=$(newest)
ev=$("$sg" events "$id" --json)
of() { printf '%s\n' "$ev" | grep '"kind":"action.requested"' | grep -F "$1"; }
like "$(of 'echo ran')" '"tainted":true' 'after it the agent is tainted'
like "$(of 'echo early')" '"kind":"exec"' 'the one above it worked'
unlike "$(of 'echo early')" '"tainted":true' 'and was not'
like "$(of 'echo late')" '"tainted":true' 'and is, once it has the answer'
like "$(of 'echo after')" '"tainted":true' 'and so is the script that has its answer'
unlike "$(of 'echo before')" '"tainted":true' 'what came before is not'
finish
