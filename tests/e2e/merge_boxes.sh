#!/usr/bin/env bash
# sg.merge: a script merges several sandboxes in one step. It is one action with one approval, which shows each sandbox;
# conflicts between them are an error that names the files, before anything is written; one undo takes all back.
. "$(dirname "$0")/lib.sh"
need jq
. "$(dirname "$0")/merge.bash"
# commands in a, commands in b, options of the merge, [a policy]: a session whose merge waits, or that has ended: sets id
begin() {
	rm -rf repo result.json
	long_repo repo
	cat >work.lua <<-L
		local sg = require "sandglass"
		local a = sg.sandbox { repo = "repo", name = "a" }
		local b = sg.sandbox { repo = "repo", name = "b" }
		assert(a:run [==[$1]==])
		assert(b:run [==[$2]==])
		local event, r = sg.merge { boxes = { a, b }, $3 }
		if event then
			print(sg.json.encode { event = event, ref = r.ref, both = r.both, between = r.between, by = r.by,
				names = { r.boxes[1].name, r.boxes[2].name }, taken = { #r.boxes[1].taken, #r.boxes[2].taken },
				left = { #r.boxes[1].left, #r.boxes[2].left } })
		else
			print(sg.json.encode { code = r.code, msg = r.msg })
		end
	L
	if [ -n "${4:-}" ]; then
		echo "$4" >policy.lua
		id=$(timeout 60 "$sg" run -d --no-input --policy policy.lua work.lua 2>out)
		over
		return
	fi
	id=$("$sg" run -d work.lua 2>out)
	wait_for 60 asks
	what=$("$sg" ls --waiting | sed -n "s/^\($id#[0-9]*\) .*/\1/p" | head -1)
}
over() {
	wait_for 30 has_ended
	"$sg" events "$id" --json | jq -r 'select(.body.level? == "print") | .body.text' >result.json
}
card() { "$sg" show "$what"; }
do_a="sed -i 's/^line 3$/line THREE/' a.txt; echo new >from-a"
do_b="sed -i 's/^line 28$/line LATE/' a.txt; echo new >from-b"

begin "$do_a" "$do_b" 'branch = "sandglass/both", message = "of two"'
is "$("$sg" ls --waiting | grep -c "^$id#") $(refs repo)" '1 0' 'one approval for both; nothing is written before it'
is "$("$sg" events "$id" --json | jq -c 'select(.kind == "action.requested") | .body | select(.kind == "merge") | [.boxes[].name]')" \
	'["a","b"]' 'the request names both'
like "$(card)" 'conflicts  none in dry run' 'the card: no conflicts, by the plan of this merge'
like "$(card)" 'sandbox    a: 2 files' 'the card has the changes of a'
like "$(card)" 'sandbox    b: 2 files' 'and of b'
like "$(card)" '\+ ?A? ?from-b|A from-b' 'with their files'
"$sg" approve "$what" --path from-a </dev/null >out 2>err
is "$? $(refs repo)" '2 0' 'parts of one sandbox are not accepted'
"$sg" sandbox cp "$t/repo/b.txt" "$id:b:from-a" </dev/null >out 2>&1
like "$(card)" 'conflicts  unknown: .* came before the newest change' 'a later change makes the plan old'
"$sg" merge -n -S "$id" a b --to sandglass/both </dev/null >out 2>&1
first=$(card | grep -n '! *from-a' | cut -d: -f1) box=$(card | grep -n 'sandbox    a:' | cut -d: -f1)
is "$([ -n "$first" ] && [ "$first" -lt "$box" ]; echo $?)" 0 'a conflict between them comes first'
"$sg" approve "$what" </dev/null >out 2>&1
over
is "$(jq -r .code result.json) $(refs repo)" 'io 0' 'approved all the same: an error, and nothing is written'
like "$(jq -r .msg result.json)" 'from-a .*a and b' 'that names the file and the sandboxes'

begin "$do_a" "$do_b" 'branch = "sandglass/both", message = "of two"'
"$sg" approve "$what" </dev/null >out 2>&1
over
is "$(jq -c '[.ref, .names, .taken, .left, .both[0].path, (.between | length)]' result.json)" \
	'["refs/heads/sandglass/both",["a","b"],[2,2],[0,0],"a.txt",0]' 'the script gets the result of each, and the file of both'
is "$(git -C repo show sandglass/both:a.txt | sed -n '3p;28p' | xargs) $(git -C repo ls-tree --name-only sandglass/both | grep -c from)" \
	'line THREE line LATE 2' 'one branch has both'
is "$(git -C repo log --format=%s main..sandglass/both | xargs)" 'of two of two' 'a commit for each, with the message'
is "$("$sg" events "$id" --json | jq -r 'select(.kind == "merge.done") | [.body.group, .action] | join(" ")' | sort -u | wc -l)" 1 \
	'the events of both are of one step and one action'
like "$(card)" 'conflicts  none' 'the card of the finished merge'
"$sg" undo --json -S "$id" </dev/null >out 2>&1
is "$? $(refs repo) $(jq '.result.merges | length' out)" '0 0 2' 'one undo takes both back'

begin "$do_a" "$do_b" 'branch = "sandglass/both"'
"$sg" review reject -S "$id" b --path from-b </dev/null >out 2>&1
ok $? "a file of b is rejected"
"$sg" approve "$what" </dev/null >out 2>&1
is "$? $(grep -c 'rejected in the review' out)" '1 1' 'a rejected file of one is not merged with the others'
"$sg" sandbox rm -y "$id:b" </dev/null >out 2>&1
is "$("$sg" events "$id" --json | jq -r .kind | grep -c '^box.closed')" 1 'its sandbox is closed'
"$sg" approve "$what" </dev/null >out 2>&1
is "$? $(grep -c 'rejected in the review' out)" '1 1' 'nor once its sandbox has closed'
"$sg" deny "$what" </dev/null >out 2>&1
over
is "$(jq -r .code result.json) $(refs repo)" 'denied 0' 'denied: nothing is written'

allow='local p = require "sandglass.policy"
return p.rules { default = "boxed", p.allow "merge" { kind = "merge", box = { "a", "b" } } }'
begin "echo A >b.txt" "echo B >b.txt" 'mode = "apply"' "$allow"
is "$(jq -r .code result.json) $(git -C repo status --porcelain)" 'io ' 'a conflict that is there from the start fails at once'
like "$(jq -r .msg result.json)" 'b.txt .*take' 'and says how to decide'
begin "echo A >b.txt; echo a >fa" "echo B >b.txt" 'mode = "apply", take = "b:b.txt"' "$allow"
is "$(jq -c '[.names, .left]' result.json) $(cat repo/b.txt repo/fa | xargs)" '[["a","b"],[1,0]] B a' 'take decides'
begin "echo A >b.txt; echo a >fa" "echo B >b.txt; echo b >fb" 'mode = "commits", leave = { "b.txt" }' "$allow"
is "$(cat repo/b.txt) $(git -C repo ls-tree --name-only HEAD | grep -c '^f')" 'two 2' 'leave keeps the file out of both'
git clone -q repo other
begin "echo a >fa" "echo b >fb" 'mode = "commits", into = "other"' "$allow"
is "$(git -C other ls-tree --name-only HEAD | grep -c '^f') $(git -C repo status --porcelain)" '2 ' 'into names another directory'
begin "echo a >fa" "echo b >fb" 'mode = "apply"' "${allow/'"a", "b"'/'"a"'}"
is "$(jq -r .code result.json) $(git -C repo status --porcelain)" 'denied ' 'a rule that allows merges of one of them does not allow both'
deny='local p = require "sandglass.policy"
return p.rules { default = "allow", p.deny "never" { kind = "merge", RULE } }'
for rule in 'when = function(act) return act.box == "b" end' 'match = "box:b"' "path = '$t/repo'"; do
	begin "echo a >fa" "echo b >fb" 'mode = "apply"' "${deny/RULE/$rule}"
	is "$(jq -r .code result.json) $(git -C repo status --porcelain)" 'denied ' "denied for one of them: $rule"
done
"$sg" verify "$id" >out 2>&1
ok $? 'the recording verifies'
finish
