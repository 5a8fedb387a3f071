#!/usr/bin/env bash
# Interrupted sessions: ls names the command, and `resume --all` resumes each of them and no other.
. "$(dirname "$0")/lib.sh"
sg=$SANDGLASS
cd "$t" || exit 1
printf 'local sg = require "sandglass"\nsg.sleep(6)\nprint "to the end"\n' >r.lua
printf 'print "at once"\n' >done.lua
printf 'local sg = require "sandglass"\nsg.sleep(6)\nprint(sg.ask("which?"))\n' >ask.lua
"$sg" run --no-tui -q done.lua </dev/null >out 2>&1
kill_it() { kill -9 "$("$sg" events "$1" --json | grep -oE '"pid":[0-9]+' | head -1 | grep -oE '[0-9]+')"; }
one=$("$sg" run -d r.lua </dev/null) two=$("$sg" run -d r.lua </dev/null)
kill_it "$one" && kill_it "$two"
off() { [ "$("$sg" ls | grep -c 'interrupted')" = 2 ]; }
wait_for 10 off
ok $? 'two were broken off'
like "$("$sg" ls)" "$one +interrupted.*continue it with 'sandglass resume $one'" 'ls names the command to resume them'
like "$("$sg" ls --json)" "\"resume\":\\[\"sandglass\",\"resume\",\"$two\"\\]" 'for programs, too'
is "$("$sg" resume --all 2>out </dev/null | sort | tr '\n' ' ')" "$(printf '%s\n' "$one" "$two" | sort | tr '\n' ' ')" 'resume --all resumes both'
over() { [ "$("$sg" ls | grep -c ' ended ')" = 3 ]; }
wait_for 20 over
ok $? 'they come to their ends'
for s in $one $two; do like "$("$sg" events "$s")" 'to the end' "$s went on"; done
like "$("$sg" resume --all 2>&1)" 'no interrupted session' 'then there is nothing to do'
# an archived one stays as it is, and the file names no command of the host
three=$("$sg" run -d ask.lua --notify "echo told >>$t/file_told" </dev/null)
kill_it "$three"
alone() { "$sg" ls | grep -q 'interrupted'; }
wait_for 10 alone
"$sg" archive --force "$three" >out 2>&1
is "$? $("$sg" resume --all 2>&1 </dev/null | grep -c 'no interrupted session')" '0 1' 'resume --all leaves an archived one alone'
"$sg" archive --restore "$three" >out 2>&1
mkdir -p "$HOME/.config/sandglass"
printf 'local c = require "sandglass.config"\nc.notify = { command = { "sh", "-c", "echo told >>%s/own_told" } }\nreturn c\n' "$t" >"$HOME/.config/sandglass/config.lua"
is "$("$sg" resume --all 2>out </dev/null)" "$three" 'restored, it is resumed'
wait_for 30 test -s own_told
is "$? $([ -e file_told ] && echo ran)" '0 ' 'the notices go to the command of the configuration, not of the file'
"$sg" stop --now -S "$three" >out 2>&1
"$sg" resume --all "$one" >out 2>&1
is $? 2 'one session or all'
finish
