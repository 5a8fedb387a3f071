#!/usr/bin/env bash
# sandglass test: scripts with scripted models and cassettes against golden lists.
. "$(dirname "$0")/lib.sh"
need_boxes
sg=$SANDGLASS
cd "$t" || exit 1
cat >many.lua <<'L'
local sg = require "sandglass"
local a = sg.args { lines = 3 }
local box <close> = sg.sandbox { name = "b", accept = "reduced" }
sg.map({ 1, 2, 3, 4 }, function(i)
  sg.sleep(math.random() / 50)
  assert(box:run("echo " .. i .. " > part" .. i))
  sg.note("part %d", i)
end)
local r = assert(sg.agent.run { name = "ann", task = "write it", box = box, tools = { "shell", "write" } })
sg.store("tests"):add("runs", 1)
box:exec "exit 3"
print(r.text, a.lines)
L
cat >many.script.lua <<'L'
return { { say = "I write", call = { "write", { path = "notes", data = "hello\n" } } }, { say = "written", expect = "" } }
L
out=$("$sg" test many.lua 2>&1 </dev/null)
is $? 1 'without a golden list it fails'
like "$out" "^1\.\.1" 'TAP: the plan'
like "$out" '^not ok 1 - many.lua' 'and the result'
like "$out" "'many.golden'.*--update" 'and what to do'
[ -e many.golden ]
is $? 1 'nothing is written'
"$sg" test many.lua --update >out 2>&1 </dev/null
is $? 0 'the golden list is written'
golden=$(cat many.golden)
like "$golden" '^  exec exit 3 -> exit 3$' 'it has the commands and how they ended'
like "$golden" '^agent ann: write it$' 'the agents'
like "$golden" '^  model -> I write; calls write \{"data":"hello\\\\?\\n","path":"notes"\}|^  model -> I write; calls write' 'what their models said'
like "$golden" '^  note: part 4$' 'the message'
like "$golden" '^  store tests: runs = 1$' 'the store, which begins empty'
like "$golden" '^  A part3 [0-9a-f]{8}$' 'the files of the box'
like "$golden" '^exit 0$' 'and how it ended'
unlike "$golden" '[0-9]{2}:[0-9]{2}:[0-9]{2}|#[0-9]|/tmp/' 'no time, number or folder'
wrong=0
for _ in 1 2 3 4 5 6; do "$sg" test many.lua >out 2>&1 </dev/null || wrong=$((wrong + 1)); done
is $wrong 0 'six more runs do the same, however their tasks are interleaved'
is "$(ls "$HOME/.local/share/sandglass/sessions" "$HOME/.local/share/sandglass/store" 2>/dev/null)" '' 'nothing of it is left among the user'"'"'s own'
"$sg" test many.lua -- --lines 9 >out 2>&1 </dev/null
is $? 1 'another argument, another text'
like "$(cat out)" '\+   print: written' 'shown'
sed -i 's/I write/I wrote/' many.script.lua
out=$("$sg" test many.lua 2>&1 </dev/null)
is $? 1 'one character of the model'
like "$out" "line [0-9]+ of 'many.golden' differs" 'is found'
like "$out" '^#   -   model -> I write;' 'the expected line'
like "$out" '^#   \+   model -> I wrote;' 'what came'
json=$("$sg" test many.lua --json 2>&1 </dev/null)
is $? 1 'the same for programs'
like "$json" '^\{"schema":1,"file":"many.lua","ok":false,.*"line":[0-9]+,"golden":"  model -> I write;.*"now":"  model -> I wrote;' 'as JSON'
echo 'local sg = require "sandglass" sg.exit(4, "no")' >no.lua
echo 'syntax error here' >bad.lua
echo 'require("sandglass").sleep(100)' >slow.lua
"$sg" test no.lua bad.lua --update >out 2>&1 </dev/null
is "$? $(tail -1 no.golden) $(tail -1 bad.golden)" '0 exit 4 exit 3' 'scripts that fail have a golden list, too'
out=$("$sg" test no.lua bad.lua nothere.lua many.lua 2>&1 </dev/null)
is $? 1 'several at once'
is "$(printf '%s\n' "$out" | grep -oE '^(not )?ok [0-9]|^1\.\..*' | tr '\n' ' ')" '1..4 ok 1 ok 2 not ok 3 not ok 4 ' 'each for itself'
out=$("$sg" test slow.lua --timeout 1 2>&1 </dev/null)
is $? 1 'a script that hangs'
like "$out" 'timed out' 'is ended'
"$sg" test >out 2>&1 </dev/null
is $? 2 'no script'
"$sg" test many.lua --timeout x >out 2>&1 </dev/null
is $? 2 'an invalid time'
none_left() { # of ours; others may be at it beside us
	[ -z "$(ls -d /tmp/sandglass-test-??????/sessions 2>/dev/null | while read -r d; do [ "$d" -nt "$t/many.lua" ] && [ -O "$d" ] && echo "$d"; done)" ]
}
wait_for 120 none_left
ok $? 'nothing is left'
finish
