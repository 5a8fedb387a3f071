#!/usr/bin/env bash
# Interrupted sessions: ls names the command, and `resume --all` resumes each of them and no other.
. "$(dirname "$0")/lib.sh"
sg=$SANDGLASS
cd "$t" || exit 1
printf 'local sg = require "sandglass"\nsg.sleep(6)\nprint "to the end"\n' >r.lua
printf 'print "at once"\n' >done.lua
"$sg" run --no-tui -q done.lua </dev/null >out 2>&1
kill_it() { kill -9 "$("$sg" events "$1" --json | grep -oE '"pid":[0-9]+' | head -1 | grep -oE '[0-9]+')"; }
one=$("$sg" run -d r.lua </dev/null) two=$("$sg" run -d r.lua </dev/null)
kill_it "$one" && kill_it "$two"
off() { [ "$("$sg" ls | grep -c 'broken off')" = 2 ]; }
wait_for 10 off
ok $? 'two were broken off'
like "$("$sg" ls)" "$one +broken off.*continue it with 'sandglass resume $one'" 'ls names the command to resume them'
like "$("$sg" ls --json)" "\"resume\":\\[\"sandglass\",\"resume\",\"$two\"\\]" 'for programs, too'
is "$("$sg" resume --all 2>out </dev/null | sort | tr '\n' ' ')" "$(printf '%s\n' "$one" "$two" | sort | tr '\n' ' ')" 'resume --all resumes both'
over() { [ "$("$sg" ls | grep -c ' ended ')" = 3 ]; }
wait_for 20 over
ok $? 'they come to their ends'
for s in $one $two; do like "$("$sg" events "$s")" 'to the end' "$s went on"; done
like "$("$sg" resume --all 2>&1)" 'no interrupted session' 'then there is nothing to do'
"$sg" resume --all "$one" >out 2>&1
is $? 2 'one session or all'
finish
