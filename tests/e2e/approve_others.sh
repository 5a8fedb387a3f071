#!/usr/bin/env bash
# A session approval or a new rule also decides other pending actions. They are named first, and only the named ones are
# decided, each with its own decision. From the command line, from line mode, and from the screen.
. "$(dirname "$0")/lib.sh"
need_boxes
sg=$SANDGLASS
export TZ=UTC
mkdir -p "$t/p"
cd "$t/p" || exit 1
cat >policy.lua <<'L'
local p = require "sandglass.policy"
return p.rules { p.ask "no-push" { cmd = "echo push *", why = "publishing needs a person" } }
L
cat >many.lua <<'L'
local sg = require "sandglass"
local box <close> = sg.sandbox { name = "work" }
sg.map({ "fix/a", "fix/b", "fix/c", "main" }, function(ref)
  local r, err = box:exec("echo push " .. ref, { parallel = true })
  print(r and "ran " .. ref or "not run " .. ref .. ": " .. tostring(err))
end)
L
number() { "$sg" state -S "$1" --json 2>/dev/null | grep -oE '\{"kind":"exec"[^{}]*"cmd": ?"echo push '"$2"'"[^{}]*' | grep -oE '"action": ?[0-9]+' | grep -oE '[0-9]+$'; }
waits() { [ "$("$sg" ls --waiting 2>/dev/null | grep -c "$1")" -eq "$2" ]; }
begin() { "$sg" run -d many.lua --policy policy.lua --name "$1" </dev/null 2>"$t/out" | grep -oE 's-[0-9a-z]+' | head -1; }
decided() { "$sg" events "$1" --filter "kind:decided" --json 2>/dev/null | grep -c '"with"'; }

one=$(begin one)
wait_for 30 waits "$one" 4
ok $? 'four pushes wait'
a=$("$sg" ls --waiting | grep "$one.*fix/a" | grep -oE '#[0-9]+' | tr -d '#')
b=$("$sg" ls --waiting | grep "$one.*fix/b" | grep -oE '#[0-9]+' | tr -d '#')
c=$("$sg" ls --waiting | grep "$one.*fix/c" | grep -oE '#[0-9]+' | tr -d '#')
"$sg" approve "$a" --session 'echo push fix/*' -S "$one" </dev/null >"$t/out" 2>&1
is $? 0 'a pattern that answers others, nobody at a terminal'
like "$(cat "$t/out")" "it also answers #$b .*echo push fix/b" 'it names them'
like "$(cat "$t/out")" "they stay held; to decide them as well: --others $b,$c" 'and says how they would go along'
wait_for 30 waits "$one" 3
ok $? 'which they did not'
"$sg" approve "$b" --rule 'echo push fix/*' --others "$c,x" -S "$one" >"$t/out" 2>&1
like "$?$(cat "$t/out")" "^2.*--others" 'an invalid list is an error'
"$sg" approve "$b" --others "$c" -S "$one" >"$t/out" 2>&1
like "$?$(cat "$t/out")" "^2.*requires --session or --rule" '--others needs a pattern'
"$sg" approve "$b" --rule 'echo push fix/*' --others "$c" -S "$one" >"$t/out" 2>&1
is $? 0 'a rule, with those that were named'
wait_for 30 waits "$one" 1
ok $? 'two went'
out=$("$sg" events "$one" --json | grep action.decided)
like "$out" "\"with\": ?$b" 'the other one has a decision of its own, that says with which'
like "$(printf '%s' "$out" | grep '"with"')" '"by": ?"human".*"who": ?\{|"who": ?\{.*"by": ?"human"' 'by the person'
"$sg" deny "$("$sg" ls --waiting | grep "$one" | grep -oE '#[0-9]+' | tr -d '#')" -S "$one" >"$t/out" 2>&1
ended() { ! "$sg" ls --live 2>/dev/null | grep -q "$1"; }
wait_for 30 ended "$one"
"$sg" verify "$one" >"$t/out" 2>&1
is $? 0 'the record verifies'
rm -rf .sandglass

need tmux
tm() { tmux -S "$t/tmux" "$@"; }
shows() { tm capture-pane -p -t "$1" >"$t/out"; grep -qE -- "$2" "$t/out"; }
type_() { tm send-keys -t "$1" -- "${@:2}"; }
two=$(begin two)
wait_for 30 waits "$two" 4
tm -f /dev/null new-session -d -s con -x 100 -y 30 "LC_ALL=C.UTF-8 $sg attach $two; exec sleep 60"
wait_for 30 shows con 'pending approvals 4'
ok $? 'the console'
type_ con a
wait_for 30 shows con 'approve for session'
sleep 0.6
type_ con s
wait_for 30 shows con 'exactly this'
type_ con j
wait_for 30 shows con 'and lets run at once 2 others'
ok $? 'the second screen says what would go along'
like "$(cat "$t/out")" '#[0-9]+ +echo push fix/[bc]' 'by number and command'
sleep 0.6
type_ con Enter
wait_for 30 waits "$two" 1
ok $? 'Enter lets exactly those go'
like "$("$sg" ls --waiting)" "$two.*echo push main" 'the one that the pattern does not match waits'
"$sg" stop --now -S "$two" >/dev/null 2>&1

three=$(begin three)
wait_for 30 waits "$three" 4
tm new-session -d -s line -x 120 -y 50 "LC_ALL=C.UTF-8 $sg attach --no-tui $three; exec sleep 60"
wait_for 30 shows line '[0-9]+> *$'
type_ line 3 Enter
wait_for 30 shows line 'pattern of the rule'
type_ line 'echo push fix/*' Enter
wait_for 30 shows line 'yes to save>'
like "$(cat "$t/out")" 'also approves the pending event [0-9]+ echo push fix/' 'line mode names them'
type_ line yes Enter
wait_for 30 waits "$three" 1
ok $? 'and yes lets them go'
tm kill-server
finish
