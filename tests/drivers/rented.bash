# For the tests of boxes that are rented: the fake is started and driven by the vendor's own program first (if npm is here),
# then our plugin has to do what every box must do against the same fake, with faults, and must leave nothing behind.
. "$(dirname "${BASH_SOURCE[0]}")/../e2e/lib.sh"
. "$(dirname "${BASH_SOURCE[0]}")/suite.bash"
need_boxes
command -v bwrap >/dev/null || { skip 'no bubblewrap for the fakes'; finish; }
need curl
sg=$SANDGLASS
npm=$here/../../${B:-build}/npm
case ${B:-build} in /*) npm=$B/npm ;; esac
cd "$t" || exit 1
python3 "$here/../fakes/$kind.py" "$t/port" </dev/null >"$t/fake.log" 2>&1 &
fake_pid=$!
trap 'kill $fake_pid 2>/dev/null; wait $fake_pid 2>/dev/null; end_all' EXIT
wait_for 30 test -s "$t/port"
at=http://127.0.0.1:$(cat "$t/port")
eval "export $url=$at${tail:-}"
[ -z "${url2:-}" ] || eval "export $url2=$at${tail2:-}"
fake() { curl -sf -m 30 "$at/_$1"; }
fault() { curl -s -m 30 "$at/_fault?$(printf '%s' "$*" | sed 's/%/%25/g; s/ /%20/g; s/\^/%5E/g; s/\[/%5B/g; s/\]/%5D/g; s/|/%7C/g; s/\$/%24/g')" >/dev/null; }
none_left() { local all; all=$(fake boxes) && [ -z "$all" ]; }

if [ -d "$npm/node_modules/$sdk" ] && command -v node >/dev/null; then
	NODE_PATH=$npm/node_modules timeout 60 node "$here/../fakes/$kind.sdk.mjs" "$at" "$npm" >sdk.out 2>&1
	cp sdk.out out
	is $? 0 "$sdk drives the fake"
	while IFS= read -r line; do
		case $line in
		'ok '*) ok 0 "$sdk: ${line#ok }" ;;
		'not ok '*) ok 1 "$sdk: ${line#not ok }" ;;
		esac
	done <sdk.out
else
	skip "$sdk is not installed (make deps, with npm)"
fi
cat >one.lua <<'L'
local sg = require "sandglass"
local a = sg.args { backend = "", cmd = "echo fine", idle = "", env = "", wait = "0", name = "c" }
local box <close> = sg.sandbox { name = a.name, backend = a.backend, env = a.env ~= "" and { [a.env] = "a-value" } or nil,
  options = { idle = a.idle ~= "" and a.idle or nil, idle_after = 1 } }
if a.wait ~= "0" then print "waits" sg.sleep(tonumber(a.wait)) end
local r, err = box:exec(a.cmd)
print("said " .. (r and r.out or tostring(err)))
L
one() { timeout 60 "$sg" run --no-tui one.lua --json -- --backend "$kind" "$@" </dev/null >one.out 2>&1; grep -aoE '"text":"said [^"]*|sandglass: .*' one.out | tail -1; }

orphans() { # a supervisor that is killed leaves its box to the next one
	"$sg" run -d one.lua -- --backend "$kind" --wait 100 </dev/null >id 2>/dev/null
	one_left() { [ "$(fake boxes | wc -l)" = 1 ]; }
	up() { "$sg" events "$(cat id)" 2>/dev/null | grep -q waits; }
	wait_for 30 up
	one_left
	ok $? 'a box is open'
	like "$("$sg" doctor --paths)" "^hosted +$kind +[^ ]+ \(sandglass-[0-9a-f]{16}\)\$" 'doctor --paths names it'
	kill -9 "$("$sg" events "$(cat id)" --json | grep '"kind":"session.start"' | grep -oE '"pid":[0-9]+' | head -1 | grep -oE '[0-9]+')"
	left() { "$sg" doctor --paths | grep -qE "^hosted +$kind .*session has ended"; }
	wait_for 10 left # the kernel takes a killed process down in its own time
	like "$("$sg" doctor --paths)" "^hosted +$kind .*session has ended" 'a supervisor is killed: doctor --paths names what it left'
	like "$(one)" 'said fine' 'the next one'
	wait_for 20 none_left
	ok $? 'has given back the box that it left'
	unlike "$("$sg" doctor --paths)" '^hosted' 'and doctor --paths names none'
}

naps() { # HOW, what a shell says after it: a box sleeps around a shell in which nothing runs
	cat >nap.lua <<-'L'
		local sg = require "sandglass"
		local a = sg.args { backend = "", how = "pause" }
		local box <close> = sg.sandbox { backend = a.backend, options = { idle = a.how, idle_after = 1 } }
		local sh = assert(box:shell())
		assert(sh:run "cd /tmp; x=kept; sleep 2")
		sg.ask { text = "does it sleep?", choices = { "yes" } }
		local r, err = sh:run "echo in $PWD with $x"
		print("said " .. (r and r.out or tostring(err)))
		r, err = assert(box:shell()):run "echo on"
		print("said then " .. (r and r.out or tostring(err)))
	L
	fake seen >before
	"$sg" run -d nap.lua -- --backend "$kind" --how "$1" </dev/null >id 2>/dev/null
	asked() { "$sg" events "$(cat id)" --json 2>/dev/null | grep -q '"kind":"ask"'; }
	sleeps() { fake seen | tail -n +"$(($(wc -l <before) + 1))" | grep -qE "$asleep"; }
	wait_for 30 asked
	wait_for 30 sleeps
	ok $? "a box sleeps around a shell in which nothing runs ($1)"
	"$sg" answer "$("$sg" events "$(cat id)" --json | grep '"kind":"ask"' | grep -oE '"seq":[0-9]+' | cut -d: -f2)" yes -S "$(cat id)" >out 2>&1
	napped() { "$sg" events "$(cat id)" --json 2>/dev/null | grep -q '"kind":"session.end"'; }
	wait_for 60 napped
	like "$("$sg" events "$(cat id)" --json | grep '"kind":"note"')" "said $2" "$3"
	like "$("$sg" events "$(cat id)" --json)" 'said then on' 'another one opens'
}

declare -F before >/dev/null && before # what else drives the fake
if [ "$kind" = daytona ]; then conform "$kind" "$kind"; else conform_parts "$kind" "$kind"; fi
wait_for 10 none_left
ok $? "$kind: no box is left"
cat >each.lua <<'L'
local sg = require "sandglass"
local a = sg.args { backend = "", n = 0, shell = "no" }
local box <close> = sg.sandbox { backend = a.backend }
local sh = a.shell == "yes" and assert(box:shell())
if sh then assert(sh:run "true") end
for i = 1, a.n do assert((sh or box):run(("echo %d >f%d; rm -f f%d"):format(i, i, i - 1))) end
print("changed " .. assert(box:diff()):stat())
L
each() { # N [YES]: requests of that many commands (in a shell that stays) and a look, with those of opening
	timeout 60 "$sg" run --no-tui each.lua --json -- --backend "$kind" --n "$1" --shell "${2:-no}" </dev/null >each.out 2>&1
	grep -a '"kind":"box.call"' each.out | grep -acE '"path":"[^"]*'"${begins:-${exec_path%\$}}"
}
none=$(each 0) six=$(each 6)
like "$(grep -ao '"text":"changed [^"]*' each.out)" 'f6 .*1 file changed, 1 added' 'what commands change is seen'
is "$((six - none))" 6 'and each of them costs one request'
if ! grep -q '^  poll = ' "$here/../../plugins/sandboxes/$kind.lua"; then # output of the others is fetched
	# a shell's start costs one request or more, depending on when its first words arrive: the fewest of several runs count
	none=1000 six=1000
	for _ in 1 2 3 4 5; do
		few=$(each 0 yes)
		[ "$few" -lt "$none" ] && none=$few
		few=$(each 6 yes)
		[ "$few" -lt "$six" ] && six=$few
		[ "$((six - none))" -ge 5 ] && [ "$((six - none))" -le 7 ] && break
	done
	like "$(grep -ao '"text":"changed [^"]*' each.out)" 'f6 .*1 file changed, 1 added' 'so it is in a shell that stays'
	[ "$((six - none))" -ge 5 ] && [ "$((six - none))" -le 7 ]
	ok $? "where each of them costs one, too ($six after $none)"
fi
cat >put.lua <<'L'
local sg = require "sandglass"
local a = sg.args { backend = "", turns = "no" }
local box <close> = sg.sandbox { backend = a.backend }
local bytes = ("0123456789abcdef"):rep(160000)
assert(box:write("d/big", bytes))
print("changed " .. assert(box:diff()):stat())
assert(box:run "printf X | dd of=d/big conv=notrunc bs=1 seek=320000 2>/dev/null")
print("read " .. tostring(box:read "d/big" == bytes:sub(1, 320000) .. "X" .. bytes:sub(320002)))
if a.turns == "no" then return end
local p = box:spawn "while :; do for c in a b; do head -c 5000000 /dev/zero | tr '\\0' $c >d/new; mv d/new d/turns; done; done"
assert(box:run "until [ -e d/turns ]; do sleep 0.1; done")
local text, err = box:read "d/turns"
print("turned " .. (text and tostring(text == text:sub(1, 1):rep(5000000)) or tostring(err)))
p:kill "KILL"
L
turns=no # a file that changes while it is read is the same code for all of them
[ "$kind" != daytona ] && [ -z "${LONG:-}" ] || turns=yes
timeout 60 "$sg" run --no-tui put.lua --json -- --backend "$kind" --turns $turns </dev/null >put.out 2>&1
most() { sed "$1" put.out | grep -a '"kind":"box.call"' | grep -aoE '"bytes":[0-9]+' | cut -d: -f2 | sort -n | tail -1; } # of an answer
like "$(grep -ao '"text":"changed [^"]*' put.out)" 'd/big \| 1 .*1 added' 'a file that is written into it is in its snapshot'
[ "$(most '/"text":"changed/q')" -lt 100000 ]
ok $? 'and does not come back over the wire for it'
is "$(grep -ao '"text":"read [a-z]*' put.out)" '"text":"read true' 'where a command changes it then, it does'
[ $turns = no ] || like "$(grep -ao '"text":"turned [^"]*' put.out)" "turned (true|.*changed while it was read)" 'one that becomes another meanwhile is not read as a piece of each'
[ "$(most n)" -lt 3000000 ] || ! grep -q '^  poll = ' "$here/../../plugins/sandboxes/$kind.lua"
ok $? "no answer is larger than a provider that tells all at the end should make it ($(most n) bytes)"
cat >port.lua <<'L'
local sg = require "sandglass"
local http = require "sandglass.inside.http"
local a = sg.args { "backend" }
local box <close> = sg.sandbox { name = "web", backend = a.backend }
local p = assert(box:spawn { "python3", "-uc", [[
import http.server, json, time
class H(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *a): pass
    def do_GET(self): time.sleep(100)
    def do_POST(self):
        got = self.rfile.read(int(self.headers["content-length"]))
        text = json.dumps({"path": self.path, "mine": self.headers["x-mine"], "n": len(got), "all": str(self.headers) if "here" in self.path else ""}).encode()
        self.send_response(200); self.send_header("content-length", str(len(text))); self.end_headers(); self.wfile.write(text)
s = http.server.ThreadingHTTPServer(("127.0.0.1", 0), H)
print(s.server_address[1])
s.serve_forever()]] })
local port = tonumber(p:lines()())
local c = http.new(box, port, { ["x-mine"] = "yes" })
for i = 1, 2 do
  local r, err = c.ask("POST", "/echo?n=" .. i, { text = ("long "):rep(20000) })
  print("dial " .. (r and ("%d %s"):format(r.status, r.json and ("%s %s %d"):format(r.json.path, r.json.mine, r.json.n) or r.text) or tostring(err)))
end
local never = assert(box:dial(port))
never:write("GET /never HTTP/1.1\r\nHost: x\r\n\r\n", { eof = true })
sg.sleep(0.5)
never:close()
print("at " .. assert(box:url(port)))
sg.ask { text = "done?" }
L
ports() {
	printf 'return require("sandglass.policy").rules { default = "allow" }\n' >allow.lua
	"$sg" run -d port.lua --policy allow.lua -- "$kind" </dev/null >id 2>/dev/null
	at_url() { "$sg" events "$(cat id)" --json | grep -oE '"text":"at [^"]*' | sed 's/.*at //'; }
	there() { [ -n "$(at_url)" ]; }
	wait_for 20 there
	events=$("$sg" events "$(cat id)" --json)
	is "$(grep -oE '"text":"dial [^"]*' <<<"$events" | tr '\n' ' ')" '"text":"dial 200 /echo?n=1 yes 100011 "text":"dial 200 /echo?n=2 yes 100011 ' 'a server in it is spoken with'
	like "$(curl -s -m 20 -H 'x-mine: curl' -d 12345 "$(at_url)/from/here")" '"path": "/from/here", "mine": "curl", "n": 5' 'and from this machine, at an address of ours'
	unlike "$("$sg" events "$(cat id)" --json --all 2>/dev/null; "$sg" events "$(cat id)" --json)" "$token" 'the token of its address is nowhere in the record'
	[ -z "${large:-}" ] || like "$(head -c 40000000 /dev/zero | curl -s -m 60 -H Expect: --data-binary @- "$(at_url)/late")" '"n": 40000000' '40 MB go there, to one who is slow to take them'
	unanswered() { "$sg" events "$(cat id)" --json | grep '"fn":"address"' | grep '"method":"GET"' | grep -q 'the client has disconnected'; }
	wait_for 10 unanswered
	ok $? 'who has said all and goes without an answer is noticed'
	"$sg" stop --now -S "$(cat id)" >/dev/null 2>&1
	wait_for 20 none_left
	ok $? 'and it is given back'
}
[ -z "${token:-}" ] || ports
# Files, any bytes, both ways; so many of them as output, recorded byte for byte, by a supervisor that stays small. The whole sizes (100 MB,
# 1 GB) for one kind: the others differ in their requests alone.
whole() {
	local pid before most id size=20 times=2
	[ "$kind" != e2b ] || size=100 times=10
	head -c ${size}M /dev/urandom >body
	printf 'return require("sandglass.policy").rules { default = "allow" }\n' >allow.lua
	id=$("$sg" run -d whole.lua --policy allow.lua -- "$kind" --times $times </dev/null 2>out)
	whole_at() { "$sg" events "$id" --json 2>/dev/null | grep -q "\"text\":\"$1"; }
	pid=$("$sg" events "$id" --json | grep '"kind":"session.start"' | grep -oE '"pid":[0-9]+' | head -1 | grep -oE '[0-9]+')
	# by its process: while it has 100 MB in hand it may be seconds late with an answer
	over() { whole_at 'both ways' || whole_at failed || ! kill -0 "$pid" 2>/dev/null; }
	wait_for 1200 over
	cmp body back >out 2>&1
	ok $? "a file of $size MB goes there and comes back"
	echo 5 >"/proc/$pid/clear_refs" # its most begins anew: a file in hand took more than the output ever may
	before=$(awk '/VmHWM/ { print $2 }' "/proc/$pid/status")
	ended() { whole_at 'ended' || ! kill -0 "$pid" 2>/dev/null; }
	wait_for 2400 ended
	most=$(awk '/VmHWM/ { print $2 }' "/proc/$pid/status")
	is "$("$sg" out "$id#$("$sg" events "$id" --json | grep -oE '"text":"ended [0-9]+' | grep -oE '[0-9]+')" | sha256sum)" \
		"$(for _ in $(seq $times); do cat body; done | sha256sum)" "$((size * times)) MB of output are recorded byte for byte"
	[ $((most - before)) -lt 100000 ]
	ok $? "by a supervisor that stays small ($((before / 1024)) MB before, $((most / 1024)) MB at its most)"
	"$sg" stop --now -S "$id" >/dev/null 2>&1
	wait_for 20 none_left
	ok $? 'and it is given back'
	rm -f body back
}
cat >whole.lua <<'L'
local sg = require "sandglass"
local a = sg.args { "backend", times = 1 }
local box <close> = sg.sandbox { backend = a.backend }
local ok, err = box:put("body", "body")
if ok then ok, err = box:get("body", "back") end
print(ok and "both ways" or "failed: " .. tostring(err))
sg.sleep(5)   -- its memory is looked at
local r = box:exec(("i=0; while [ $i -lt %d ]; do cat body; i=$((i + 1)); done"):format(a.times))
print("ended " .. (r and r.event or 0))
sg.sleep(600)
L
[ -z "${LONG:-}" ] || whole
declare -F own >/dev/null && own # what it alone can or cannot
# --- faults ---
if [ -z "${few:-}" ] || [ -n "${LONG:-}" ]; then # opening is the same code for all of them
fault "2 POST $create status:429"
like "$(one)" 'said fine' 'too many requests: waited for'
if [ "$kind" = daytona ] || [ -n "${LONG:-}" ]; then
	fault "99 POST $create status:429"
	like "$(one)" "${quota:-refuses more \\(429\\)}" 'and too many for long: one line'
	fake calm >/dev/null
	fault "99 * . drop"
	like "$(one)" "sandglass: .*$kind \(" 'no answer at all: one line'
	fake calm >/dev/null
fi
fault "1 POST $create lost"
like "$(one)" 'said fine' 'the answer to the opening is lost: the box is found by its tag'
wait_for 10 none_left
ok $? 'and there was one only'
if [ "$kind" = e2b ] || [ -n "${LONG:-}" ]; then
	fault "1 POST $create lost"
	fault '9 GET . status:503'
	like "$(one)" 'said fine' 'nor can be asked for at once: no other is opened'
	wait_for 10 none_left
	ok $? 'so that none is left'
	fake calm >/dev/null
	like "$(export "$url=http://127.0.0.1:9${tail:-}"; one)" 'is that address right, and reachable from here.$' 'nobody is there: nothing was asked for, so nothing may be left'
	fault "9 POST $create lost"
	fault '99 GET . status:503'
	like "$(one)" 'a hosted sandbox may exist and cost money' 'nor at all: the warning names what may exist'
	like "$("$sg" doctor --paths)" "^hosted +$kind .*session has ended" 'by doctor --paths, too'
	fake calm >/dev/null
	like "$(one)" 'said fine' 'the next one'
	wait_for 20 none_left
	ok $? 'gives it back'
fi
fault "1 POST $create html"
like "$(one)" "is not from the API: .*${page:-Welcome to nginx}" 'what answers is a web page: one line'
fi
if [ -z "${few:-}" ] || [ -n "${LONG:-}" ]; then
fault "1 ${exec_method:-POST} $exec_path slow"
fault "2 ${exec_method:-POST} $exec_path lost"
like "$(one --cmd 'echo x >>n; cat n')" 'said x\\n"?$' 'a command whose answer is lost runs once'
fi
fault "1 ${exec_method:-POST} $exec_path status:503"
fault "2 ${exec_method:-POST} $exec_path cut"
like "$(one --cmd 'echo x >>n; cat n; head -c 100000 /dev/zero | wc -c')" 'said x\\n100000' 'trouble, and an answer that breaks off: gone on where it was'
fake calm >/dev/null
cat >stays.lua <<'L'
local sg = require "sandglass"
local a = sg.args { "backend" }
local box <close> = sg.sandbox { name = "c", backend = a.backend }
local sh = assert(box:shell())
sh:run "cd /tmp; n=0"
print "waits"
sg.sleep(1)
local said = ""
for _ = 1, 6 do
  local r, err = sh:run "n=$((n + 1)); echo $n"
  said = said .. (r and r.out or tostring(err) .. "\n")
end
print("said " .. said:gsub("\n", "|"))
L
waits() { grep -qs '"waits"' gone.out; }
stays() { # what befalls the box once its shell is there: command...
	rm -f gone.out
	timeout 60 "$sg" run --no-tui stays.lua --json -- "$kind" </dev/null >gone.out 2>&1 &
	wait_for 30 waits
	"$@" >/dev/null
	wait $!
	grep -ao '"text":"said [^"]*' gone.out
}
troubles() { local what; for what in status:503 lost cut; do fault "1 ${exec_method:-POST} $exec_path $what"; done; }
is "$(stays troubles)" '"text":"said 1|2|3|4|5|6|' 'trouble while a shell is open: each command runs once, in order'
fake calm >/dev/null
cat >gone.lua <<'L'
local sg = require "sandglass"
local a = sg.args { "backend" }
local box <close> = sg.sandbox { name = "c", backend = a.backend }
print "waits"
sg.sleep(1)
local r, err = box:exec "echo still there"
print("said " .. (r and r.out .. r.err or tostring(err)))
L
refused() { # STATUS: of every answer from the middle of a session on
	local key_is="$kind refuses the key in $key: .*'sandglass secret set $key'"
	rm -f gone.out
	timeout 60 "$sg" run --no-tui gone.lua --json -- "$kind" </dev/null >gone.out 2>&1 &
	wait_for 30 waits
	fault "9999 * . status:$1"
	wait $!
	like "$(grep -a '"said ' gone.out)" "said $key_is.*; how it ended is not known" "the key is refused in mid-session ($1): the script hears whose, which and what to do"
	like "$(grep -a '"kind":"action.ended"' gone.out)" "\"end\":\"interrupted\",\"why\":\"[^\"]*$key_is" 'so says the end of the action'
	like "$(grep -a '"kind":"box.closed"' gone.out)" "hosted sandbox 'c' \([^)]+\); it may still cost money: $key_is.*prune --boxes" 'closing is tried, and what is left is named'
	like "$("$sg" doctor --paths)" "^hosted +$kind .*session has ended" 'doctor --paths names it, too'
	fake calm >/dev/null
	like "$(one)" 'said fine' 'with a key that is taken again'
	wait_for 20 none_left
	ok $? 'it is given back'
}
refused 401
[ "$kind" != daytona ] || refused 403
[ -z "${few:-}" ] || [ -n "${LONG:-}" ] || finish
if [ "$kind" = daytona ] || [ -n "${LONG:-}" ]; then
	rm -f gone.out
	timeout 60 "$sg" run --no-tui gone.lua --json -- "$kind" </dev/null >gone.out 2>&1 &
	wait_for 30 waits
	fault "9999 * . html"
	wait $!
	like "$(grep -a '"kind":"box.closed"' gone.out)" "may still cost money: $kind .*is not from the API: .*Welcome to nginx.*prune --boxes" 'a web page in place of an answer is not taken for the end of a box'
	like "$("$sg" doctor --paths)" "^hosted +$kind .*session has ended" 'doctor --paths names it'
	fake calm >/dev/null
	like "$(one)" 'said fine' 'the next one'
	wait_for 20 none_left
	ok $? 'gives it back'
fi
rm -f gone.out
timeout 60 "$sg" run --no-tui gone.lua --json -- "$kind" </dev/null >gone.out 2>&1 &
wait_for 30 waits
fake vanish >/dev/null
wait $!
like "$(grep -a '"said ' gone.out)" 'interrupted|no longer|gone' 'a box that is killed behind our back: the command says so'
like "$(stays fake vanish)" '"text":"said (this shell has ended: [^|]*(no longer|gone)|[^|]*(no longer|gone)[^|]*; how)' 'so does a shell'
like "$(grep -a '"kind":"action.ended"' gone.out)" '"end":"interrupted","why":"[^"]*(no longer|gone|how it ended is not known)' 'and its end'
# what follows is the same code for all of them
[ "$kind" != daytona ] || try_box "{\"backend\": \"$kind\"}" "$kind" ''
[ "$kind" = daytona ] || [ -n "${LONG:-}" ] || finish
# --- keys and names ---
like "$(env -u "$key" timeout 60 "$sg" run --no-tui one.lua -- --backend "$kind" </dev/null 2>&1 | tail -1)" "needs its key: set $key, or 'sandglass secret set $key'[^:]*$" 'no key: said once'
like "$(env "$key=wrong-key-of-nobody" timeout 60 "$sg" run --no-tui one.lua -- --backend "$kind" </dev/null 2>&1 | tail -1)" "$kind refuses the key in $key: " 'a key that is refused'
like "$(one --env MY_API_KEY)" 'looks like a credential' 'a plain credential is not put into a box of somebody else'
like "$(one --name "$(printf 'n%.0s' {1..300})")" 'said fine' 'a name with 300 characters'
# --- asleep, and what dies with its supervisor ---
like "$(one --idle pause --wait 3)" 'said fine' 'asleep after a while, woken by the next call'
like "$(fake seen)" "$asleep" 'it was'
orphans
id=$("$sg" ls --json | head -1 | grep -oE 's-[a-z0-9]+' | head -1)
out=$("$sg" events "$id" --json)
like "$out" '"cost":\{"open_us":[0-9]+,"asleep_us":0,"exec_us":[0-9]+,"uusd_hour":[0-9]+,"uusd":[0-9]+' 'what it has cost, open and executing'
unlike "$out" "${!key}" 'the key is nowhere in the record'
finish
