#!/usr/bin/env bash
# Spans and metrics during a session: valid JSON, complete once the collector is reachable. A session neither waits for
# an unreachable collector nor fails because of it. Needs no sandbox.
. "$(dirname "$0")/lib.sh"
sg=$SANDGLASS
export no_proxy='*' SANDGLASS_SESSIONS=$t/sessions OTLP_TOKEN=sk-collector-canary-31 SANDGLASS_CONFIG=$t/config.lua
unset http_proxy https_proxy all_proxy HTTPS_PROXY ALL_PROXY
cd "$t" || exit 1
mkdir in
echo ok >in/mode
: >in/got
python3 "$here/exchange/collector.py" "$t/in" >port 2>collector.err </dev/null &
collector=$!
trap 'kill $collector 2>/dev/null; end_all' EXIT
wait_for 30 test -s port
configure() { # endpoint
	printf 'local c = require "sandglass.config"\nc.otlp = { endpoint = "%s", every = "200ms", headers = { Authorization = { secret = "OTLP_TOKEN", prefix = "Bearer " } } }\nreturn c\n' "$1" >config.lua
}
endpoint=http://127.0.0.1:$(cat port)/in
configure "$endpoint"
printf 'local p = require "sandglass.policy"\nreturn p.rules { default = "allow", p.ask "it" { tool = "sg.host.exec", cmd = "true" } }\n' >policy.lua
got() { python3 "$here/exchange/collected.py" in/got "$@"; }
at_least() { [ "$1" -le "$(shift && got "$@")" ]; }
spans_of() { got traces >spans && python3 "$here/exchange/check_otlp.py" spans 2>&1; }
warned() { "$sg" events "$1" --json | grep '"kind":"super.warn"' | grep -c 'telemetry collector'; }
ended() { "$sg" events "$1" --json | grep -q '"kind":"session.end"'; }
status_of() { "$sg" events "$1" --json | grep '"kind":"session.end"' | grep -oE '"status":[0-9]+'; }
start() { "$sg" run -d "$@" --json 2>out | grep -oE '"session":"[^"]*' | cut -d'"' -f4; }

# --- a collector that is there ----------------------------------------------------------------------------------------
cat >held.lua <<'L'
local sg = require "sandglass"
sg.host.exec { "echo", "words that stay here" }
pcall(sg.host.exec, { "false" })
sg.host.exec { "true" }
L
id=$(start held.lua --policy policy.lua)
wait_for 30 at_least 1 max sandglass.actions.held
ok $? 'an action that waits is a metric while the session runs'
wait_for 30 at_least 1 max sandglass.queue.age
ok $? 'and for how long'
wait_for 30 at_least 2 max sandglass.actions.ended
ok $? 'ended spans arrive before the session ends'
wait_for 30 at_least 1 last sandglass.actions.failed
is "$(got last sandglass.actions.failed) $(got last sandglass.sessions)" '1 1' 'what failed is counted; a session runs'
waits=$("$sg" events "$id" --json | grep '"kind":"action.held"' | grep -oE '"action":[0-9]+' | head -1 | cut -d: -f2)
"$sg" approve "$waits" -S "$id" >out 2>&1
wait_for 30 ended "$id"
is "$(got last sandglass.sessions) $(got last sandglass.actions.held) $(got last sandglass.recorder.lag)" '0 0 0' 'at the end none runs, waits or lags'
is "$(got count 422 traces) $(got count 422 metrics)" '0 0' 'every request is right'
read -r nr how < <(spans_of)
"$sg" export "$id" -F otlp -o whole >/dev/null
is "$nr" "$(python3 "$here/exchange/check_otlp.py" whole | cut -d' ' -f1)" "the spans are those of the export ($how)"
is "$(python3 - <<'P'
import json
def spans(f): return {s["spanId"]: (s["name"], s["traceId"], s.get("parentSpanId"), s["startTimeUnixNano"]) for r in json.load(open(f))["resourceSpans"] for s in r["scopeSpans"][0]["spans"]}
print(spans("spans") == spans("whole"))
P
)" True 'with the same ids, parents and times'
is "$(grep -c 'words that stay here' in/got)" 0 'messages and output are not sent by default'
is "$(cut -f3 in/got | sort -u)" '"Bearer sk-collector-canary-31"' 'a header by the name of a secret'
"$sg" events "$id" --json | grep -q 'sk-collector-canary-31'
is $? 1 'whose value is not in the record'
is "$(warned "$id") $(status_of "$id")" '0 "status":0' 'nothing to warn of'

