#!/usr/bin/env bash
# Analysis of recorded sessions: a policy applied to the past, rules mined from users' answers and tested on them,
# sessions side by side, and statistics of many.
. "$(dirname "$0")/lib.sh"
need_boxes
sg=$SANDGLASS
cd "$t" || exit 1
cat >asks.lua <<'L'
local p = require "sandglass.policy"
return p.rules { default = "boxed", p.ask "notes" { cmd = { "touch *", "rm *" } } }
L
cat >work.lua <<'L'
local sg = require "sandglass"
local a = sg.args { last = "echo end" }
local box <close> = sg.sandbox { name = "b" }
for _, cmd in ipairs { "true", "touch one.txt", "rm precious.txt", "touch two.txt", a.last } do
  local r, e = box:exec(cmd)
  print(cmd, r and r.code or e.code)
end
L
held() { "$sg" state -S "$1" --json 2>/dev/null | grep -oE '"action": ?[0-9]+' | head -1 | grep -oE '[0-9]+'; }
is_held() { [ -n "$(held "$1")" ]; }
other() { h=$(held "$1") && [ -n "$h" ] && [ "$h" != "$2" ]; }
ended() { ! "$sg" ls --live 2>/dev/null | grep -q "$1"; }
narrow() { # text, name: fits on a terminal of 80 columns
	is "$(printf '%s\n' "$1" | awk 'length($0) > 80')" '' "$2"
}
session() { # name, last command, answers: runs, a person approves what touches and denies what removes; sets s
	local line before=0 h
	line=$("$sg" run -d work.lua --policy asks.lua --name "$1" --json -- --last "$2" 2>out)
	s=$(printf '%s' "$line" | grep -oE '"session":"[^"]*' | cut -d'"' -f4)
	for verb in ${3:-approve deny approve}; do
		wait_for 30 other "$s" "$before" || break
		h=$(held "$s")
		wait_for 10 "$sg" $verb "$h" -S "$s" -m because
		before=$h
	done
	wait_for 30 ended "$s"
}
session one 'echo end'
one=$s
session two 'echo other'
two=$s
"$sg" verify "$one" >out 2>&1
is $? 0 'a session with three answers of a person'

cat >same.lua <<'L'
local p = require "sandglass.policy"
return p.rules { default = "boxed", p.ask "notes" { cmd = { "touch *", "rm *" } } }
L
out=$("$sg" policy past same.lua 2>&1)
is $? 0 'the same policy: nothing would be another answer'
like "$out" '^10 actions of 2 sessions: 10 the same' 'as the sum says'
cat >loose.lua <<'L'
local p = require "sandglass.policy"
return p.rules { default = "boxed", p.deny "no-true" { cmd = "true" }, p.ask "ends" { cmd = "echo end" } }
L
out=$("$sg" policy past loose.lua 2>&1)
is $? 1 'a looser policy would allow what a person denied: status 1'
like "$out" "$one#[0-9]+  you denied it, would be allowed: exec rm precious.txt" 'named with its session and event'
like "$out" "ran, would be denied: exec true  \(no-true, line 2\)" 'what would be denied, by which line'
like "$out" 'ran unasked, would ask: exec echo end' 'what would ask'
cat >when.lua <<'L'
local p = require "sandglass.policy"
return p.rules { default = "boxed", p.ask "asks" { cmd = "echo end", when = function() return false end } }
L
like "$("$sg" policy past when.lua 2>&1)" 'ran unasked, would ask: exec echo end  \(asks, line 2: its function would decide\)' 'a decision of a function is marked as such'
table=$(printf '%s\n' "$out" | sed -n '/^actions sessions/,/^$/p')
is "$(printf '%s\n' "$table" | grep -v '^ ' | tr '\n' '|')" 'actions sessions  first            what|you denied it, would be allowed|was denied or asked, would be allowed|ran unasked, would ask|ran, would be denied|' \
	'a table of kinds, what is against a person first'
like "$table" "^ +2 +2  s-[a-z0-9]+#[0-9]+ +exec rm \*  \(default\)" 'by program: how often, in how many sessions'
narrow "$table" 'on 80 columns'
unlike "$("$sg" policy past loose.lua -q 2>&1)" '#[0-9]+  ran, would be denied' '-q: that table and what a person denied'
out=$("$sg" policy past loose.lua "$two" --filter 'cmd:"touch*"' --json 2>&1)
is $? 0 'one session, some actions'
is "$(printf '%s\n' "$out" | python3 -c 'import json,sys; r=[json.loads(l) for l in sys.stdin]; print(r[-1]["actions"], r[-1]["now_allowed"], r[0]["what"])' 2>&1)" '2 2 touch one.txt' 'as JSON'
fails 'no such policy: the file is named' "2 noent 'nofile.lua'" "$sg" policy past nofile.lua
echo 'return 7' >wrong.lua
out=$("$sg" policy past wrong.lua 2>&1)
is $? 3 'a file that is not a policy'

"$sg" policy mine >mined.lua 2>out
is $? 0 'rules from what people said'
like "$(cat mined.lua)" 'answer 4 of .*4 approvals.* 2 denials' 'proved on the past'
like "$(cat mined.lua)" 'p.allow "mined-1" \{ kind = "exec", cmd = "touch ' 'as a rule'
unlike "$(cat mined.lua)" '"rm' 'and no rule for denied commands'
"$sg" policy check mined.lua >out 2>&1
is $? 0 'it is a policy file'
cat asks.lua >both.lua && sed -n 's/^  p.allow "mined-1" { \(.*\) },.*/\1/p' mined.lua >rule
sed -i "s/return p.rules { default = \"boxed\",/&\n  p.ask \"mined\" { $(tr -d '\n' <rule) },/" both.lua
"$sg" policy past both.lua >out 2>&1
is $? 0 'with the rule that asks nothing is allowed that a person denied'

