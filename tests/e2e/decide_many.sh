#!/usr/bin/env bash
# One command or a filter decides several pending actions; an action of high risk is approved alone.
. "$(dirname "$0")/lib.sh"
sg=$SANDGLASS
need_boxes
need jq
cd "$t" || exit 1
export SANDGLASS_SESSIONS=$t/sessions
cat >many.lua <<'L'
local sg = require "sandglass"
local box = sg.sandbox { name = "work" }
for i, cmd in ipairs { "echo one", "echo two", "echo three", "echo four", "true five", "true six" } do
  sg.spawn(function() sg.note(("%d %s"):format(i, (box:exec(cmd)) and "ran" or "not")) end)
end
L
cat >ask.lua <<'L'
local p = require "sandglass.policy"
return p.rules { default = "ask", p.ask "true" { cmd = "true ...", risk = "high" } }
L
id=$("$sg" run -d --policy ask.lua many.lua 2>out | tail -1)
held() { "$sg" ls --waiting | sed -n "s/^$id#\([0-9]*\) .*exec: $1.*/\1/p"; }
six() { [ "$("$sg" ls --waiting | grep -c exec)" -eq 6 ]; }
wait_for 30 six
ok $? "six actions wait"
one=$(held 'echo one') two=$(held 'echo two') three=$(held 'echo three') five=$(held 'true five') six=$(held 'true six')
"$sg" approve "$one" "$five" >out 2>&1
is $? 2 "high risk is approved alone"
is "$("$sg" ls --waiting | grep -c exec)" 6 "and nothing is decided"
short=${id%???}
"$sg" approve "$short#$one" "s-other#$two" >out 2>&1
is "$? $("$sg" ls --waiting | grep -c exec)" "2 6" "IDs of two sessions are refused"
"$sg" approve "$short#$one" "$short#$two" >out 2>&1
is $? 0 "two at once, with the beginning of the session's ID"
"$sg" approve "$one" "$three" >out 2>&1
is $? 1 "one that is decided is named"
"$sg" deny --filter 'cmd~"^true"' </dev/null >out 2>&1
is $? 1 "a filter asks before it denies"
is "$(grep -c true out)" 2 "after it has listed what it found"
"$sg" deny --filter 'not exit:0' --yes </dev/null >out 2>&1
is $? 2 "a filter over the end of an action can't select pending ones"
"$sg" deny --filter 'cmd~"^true"' --yes --rule x </dev/null >out 2>&1
is $? 2 "a rule is made from one action"
"$sg" deny >out 2>&1
is $? 2 "neither an ID nor a filter"
"$sg" deny --filter 'cmd~"^true"' --yes -m 'not now' </dev/null >out 2>&1
is $? 0 "with --yes it denies"
decided() { "$sg" events "$id" --json | jq -r 'select(.kind == "action.decided") | "\(.action) \(.body.decision)"' | sort -n | xargs; }
is "$(decided)" "$(printf '%s\n' "$one approve" "$two approve" "$three approve" "$five deny" "$six deny" | sort -n | xargs)" "each stands in the recording"
"$sg" run --hold 'no:such' many.lua >out 2>&1 </dev/null
is $? 2 "a wrong breakpoint is an error of the command line"
is "$(find sessions -name '*.glass' | wc -l)" 1 "and leaves no session"
finish
