#!/usr/bin/env bash
# verify --repeat: recorded commands are repeated in fresh sandboxes, with a verdict for each.
. "$(dirname "$0")/lib.sh"
sg=$SANDGLASS
need_boxes
cd "$t" || exit 1
export SANDGLASS_SESSIONS=$t/sessions
mkdir repo && git init -q repo && echo one >repo/a.txt && git -C repo add . && git -C repo commit -qm x
cat >five.lua <<'L'
local sg = require "sandglass"
local box <close> = sg.sandbox { repo = "repo", name = "work" }
box:exec "cat a.txt; echo two >>a.txt"
box:exec "cat /proc/sys/kernel/random/uuid >stamp"
box:exec "cat /proc/sys/kernel/random/uuid"
box:exec "cat a.txt; exit 3"
box:exec "cat a.txt; echo x >last"
box:exec "cp a.txt z.built"
box:exec "sleep 0.05; echo more >>a.txt"
box:exec "test a.txt -nt z.built && cp a.txt z.built; cat z.built"
pcall(box.exec, box, "echo forbidden")
L
printf 'local p = require "sandglass.policy"\nreturn p.rules { default = "boxed", p.deny "no" { cmd = "echo forbidden" } }\n' >policy.lua
"$sg" run --no-tui --no-input five.lua --policy policy.lua >out 2>&1 </dev/null
id=$(sed -nE 's/.* session: (s-[a-z0-9]+) .*/\1/p' out | head -1)
file=$(ls sessions/*.glass) before=$(sha256sum <"$file")
"$sg" verify "$id" --repeat all --json --junit junit.xml >json 2>err
is $? 1 'what differs fails the verification'
verdicts() { python3 -c '
import json, sys
for l in open("json"):
    i = json.loads(l)
    if i.get("group") == "redo": print(i["result"], i["text"].split(":")[0], sep=" ")'; }
is "$(verdicts)" 'ok same
failed tree differs
failed output differs
ok same
ok same
ok same
ok same
ok same' 'a verdict for each command that ran, each on the files of its time, which are as old as they were'
like "$(grep '"tree differs' json)" 'stamp' 'the path is named'
like "$(cat junit.xml)" 'tree differs: stamp' 'also in the JUnit report'
is "$(sha256sum <"$file")" "$before" 'the record itself is only read'
again=$("$sg" ls --json | grep -oE '"session":"s-[a-z0-9]+"|"id":"s-[a-z0-9]+"' | grep -oE 's-[a-z0-9]+' | grep -v "$id" | head -1)
"$sg" verify "$again" >out 2>&1
is $? 0 'the second runs are a record of their own, whole'
is "$("$sg" events "$again" --json | grep -c '"kind":"redo.ended"')" 8 'with each of them'
"$sg" verify "$id" --repeat 1 >out 2>err
is $? 0 'only the last one'
like "$(cat out)" 'ok +redo +#[0-9]+ test a.txt -nt z.built .*: same' 'as people read it'
"$sg" verify "$id" --repeat none >out 2>&1
like "$? $(cat out)" "^2 sandglass: verify: --repeat: expected all or a number" 'what is neither is refused at once'
# a range: one after the other, up to the first that is not the same
mapfile -t act < <("$sg" events "$id" --json | grep '"kind":"action.requested"' | grep -oE '"seq":[0-9]+' | cut -d: -f2)
timeout 60 "$sg" repeat "$id#${act[0]}..${act[4]}" >out 2>err </dev/null
is $? 1 'a range with a difference in it'
is "$(grep -c 'repeated as' out)" 2 'stops there'
like "$(tail -1 out)" '^2 of 5 commands run again: stopped at the first difference$' 'and the summary reports the stop'
timeout 60 "$sg" repeat "$id#${act[3]}..${act[4]}" --in fresh --backend process >out 2>err </dev/null
like "$? $(tail -1 out)" '^0 2 of 2 commands the same$' 'a range without one'
timeout 60 "$sg" repeat "$id#${act[3]}..1" >out 2>&1
like "$? $(cat out)" '^2 .*ends before it starts' 'a range the wrong way round'
printf 'local sg = require "sandglass"\nsg.mark "x"\n' >none.lua
"$sg" run --no-tui --no-input none.lua >out 2>&1 </dev/null
id=$(sed -nE 's/.* session: (s-[a-z0-9]+) .*/\1/p' out | head -1)
"$sg" verify "$id" --repeat all >out 2>err
like "$? $(cat out)" 'skip +redo +commands: no command ran' 'nothing to run again'
finish
