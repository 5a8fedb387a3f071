#!/usr/bin/env bash
# A paused action is not pending approval: the user is not notified, and the handoff summary lists it with the pending
# actions.
. "$(dirname "$0")/lib.sh"
need_boxes
sg=$SANDGLASS
cd "$t" || exit 1
cat >two.lua <<'L'
local sg = require "sandglass"
local box <close> = sg.sandbox { name = "two" }
for _, cmd in ipairs { "true", "echo decided" } do
  local r, err = box:exec(cmd)
  print(r and "ran" or ("not run: " .. tostring(err)))
end
local yes = sg.ask "go on?"
L
id=$("$sg" run -d two.lua --step --hold 'cmd~"echo"' --name one --notify "echo told >>$t/told" </dev/null 2>"$t/out" | grep -oE 's-[0-9a-z]+')
stands() { "$sg" events "$id" --json | grep -q '"reasons": *\["pause"\]'; }
wait_for 30 stands
ok $? "a session that is paused before its first action"
like "$("$sg" ls)" "^$id +running .* one\$" "ls: it runs, and nothing is held"
like "$("$sg" ls --json)" '"held":0,"asks":0' "nor in its JSON"
is "$("$sg" ls --waiting --json | wc -l)" 0 "ls --waiting: nothing"
like "$("$sg" </dev/null)" "^$id running  one\$" "sandglass without a word: it runs"
like "$("$sg" show "$id" --handoff)" "PENDING APPROVAL: nothing" "the handover: nothing waits"
like "$("$sg" show "$id" --handoff)" "PAUSED .*\(1\)" "but for somebody who lets it go on"
like "$("$sg" show "$id" --handoff | grep -A1 exec:)" 'why: paused by a user' "with what it is"
[ ! -e "$t/told" ]
ok $? "nobody was notified"
"$sg" continue -S "$id" >"$t/out" 2>&1
waits() { "$sg" ls | grep -q "^$id *waiting .*(1 held)"; }
wait_for 30 waits
ok $? "it goes on to what is held: that waits"
wait_for 30 test -e "$t/told"
ok $? "and the notification command is told"
"$sg" approve "$("$sg" ls --waiting | grep -oE '#[0-9]+' | tr -d '#')" -S "$id" >"$t/out" 2>&1
asks() { "$sg" ls | grep -q "^$id *waiting .*(1 question)"; }
wait_for 30 asks
ok $? "a question of the script waits, too"
like "$("$sg" show "$id" --handoff)" 'approved by [^ ]+ [0-9:]+ ago: echo decided' "a decision stands in the handover, with its age"
"$sg" stop --now -S "$id" >"$t/out" 2>&1
finish
