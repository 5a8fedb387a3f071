#!/usr/bin/env bash
# 'merge' and 'undo' without a session take the one with work that is newest, a running one first, and name it.
. "$(dirname "$0")/lib.sh"
need jq
. "$(dirname "$0")/merge.bash"
trap end_all EXIT
for repo in one two; do
	git init -q $repo
	echo $repo >$repo/a.txt
	git -C $repo add -A
	git -C $repo commit -qm base
	cat >$repo.lua <<-L
		local sg = require "sandglass"
		local box = sg.sandbox { repo = "$repo", name = "$repo" }
		assert(box:run(sg.args { work = "true" }.work))
		sg.ask { text = "continue?", choices = { "yes" } }
	L
done
begin() { # script, work: a session that waits; sets id
	id=$("$sg" run -d "$1.lua" -- --work "$2" 2>out)
	wait_for 30 asks
}
begin one 'echo new >a.txt'
first=$id
begin two true
"$sg" merge --apply >out 2>err
is "$? $(cat one/a.txt) $(grep -c "$first" err)" '0 new 1' 'of two running sessions, merge takes the one with unmerged work and names it'
"$sg" undo >out 2>err
is "$? $(cat one/a.txt) $(grep -c "$first" err)" '0 one 1' 'and undo the one with a merge'
begin two 'echo new >a.txt'
second=$id
"$sg" merge --apply >out 2>err
is "$? $(cat one/a.txt) $(cat two/a.txt) $(grep -c "$second" err)" '0 one new 1' 'sessions of two repositories: the newest'
begin one 'echo other >a.txt'
"$sg" merge --apply >out 2>err
is "$? $(cat one/a.txt) $(grep -c "$first" err) $(grep -c "$id" err)" '2 one 1 1' 'two sessions of one repository with unmerged work: it names both'
"$sg" merge --apply --in "$id" >out 2>err
is "$? $(cat one/a.txt)" '0 other' 'and takes the one that you name'
"$sg" stop --now -S "$first" >out 2>&1
"$sg" stop --now -S "$id" >out 2>&1
"$sg" stop --now -S "$second" >out 2>&1
wait_for 30 sh -c "[ \$('$sg' ls --live --json | grep -c '\"live\":true') = 1 ]"
"$sg" merge --to kept >out 2>err
is "$? $(git -C one show kept:a.txt) $(grep -c "$first" err)" '0 new 1' 'a running session without work: the newest that has ended with some, and its name'
id=$("$sg" run -d two.lua -- --work 'echo newer >a.txt; touch made; sleep 300' 2>out)
wait_for 30 sh -c "'$sg' events '$id' | grep -q 'exec.*sleep 300' && '$sg' events '$id' --json | grep -q action.started"
timeout 30 "$sg" merge -n >out 2>err
is "$(grep -c "$id" err) $(grep -c "$first" err)" '1 0' 'nor does one that has ended come before one in which a command runs'
finish
