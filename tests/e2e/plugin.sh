#!/usr/bin/env bash
# A user's own plugins by name: added, listed, used for a sandbox and for a model, removed. An invalid plugin is an
# error.
. "$(dirname "$0")/lib.sh"
sg=$SANDGLASS
cd "$t" || exit 1
own=$HOME/.local/share/sandglass/plugins
cat >mine.lua <<'L'
-- Mine: boxes that cannot be had
local p = require "sandglass.plugin"
return { kind = "sandbox", name = "mine", url = "https://boxes.example.org", hosts = p.list { "boxes.example.org", "*.example.net" },
  open = function(o, host) host.fail("bad", "mine has been asked") end, exec = function() end, close = function() end }
L
cat >talk.lua <<'L'
-- Talk: a model that cannot be reached
local p = require "sandglass.plugin"
return { kind = "model", name = "talk", url = "http://127.0.0.1:9", hosts = p.list { "127.0.0.1" }, env = { key = "TALK_KEY" },
  request = function(req) return nil, { msg = "talk has been asked" } end, event = function() end, finish = function() end }
L
"$sg" plugin add mine.lua >"$t/out" 2>&1
is $? 0 'plugin add'
like "$(cat "$t/out")" '^added mine, sandbox; it may ask to reach boxes.example.org, \*.example.net$' 'says what it may reach'
like "$(cat "$t/out")" 'backend = "mine"' 'and how it is used'
is "$(cat "$own/sandboxes/mine.lua")" "$(cat mine.lua)" 'it lies where the help says'
"$sg" plugin add talk.lua >"$t/out" 2>&1
like "$?$(cat "$t/out")" '^0added talk, model; .*its key is TALK_KEY' 'a model'
like "$("$sg" plugin ls)" 'mine +sandbox +Mine: boxes that cannot be had  \(yours\)' 'plugin ls'
like "$("$sg" plugin ls --json)" '"name":"talk","kind":"model",.*"path":"[^"]*/models/talk.lua"' 'with --json where it lies'

like "$("$sg" doctor)" '^(-|ok) +mine sandboxes +no key needed' 'doctor knows it'
like "$("$sg" complete -- run --backend mi)" '^mine	yours$' 'completion offers it'
like "$("$sg" complete -- run --backend '' | tr '\n' ' ')" 'process.*container.*daytona' 'beside the kinds of the program'
is "$("$sg" complete -- export --format as | cut -f1 | tr '\n' ' ')$("$sg" complete -- run --agent cod | cut -f1)" 'asciicast-v2 asciicast-v3 codex' 'and the values of other options'
mv mine.lua talk.lua "$t/home" # by name alone from now on
printf 'require("sandglass").sandbox { backend = "mine" }\n' >box.lua
timeout 60 "$sg" run --no-tui box.lua </dev/null >"$t/out" 2>&1
like "$(cat "$t/out")" 'mine has been asked' 'a box of it'
wrong() { # fields of a face in Lua, the expected error
	printf 'return { kind = "sandbox", %s }\n' "$1" >wrong.lua
	timeout 60 "$sg" run --no-tui --backend ./wrong.lua any.lua </dev/null >"$t/out" 2>&1
	like "$(tail -1 "$t/out")" "the plugin './wrong.lua'$2" "one that is wrong: $2"
}
printf 'require("sandglass").sandbox {}\n' >any.lua
f='open = function() end, exec = function() end'
wrong "$f, close = function() end" " has no 'name'$"
wrong "name = 'x', $f" " has no function 'close'$"
wrong "name = 'x', close = 5, $f" " has no function 'close'$"
wrong "name = 'x', close = function() end, hosts = 5, $f" ": 'hosts' is to be a list of texts$"
timeout 60 "$sg" run --no-tui --backend mine any.lua </dev/null >"$t/out" 2>&1
like "$(cat "$t/out")" 'mine has been asked' 'by --backend as well'
"$sg" run --backend mne any.lua </dev/null >"$t/out" 2>&1
like "$?$(cat "$t/out")" "^2.*did you mean 'mine'" 'a misspelt one'
printf 'local c = require "sandglass.config"\nc.models = { talk = { plugin = "talk", key = "TALK_KEY" } }\nreturn c\n' >config.lua
printf 'local sg = require "sandglass"\nlocal c = sg.chat { model = "talk:one" }\nc:user "hello"\nprint(select(2, c:send()))\n' >model.lua
TALK_KEY=not-a-real-key timeout 60 "$sg" run --no-tui --config config.lua model.lua </dev/null >"$t/out" 2>&1
like "$(cat "$t/out")" 'talk has been asked' 'a model of it'

cp home/mine.lua .
"$sg" plugin add mine.lua >"$t/out" 2>&1
like "$?$(cat "$t/out")" '^1.*already exists' 'one that is there is not written over'
sed -i 's/has been asked/is another now/' mine.lua
"$sg" plugin add mine.lua --force --json >"$t/out" 2>&1
is $? 0 'but with --force'
like "$(cat "$t/out")" '^\{"schema":1,"added":"mine","kind":"sandbox","path":"[^"]*/sandboxes/mine.lua","hosts":\["boxes.example.org","\*.example.net"\]' 'which --json says for a program'
timeout 60 "$sg" run --no-tui box.lua </dev/null >"$t/out" 2>&1
like "$(cat "$t/out")" 'mine is another now' 'and is used'
refused() { # file, status, expression, name
	"$sg" plugin add "$1" --json >"$t/out" 2>&1
	like "$?$(grep '^{' "$t/out" | jq -r .error.text)" "^$2.*$3" "$4"
}
cp mine.lua e2b.lua; cp mine.lua host.lua; cp mine.lua 'a b.lua'
echo 'return { kind = "theme" }' >theme.lua
echo 'return {' >half.lua
refused e2b.lua 2 "'e2b' is built in" 'the name of a plugin of the program'
refused host.lua 2 "'host' is built in" 'the name of a driver'
refused 'a b.lua' 2 "got 'a b'" 'an invalid name'
refused theme.lua 3 'not a plugin: expected kind' 'another kind of file'
refused half.lua 3 'half.lua:' 'a file with a mistake: its line'
refused nowhere.lua 2 'nowhere.lua' 'no file'
is "$(find "$own" -type f | wc -l)" 2 'nothing of it was kept'
"$sg" plugin rm mine >"$t/out" 2>&1
like "$?$(cat "$t/out")" '^0removed mine, sandbox' 'plugin rm'
is "$(ls "$own/sandboxes")" '' 'it is gone'
"$sg" plugin rm talk --json >"$t/out" 2>&1
like "$?$(cat "$t/out")" '^0\{"schema":1,"removed":"talk","kind":"model","path":' 'with --json as an object'
"$sg" plugin rm mine >"$t/out" 2>&1
is $? 2 'a missing plugin cannot be removed'
finish
