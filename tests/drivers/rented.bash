# For the tests of boxes that are rented: the fake is started and driven by the vendor's own program first (if npm is here),
# then our plugin has to do what every box must do against the same fake, with faults, and must leave nothing behind.
. "$(dirname "${BASH_SOURCE[0]}")/../e2e/lib.sh"
need_boxes
command -v bwrap >/dev/null || { skip 'no bubblewrap for the fakes'; finish; }
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
[ -z "${url2:-}" ] || eval "export $url2=$at"
fake() { curl -s -m 30 "$at/_$1"; }
fault() { curl -s -m 30 "$at/_fault?$(printf '%s' "$*" | sed 's/%/%25/g; s/ /%20/g; s/\^/%5E/g; s/\[/%5B/g; s/\]/%5D/g; s/|/%7C/g; s/\$/%24/g')" >/dev/null; }
none_left() { [ -z "$(fake boxes)" ]; }

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
suite() { # name
	timeout 200 "$sg" plugin test "$kind" </dev/null >suite.out 2>suite.err
	local status=$? line
	while IFS= read -r line; do
		case $line in
		'ok '*' # '*) skip "$1: ${line#*# }" ;;
		'ok '*) ok 0 "$1: ${line#* - }" ;;
		'not ok '*) ok 1 "$1: ${line#* - }" ;;
		esac
	done <suite.out
	cp suite.err out
	is "$status" 0 "$1: the suite has ended well"
	wait_for 10 none_left
	ok $? "$1: no box is left"
}
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
	like "$("$sg" doctor --paths)" "^rented +$kind +[^ ]+ \(sandglass-[0-9a-f]{16}\)\$" 'doctor --paths names it'
	kill -9 "$("$sg" events "$(cat id)" --json | grep '"kind":"session.start"' | grep -oE '"pid":[0-9]+' | head -1 | grep -oE '[0-9]+')"
	like "$("$sg" doctor --paths)" "^rented +$kind .*its session was killed" 'a supervisor is killed: doctor --paths names what it left'
	like "$(one)" 'said fine' 'the next one'
	wait_for 20 none_left
	ok $? 'has given back the box that it left'
	unlike "$("$sg" doctor --paths)" '^rented' 'and doctor --paths names none'
}

declare -F before >/dev/null && before # what else drives the fake
suite "$kind"
declare -F own >/dev/null && own # what it alone can or cannot
# --- faults ---
if [ -z "${few:-}" ] || [ -n "${LONG:-}" ]; then # opening is the same code for all of them
fault "2 POST $create status:429"
like "$(one)" 'said fine' 'too many requests: waited for'
if [ "$kind" = daytona ] || [ -n "${LONG:-}" ]; then
	fault "99 POST $create status:429"
	like "$(one)" 'refuses more \(429\)' 'and too many for long: one line'
	fake calm >/dev/null
	fault "99 * . drop"
	like "$(one)" "sandglass: .*$kind \(" 'no answer at all: one line'
	fake calm >/dev/null
fi
fault "1 POST $create lost"
like "$(one)" 'said fine' 'the answer to the opening is lost: the box is found by its tag'
wait_for 10 none_left
ok $? 'and there was one only'
fault "1 POST $create html"
like "$(one)" 'is not the API: .*Welcome to nginx' 'what answers is a web page: one line'
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
[ -z "${few:-}" ] || [ -n "${LONG:-}" ] || finish
cat >gone.lua <<'L'
local sg = require "sandglass"
local a = sg.args { "backend" }
local box <close> = sg.sandbox { backend = a.backend }
print "waits"
sg.sleep(1)
local r, err = box:exec "echo still there"
print("said " .. (r and r.out .. r.err or tostring(err)))
L
timeout 60 "$sg" run --no-tui gone.lua --json -- "$kind" </dev/null >gone.out 2>&1 &
waits() { grep -q '"waits"' gone.out; }
wait_for 30 waits
fake vanish >/dev/null
wait $!
like "$(grep -a '"said ' gone.out)" 'interrupted|no more|gone' 'a box that is killed behind our back: the command says so'
# what follows is the same code for all of them
[ "$kind" = daytona ] || [ -n "${LONG:-}" ] || finish
# --- keys and names ---
like "$(env -u "$key" timeout 60 "$sg" run --no-tui one.lua -- --backend "$kind" </dev/null 2>&1 | tail -1)" "needs its key: set $key" 'no key'
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
