#!/usr/bin/env bash
# box:merge{ review = true }: the script waits for a review and receives the accepted parts, the rejected parts, and the
# comments.
. "$(dirname "$0")/lib.sh"
sg=$SANDGLASS
need_boxes
cd "$t" || exit 1
export SANDGLASS_SESSIONS=$t/sessions
trap end_all EXIT
git init -q repo
seq -f 'line %g' 60 >repo/a.txt
git -C repo add a.txt
git -C repo commit -qm one
cat >r.lua <<'L'
local sg = require "sandglass"
local a = sg.args { branch = "got" }
local box = sg.sandbox { repo = "repo", name = "work" }
assert(box:run "sed -i 's/^line 5$/line FIVE/; s/^line 30$/line THIRTY/; s/^line 55$/line 55b/' a.txt; echo new >c.txt; echo no >d.txt")
local ev, m = box:merge { mode = "branch", branch = a.branch, review = true }
if not ev then sg.note(("refused: %s %s"):format(m.code, m.msg)) return end
sg.note(("taken=%s left=%s part=%s by=%s said=%s"):format(table.concat(m.taken, ","), table.concat(m.left, ","),
  m.partly[1] and m.partly[1].path, m.by, m.comments[1] and m.comments[1].where .. ": " .. m.comments[1].text))
L
cat >free.lua <<'L'
local p = require "sandglass.policy"
return p.rules { default = "allow", p.allow "free" { kind = "merge" } }
L
begin() { # more words: a session whose merge waits; sets id and what
	id=$("$sg" run -d "$@" 2>out)
	wait_for 20 sh -c "'$sg' ls --waiting | grep -q '^$id#'"
	what=$("$sg" ls --waiting | sed -n "s/^\($id#[0-9]*\) .*/\1/p" | head -1)
}
notes() { "$sg" events "$id" --json | grep '"kind":"note"'; }

begin r.lua
ok $? "the merge waits"
is "$(git -C repo branch --list got)" "" "and nothing is made"
like "$("$sg" show "$what" | tr '\n' ' ')" 'M a.txt  \+3 -3.*A c.txt  \+1.*drift +none.*conflicts.*last test.*undo +sandglass undo -S s-' "show has its card"
like "$("$sg" show "$what" --json | head -1)" '"mode":"branch"' "and its raw request with --json"
"$sg" review reject -S "$id" --hunks a.txt:2 -m 'a debug line' </dev/null >out 2>&1
is $? 0 "a hunk is left, with a reason"
like "$("$sg" events "$id" --json | grep review.choice)" '"choice":"leave".*"comment":"a debug line"' "the record says by whom"
said=$("$sg" events "$id" --json | grep -c review.choice)
wrong=
for part in '--hunks a.txt:9' '--hunks nowhere.txt:1,2' '--path nowhere.txt' '--path a.txt --hunks c.txt:7'; do
	# shellcheck disable=SC2086 # words
	"$sg" review reject -S "$id" $part </dev/null >out 2>&1 && wrong="$wrong $part"
done
is "$wrong $("$sg" events "$id" --json | grep -c review.choice)" " $said" "a file or hunk that is not there is refused, and nothing recorded"
"$sg" review comment -S "$id" --path a.txt </dev/null >out 2>&1
is $? 2 "a part without a word about it is refused"
"$sg" approve "$what" </dev/null >out 2>&1
[ $? -ne 0 ]
ok $? "it cannot be approved over the head of who left something"
like "$(cat out)" 'rejected in the review' "and says so"
"$sg" approve "$what" "$what" --json </dev/null >out 2>&1
is "$(grep -o '"failed":\[{"action":[0-9]*' out | grep -c "${what##*#}")" 1 "nor as one of several"
"$sg" approve "$what" --path c.txt --hunks a.txt:1,9 </dev/null >out 2>&1
wait_for 10 sh -c "! '$sg' ls --json | grep -q running"
like "$(notes)" "refused: .*hunk 9 not found" "a hunk that is not there ends it, with its reason"
is "$(git -C repo branch --list got)" "" "and merges nothing"

begin r.lua
"$sg" review reject -S "$id" --hunks a.txt:2 -m 'a debug line' </dev/null >out 2>&1
"$sg" approve "$what" --path c.txt --hunks a.txt:1,3 </dev/null >out 2>&1
is $? 0 "what was taken is approved"
wait_for 10 sh -c "! '$sg' ls --json | grep -q running"
is "$(git -C repo diff HEAD got | grep -c '^[-+][^-+]')" 5 "two hunks and a file"
is "$(git -C repo show got:a.txt | sed -n '5p;30p;55p' | tr '\n' ' ')" 'line FIVE line 30 line 55b ' "the right ones"
like "$(notes)" 'taken=c.txt left=d.txt part=a.txt by=[a-z]+ said=a.txt, hunk 2: a debug line' "the script is told"
"$sg" verify "$id" >out 2>&1
is $? 0 "the session verifies"

begin --policy free.lua r.lua -- --branch=all
ok $? "a rule that allows merges does not replace the review"
"$sg" approve "$what" </dev/null >out 2>&1
wait_for 10 sh -c "! '$sg' ls --json | grep -q running"
like "$(notes)" 'taken=a.txt,c.txt,d.txt left= ' "approved without a choice: all of it"
is "$(git -C repo show all:d.txt)" no "is merged"

# the only change is rejected, then rolled back: there is no rejected part any longer, and the merge ends
cat >back.lua <<'L'
local sg = require "sandglass"
local box = sg.sandbox { repo = "repo", name = "work" }
assert(box:run "sed -i 's/^line 5$/line FIVE/' a.txt")
local ev, m = box:merge { mode = "branch", branch = "back", review = true }
sg.note(ev and ("taken=" .. #m.taken) or ("refused: " .. m.msg))
L
begin back.lua
"$sg" review reject -S "$id" --hunks a.txt:1 </dev/null >out 2>&1
"$sg" approve "$what" </dev/null >out 2>&1
is "$? $(grep -c 'rejected in the review' out)" '1 1' "the only change is rejected: the merge isn't approved"
start=$("$sg" events "$id" --json | sed -n 's/.*"seq":\([0-9]*\).*"kind":"snapshot.taken".*/\1/p' | head -1)
"$sg" rollback "$start" -S "$id" </dev/null >out 2>&1
is "$?" 0 "it is rolled back"
"$sg" approve "$what" </dev/null >out 2>&1
is "$?" 0 "then the merge is approved"
wait_for 10 sh -c "! '$sg' ls --json | grep -q running"
like "$(notes)" 'taken=0' "and brings nothing"

begin r.lua -- --branch=not
"$sg" deny "$what" -m 'not like this' </dev/null >out 2>&1
wait_for 10 sh -c "! '$sg' ls --json | grep -q running"
like "$(notes)" 'refused: denied .*not like this' "a denial is an error with the person's words"
"$sg" run --no-input r.lua -- --branch=nobody >out 2>&1 </dev/null
like "$(cat out)" 'no user to ask' "nobody there: denied"
is "$(git -C repo branch --list not nobody)" "" "nothing was made"
finish
