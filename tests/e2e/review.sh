#!/usr/bin/env bash
# Review and merge: hunks accepted and rejected, on the screen and from the command line, while the session runs.
. "$(dirname "$0")/lib.sh"
sg=$SANDGLASS
need_boxes
need tmux
cd "$t" || exit 1
export SANDGLASS_SESSIONS=$t/sessions TERM=screen
git init -q repo
seq -f 'line %g' 60 >repo/a.txt
git -C repo add a.txt
git -C repo commit -qm one
cat >r.lua <<'L'
local sg = require "sandglass"
local box = sg.sandbox { repo = "repo", name = "work" }
box:exec "test -f a.txt"
assert(box:run "sed -i 's/^line 5$/line FIVE/; s/^line 30$/line THIRTY/; s/^line 55$/line 55b/' a.txt; echo new >c.txt")
sg.ask { text = "enough?", choices = { "yes" } }
L
"$sg" run -d r.lua >id 2>out
is $? 0 "a session with changes"
id=$(cat id)
wait_for 20 sh -c "'$sg' events '$id' --json | grep -q '\"kind\":\"ask\"'"
T="tmux -L review-$$ -f /dev/null"
trap '$T kill-server 2>/dev/null; end_all' EXIT
$T new-session -d -x 120 -y 36 "$sg attach $id"
screen() { $T capture-pane -p; }
shows() { screen >"$t/screen"; grep -qE -- "$1" "$t/screen"; }
keys() { $T send-keys "$@"; sleep 0.3; }
wait_for 10 shows 'fleet'
keys ':review' Enter
wait_for 10 shows 'hunk 3'
ok $? "the review lists files and hunks"
sees '4 to merge .4 not seen. +0 rejected' "all are merged unless rejected, none was seen"
keys j
keys j
keys Space
wait_for 5 shows '\[ \] hunk 2'
ok $? "a hunk is left"
keys j
keys j
accept() {
	keys a
	wait_for 5 shows 'accept as|was not seen'
	shows 'was not seen' && keys y
	wait_for 5 shows 'accept as'
}
accept
ok $? "then it asks what to make of it"
keys 5
wait_for 10 shows 'applies cleanly to the working files of'
ok $? "it can be asked whether it would apply"
is "$(git -C repo status --porcelain)" "" "which touches nothing"
accept
keys 2
wait_for 10 test -f repo/c.txt
ok $? "the working files have what was taken"
is "$(git -C repo diff HEAD | grep -c '^[+]line')" 2 "two of three hunks"
is "$(sed -n '5p;30p;55p' repo/a.txt | tr '\n' ' ')" 'line FIVE line 30 line 55b ' "the right ones"
like "$("$sg" events "$id" --json | grep '"kind":"merge.done"')" '"taken":\[' "the record says what was taken and left"
git -C repo reset -q --hard
git -C repo clean -fdq
sed -i 's/^line 5$/line of mine/' repo/a.txt
accept
keys 5
wait_for 10 shows 'would not apply.*1 conflict, first a.txt'
ok $? "and is told what stands in the way"
git -C repo reset -q --hard
"$sg" merge "$id" --hunks a.txt:2 --to pick </dev/null >out 2>&1
is $? 0 "one hunk to a branch, from the command line"
is "$(git -C repo show pick:a.txt | sed -n '5p;30p;55p' | tr '\n' ' ')" 'line 5 line THIRTY line 55 ' "exactly that one"
"$sg" merge "$id" --hunks a.txt:9 --to none </dev/null >out 2>&1
[ $? -ne 0 ]
ok $? "a hunk that is not there"
like "$(cat out)" 'a.txt.* has 3 hunks' "is told"
is "$(git -C repo branch --list none)" "" "and nothing is made"
shows 'checks +r runs'
ok $? "a command that looks like a check is listed"
keys r
again() { "$sg" events "$id" --json | grep '"kind":"redo.ended"' | grep -q '"now":true.*"same":true\|"same":true.*"now":true'; }
wait_for 15 again
ok $? "r: it runs again in a box of its own, on the files of now"
wait_for 5 shows 'own sandbox'
ok $? "and stands there as such"
git config --global diff.tool fake
git config --global difftool.fake.cmd "cat \"\$LOCAL\" \"\$REMOTE\" >$t/compared"
keys g
keys C-t
wait_for 10 test -s compared
is "$(grep -cE '^line (5|FIVE)$' compared)" 2 "Ctrl-t: both versions in the user's own diff.tool"
keys D
keys other Enter
wait_for 5 shows 'not its name'
ok $? "D wants the name of the box"
keys D
keys work Enter
wait_for 10 shows 'no file has changed'
ok $? "and takes all of it back"
keys z
wait_for 10 shows 'hunk 3'
ok $? "z undoes that"
keys ':log' Enter
wait_for 5 shows 'test -f a.txt'
keys g
keys / 'test -f' Enter
keys R
wait_for 5 shows 'files of work back to after #'
ok $? "R on an action asks"
keys y
back() { "$sg" events "$id" --json | grep '"kind":"rollback.done"' | tail -1 | grep -q "\"how\":\"$1\""; }
wait_for 10 back rollback
ok $? "and rolls the files back to after it"
keys u
wait_for 10 back undo
ok $? "u undoes that"
sees 'files are as they were at #[0-9]+: [0-9]+ change' "and the screen says what became of the files"
"$sg" stop -S "$id" >/dev/null 2>&1
wait_for 10 sh -c "! '$sg' ls --json | grep -q running"
wait_for 10 shows "$id has ended"
ok $? "the console says that it has ended"
keys ':review' Enter
wait_for 5 shows 'hunk 3'
keys a
wait_for 5 shows "read only: 'sandglass merge $id/work' merges it"
ok $? "a review of what has ended names the command that merges it, and asks nothing before"
"$sg" verify "$id" >/dev/null
is $? 0 "the session verifies"
finish