# --- one that comes back ----------------------------------------------------------------------------------------------
: >in/got
echo 503 >in/mode
printf 'local sg = require "sandglass"\nfor i = 1, 300 do sg.host.exec { "echo", "n" } end\nsg.host.exec { "sh", "-c", "until [ -e %s/go ]; do sleep 0.1; done" }\n' "$t" >many.lua
id=$(start many.lua --policy policy.lua)
wait_for 60 at_least 2 count 503 traces
ok $? 'a collector that is overloaded is asked again'
echo ok >in/mode
wait_for 60 at_least 300 last sandglass.actions.ended
ok $? 'and gets all that it has missed, while the session runs'
: >go
wait_for 60 ended "$id"
read -r nr how < <(spans_of)
is "$nr $(got count 422 traces)" '302 0' 'nothing is lost'
is "$(warned "$id") $(status_of "$id")" '1 "status":0' 'the user is warned once'

# --- one that is not there, hangs, or refuses -------------------------------------------------------------------------
printf 'local sg = require "sandglass"\nsg.host.exec { "echo", "n" }\n' >short.lua
run() { timeout 60 "$sg" run --no-tui --no-input short.lua --policy policy.lua >out 2>&1 </dev/null; }
last() { sed -nE 's/.* session: (s-[a-z0-9]+) .*/\1/p' out | head -1; }
configure http://127.0.0.1:1
run
is "$? $(warned "$(last)")" '0 1' 'nobody listens: one warning, the session is a success'
like "$(cat out)" 'telemetry collector at 127.0.0.1:1 takes nothing: .*(tries again later|ends without it)' 'which says what and where'
configure "$endpoint"
echo hang >in/mode
run
is "$? $(warned "$(last)")" '0 1' 'a silent collector delays nothing, with one warning'
: >in/got
echo 400 >in/mode
run
is "$? $(warned "$(last)")" '0 1' 'one that refuses what it gets: one warning'
: >in/got
echo partial >in/mode
run
is "$? $(warned "$(last)")" '0 1' 'or some of it'
like "$(cat out)" 'refuses some data: one is too old' 'in its words'
echo page >in/mode
run
is "$? $(warned "$(last)")" '0 1' "a foreign web page is not a collector's answer"
like "$(cat out)" 'takes nothing: it answers 200 with a web page' 'and the warning names it'
unset OTLP_TOKEN
run
is "$? $(warned "$(last)")" '0 1' 'a secret that cannot be read'

# --- settings ---------------------------------------------------------------------------------------------------------
rm -rf sessions
for wrong in 'endpoint = "ftp://x"' 'endpoint = "http://x/?a"' 'endpoint = "http://x", every = "1ms"' \
	'endpoint = "http://x", headers = { A = { value = "b" } }' 'endpoint = "http://x", headers = { ["A B"] = "c" }' 'adress = "x"'; do
	printf 'local c = require "sandglass.config"\nc.otlp = { %s }\nreturn c\n' "$wrong" >config.lua
	run
	is "$(($? != 0)) $(grep -c "^sandglass: " out) $(find sessions -name '*.glass' 2>/dev/null | wc -l)" '1 1 0' "refused in one line, nothing begins: $wrong"
	like "$(cat out)" '^sandglass: .*otlp' 'which names it'
done
printf 'local c = require "sandglass.config"\nc.otlp = { endpoint = "" }\nreturn c\n' >config.lua
run
is $? 0 'an empty address is none'
printf 'return { otlp = { endpoint = "http://x", headers = { A = "by-value", B = { secret = "NAME" } } } }\n' >config.lua
unlike "$("$sg" config 2>&1)" 'by-value' 'config does not show the value of a header'
finish
