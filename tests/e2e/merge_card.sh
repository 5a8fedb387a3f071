#!/usr/bin/env bash
# The card of a merge that waits for approval: conflicts are "none" only by a dry run of this very merge, on files as they
# are; the last test is a fact or unknown; drift counts what the recording does not name.
. "$(dirname "$0")/lib.sh"
sg=$SANDGLASS
need jq
need_boxes
cd "$t" || exit 1
export SANDGLASS_SESSIONS=$t/sessions
begin() { # the merge's options, commands before it: a session whose merge waits
	rm -rf repo
	git init -q repo
	seq 20 >repo/a.txt
	git -C repo add -A
	git -C repo commit -qm one
	cat >work.lua <<-L
		local sg = require "sandglass"
		local box = sg.sandbox { repo = "repo", name = "work" }
		assert(box:run "echo new >c.txt; echo x >a.txt")
		$2
		box:merge { $1 }
	L
	id=$("$sg" run -d work.lua 2>out)
	wait_for 60 sh -c "'$sg' ls --waiting | grep -q '^$id#'"
	what=$("$sg" ls --waiting | sed -n "s/^\($id#[0-9]*\) .*/\1/p" | head -1)
}
end() { "$sg" stop --now -S "$id" >out 2>&1; }
line() { "$sg" show "$what" | sed -n "s/^ *$1  *//p" | head -1; }
plan() { "$sg" merge -n -S "$id" "$@" </dev/null >out 2>&1; }

begin 'mode = "apply"' ''
like "$(line conflicts)" '^not checked' 'without a dry run nothing is said of conflicts'
unlike "$("$sg" show "$what")" 'r plans' 'a shell is told of no key of the console'
"$sg" out "$what" >out 2>err
is "$?,$(wc -c <out)" 0,0 'what has not run has no output'
like "$(cat err)" "#${what#*#} has no output" 'and that is said'
plan
like "$(line conflicts)" '^unknown' 'a dry run of another mode says nothing of this merge'
plan --apply --path c.txt
like "$(line conflicts)" '^unknown' 'nor does one of a part of the files'
plan --apply --ignored
like "$(line conflicts)" '^unknown' 'nor one with ignored files'
plan --apply
like "$(line conflicts)" '^none' 'the dry run of this merge does'
echo more >more
"$sg" sandbox cp more "$id:work:more.txt" </dev/null >out 2>&1
ok $? 'a file is put into the sandbox'
like "$(line conflicts)" '^unknown' 'a dry run before the newest change says nothing'
echo mine >repo/a.txt
plan
plan --apply
like "$(line conflicts)" '^1 in dry run' 'a conflict with your own change is counted'
like "$("$sg" show "$what")" '! ?a.txt' 'and named'
like "$(line drift)" '^1 file .* 1 of them here' 'and your change is drift'
git -C repo checkout -q a.txt
plan
like "$(line conflicts)" '^unknown' 'the newest plan is of another mode'
end

begin 'mode = "apply"' 'for i = 1, 3 do assert(box:run "true") end'
like "$(line 'last test')" '^no command' 'all commands were looked at: there is no test'
end
begin 'mode = "apply"' 'assert(box:run "make -v >/dev/null || true") for i = 1, 70 do assert(box:run "true") end'
like "$(line 'last test')" '^unknown' 'not all were: it is unknown'
end
begin 'mode = "apply"' 'assert(box:run "echo test; test -e c.txt") assert(box:run "sh -c \"test -e c.txt\"")'
like "$(line 'last test')" '^exit 0' 'a test that ran'
end

begin 'mode = "apply"' ''
"$sg" approve "$what" >out 2>&1
wait_for 30 sh -c "! '$sg' ls --live | grep -q '$id'"
is "$(line conflicts)" none 'a finished merge has its own conflicts'
end

begin 'mode = "apply"' ''
seq -f 'repo/f%g' 1300 | xargs touch
plan --apply
like "$(line drift)" '[0-9]+ files and up to [0-9]+ more' 'drift that the recording only counts is told'
end
finish