out=$("$sg" compare "$one" "$two" 2>&1)
is $? 1 'two sessions that part'
is "$(printf '%s\n' "$out" | grep -c ' $')" 0 'no line ends with a blank'
like "$out" "the first 4 actions are the same; both did 4 of " 'where'
like "$out" "^  - $one#[0-9]+ +exec +echo end -> exit 0" 'what the one did'
like "$out" "^  \+ $two#[0-9]+ +exec +echo other -> exit 0" 'and the other'
like "$out" "$two +ok .* B +a" 'another way, the same files'
"$sg" compare "$one" "$two" --filter 'cmd:"touch*"' >out 2>&1
is $? 0 'compared in what matches, they are the same'
out=$("$sg" compare "$one" "$two" "$one" 2>&1)
like "$out" '2 ways, 1 end among 3 sessions' 'three of them: clusters'
narrow "$out" 'on 80 columns'
out=$("$sg" compare "$one" "$one" "$two" 2>&1)
like "$out" "^$two .* B +a$" 'each new session gets the next letter'
is "$("$sg" compare "$one" "$two" --json | python3 -c 'import json,sys; r=[json.loads(l) for l in sys.stdin]; print(r[2]["same_from_start"], r[2]["same"], r[2]["same_way"], r[0]["tree"]==r[1]["tree"])')" '4 4 False True' 'as JSON'
out=$("$sg" replay "$one" "$two" --screen --view compare --size 120x36 2>&1)
like "$out" "^>> .*#[0-9]+ .* [!<>] " 'as a screen: where they part is marked'
file=$(ls "$HOME"/.local/share/sandglass/sessions/*"${one#s-}".glass)
cp "$file" copy.glass
for say in right wrong; do
	echo "return { { call = { \"shell\", { cmd = \"echo $say\" } } }, { call = { \"shell\", { cmd = \"true\" } } }, { say = \"Done.\" } }" >$say.lua
	echo 'local sg = require "sandglass" local b <close> = sg.sandbox { name = "b" } assert(sg.agent.run { task = "t", box = b, name = "a" })' >ask.lua
	"$sg" run ask.lua --model scripted:$say.lua --name $say --no-tui --no-input --sessions models >out 2>&1 </dev/null
done
out=$("$sg" compare right wrong --sessions models 2>&1)
like "$out" ': the first action is the same; both did 4 of ' 'two models with the same task and different actions: the model itself is not a difference'
like "$out" 'model scripted:right.lua' 'but is shown'
session four 'echo end' 'deny deny deny'
out=$("$sg" compare "$one" "$s" 2>&1)
like "$out" ': the first action is the same; both did 3 of 5 and 5' 'the same action with another outcome is a difference, as on the screen'
rm -f "$HOME"/.local/share/sandglass/sessions/*"${s#s-}".glass
first=$(sqlite3 -readonly copy.glass 'SELECT min(seq) FROM event WHERE kind = 100')
"$sg" redact "./copy.glass#$first" --why 'a secret' --yes >out 2>&1 </dev/null
is $? 0 'an action is redacted in a copy'
out=$("$sg" compare "$one" ./copy.glass 2>&1)
is $? 1 'which is not taken for the same'
like "$out" "[+] $one#$first +.*\(redacted in $one\) -> exit 0" 'nor left out of its actions'
out=$("$sg" policy past same.lua ./copy.glass 2>&1)
like "$out" '^4 actions of 1 session' 'a policy judges what is left'
is "$("$sg" policy past same.lua ./copy.glass --json | tail -1 | jq .redacted)" 1 'and counts what it could not judge'
out=$("$sg" policy mine --filter cmd:true 2>&1)
like "$? $out" '^1 sandglass: policy: no rules found: you approved no action' 'no approvals, no rules: a sentence'
out=$("$sg" compare "$one" 2>&1)
is $? 2 'one alone'

out=$("$sg" report 2>&1)
is $? 0 'a report'
like "$out" '^2 sessions, 2 succeeded; 10 actions' 'the sum'
narrow "$out" 'on 80 columns'
like "$out" "^$one ok +.* one$" 'a session in a line, its name last'
like "$out" '^  [0-9-]{10} #{24} +0\.0000 +2 +10 +0$' 'a day in figures that stand below each other'
like "$out" 'notes +6 +4 +2 ' 'how often a rule asked and what people said'
like "$("$sg" report --json | tail -1)" '"sessions":2,"ok":2,"actions":10' 'as JSON'
# of rules that were mined each is needed: without it fewer of the past approvals are answered
sed -i 's/"rm \*"/&, "mkdir *"/' asks.lua
session three 'mkdir made' 'approve deny approve approve'
"$sg" policy mine 2>out | sed 's/return p.rules {/& default = "careful",/' >mined.lua
is "$(grep -c 'p.allow "mined-' mined.lua)" 2 'a third session: two rules'
answered() { "$sg" policy past "$1" -q 2>&1 | sed -n 's/^.* \([0-9]*\) now allowed.*/\1/p'; }
all=$(answered mined.lua)
for rule in 1 2; do
	sed "/\"mined-$rule\"/d" mined.lua >less.lua
	less=$(answered less.lua)
	[ "${all:-0}" -ge 7 ] && [ "${less:-$all}" -lt "$all" ]
	ok $? "without rule $rule fewer are answered: $less of $all"
done
is "$("$sg" policy past mined.lua -q 2>&1 | grep -c 'you denied')" 0 'none allows what a person denied'

out=$("$sg" report --since never 2>&1)
is $? 2 'an invalid span'
out=$("$sg" report --since 99999999999999d 2>&1)
is $? 2 'nor one that is longer than time'
finish
