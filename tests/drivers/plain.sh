#!/usr/bin/env bash
# The files of `plugin new` work unchanged, against an API of the expected shape: a backend that passes the suite, whose
# sandboxes are found again by their file, and a model.
. "$(dirname "$0")/../e2e/lib.sh"
. "$(dirname "$0")/suite.bash"
need_boxes
command -v bwrap >/dev/null || { skip 'no bubblewrap for the fake'; finish; }
need curl
sg=$SANDGLASS
cd "$t" || exit 1
for i in plain plain_model; do
	python3 "$here/../fakes/$i.py" "$t/$i.port" </dev/null >"$t/$i.log" 2>&1 &
	fakes="${fakes:-} $!"
done
trap 'kill $fakes 2>/dev/null; end_all' EXIT
wait_for 30 test -s plain.port
wait_for 30 test -s plain_model.port
at=http://127.0.0.1:$(cat plain.port)
export MINE_API_KEY=any-key-will-do MINE_URL=$at/v1
none_left() { [ -z "$(curl -sf -m 30 "$at/_boxes")" ]; }

echo 'local box <close> = require("sandglass").sandbox {} print(assert(box:run "echo it works").out)' >any.lua
"$sg" plugin new sandbox mine >"$t/out" 2>&1
is "$?$(test -s mine.lua && echo ' mine.lua')" '0 mine.lua' 'plugin new sandbox'
conform "$t/mine.lua" 'the new plugin'
wait_for 10 none_left
ok $? 'no box is left'
sed '/^function M.write/,/^end/d; /^function M.list/,/^end/d' mine.lua >less.lua
timeout 60 "$sg" run --no-tui --name less any.lua --backend ./less.lua </dev/null >"$t/out" 2>&1
like "$("$sg" events less)" 'it works' 'optional functions may be left out'
asked() { "$sg" events "$1" --json | grep -c '"kind":"box.call".*/exec"'; } # requests for commands
packed=$(asked less)
sed 's|json = { command = text }|json = { command = "p=/tmp/p; [ -d $p ] \|\| { mkdir $p; ln -s /usr/bin/* $p; rm $p/gzip; }; PATH=$p\\n" .. text }|' less.lua >nogzip.lua
timeout 60 "$sg" run --no-tui --name nogzip any.lua --backend ./nogzip.lua </dev/null >"$t/out" 2>&1
like "$("$sg" events nogzip)" 'it works' 'so it is in a box without gzip'
[ "$packed" -gt 5 ] && [ "$((packed * 3 / 2))" -lt "$(asked nogzip)" ]
ok $? "where our program goes over as it is ($(asked nogzip) requests, packed $packed)"

# its file is what a box is opened again by: fork, and a supervisor that is killed
cat >two.lua <<'L'
local sg = require "sandglass"
local box <close> = sg.sandbox { backend = "./mine.lua" }
assert(box:run "echo kept >file")
local second <close> = assert(box:fork())
print("fork " .. assert(second:run "cat file").out)
L
timeout 60 "$sg" run --no-tui --name two two.lua </dev/null >"$t/out" 2>&1
like "$("$sg" events two)" 'fork kept' 'a fork within the session'
at_fork=$("$sg" events two --json | grep '"kind":"action.ended"' | head -1 | grep -oE '"seq":[0-9]+' | cut -d: -f2)
mkdir elsewhere
(cd elsewhere && timeout 60 "$sg" fork "two#$at_fork" --name again </dev/null) >"$t/out" 2>&1
like "$("$sg" events again)" 'fork kept' 'a fork of the session, from another folder'
like "$("$sg" events again --json | grep '"kind":"box.open"')" "\"driver\":\"mine\",\"file\":\"$t/mine.lua\"" 'the record says which file it was'
mv mine.lua gone.lua
(cd elsewhere && timeout 60 "$sg" fork "two#$at_fork" --name never </dev/null) >"$t/out" 2>&1
like "$("$sg" events never --json | grep '"kind":"super.warn"')" "can't read the backend's file '$t/mine.lua'" 'without the file the warning names it'
mv gone.lua mine.lua
wait_for 10 none_left
ok $? 'and nothing is left'

"$sg" plugin new model talk.lua --json >"$t/out" 2>&1
like "$(cat "$t/out")" '"wrote":"talk.lua","kind":"model"' 'plugin new model'
"$sg" plugin add talk.lua >"$t/out" 2>&1
is $? 0 'it is added'
printf 'local c = require "sandglass.config"\nc.models = { talk = { plugin = "talk", key = "MINE_API_KEY", url = "http://127.0.0.1:%s/v1" } }\nreturn c\n' \
	"$(cat plain_model.port)" >config.lua
cat >agent.lua <<'L'
local sg = require "sandglass"
local box <close> = sg.sandbox {}
local r = assert(sg.agent.run { model = "talk:some-model", box = box, tools = { "shell" }, task = "Say what the box says." })
print(("said %s; in %d, out %d"):format(r.text, r.usage["in"], r.usage.out))
L
timeout 60 "$sg" run --no-tui --config config.lua --name agent agent.lua </dev/null >"$t/out" 2>&1
like "$(cat "$t/out")" 'it says from the box' 'an agent works with it'
like "$("$sg" events agent)" 'in 220, out 12' 'its tokens are counted'

for i in 'theme x' 'sandbox ../x' 'sandbox' 'sandbox mine'; do
	# shellcheck disable=SC2086
	"$sg" plugin new $i >"$t/out" 2>&1
	like "$?$(tr '\n' ' ' <"$t/out")" '^[12].*(expected|missing argument|already exists)' "plugin new $i: told why not"
done
finish
