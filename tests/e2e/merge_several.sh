#!/usr/bin/env bash
# Several sandboxes of a session merged in one step: one branch, conflicts between them named before anything is written,
# undo of all. git is the judge: the same work merged by hand has the same tree.
. "$(dirname "$0")/lib.sh"
need jq
. "$(dirname "$0")/merge.bash"
# The script contains the commands of the two sandboxes: it has no files and no environment of its own.
session() { # folder, commands in a, commands in b, [a line of Lua for the end]: sets id; returns at its end, or at its question
	cat >work.lua <<-L
		local sg = require "sandglass"
		local a = sg.sandbox { repo = "$1", name = "a" }
		local b = sg.sandbox { repo = "$1", name = "b" }
		assert(a:run [==[$2]==])
		assert(b:run [==[$3]==])
		${4:-}
	L
	id=$("$sg" run -d work.lua 2>out)
	if [ -n "${4:-}" ]; then wait_for 30 asks; else wait_for 30 has_ended; fi
}
ask='sg.ask { text = "continue?", choices = { "yes" } }'
branch() { git -C "$1" rev-parse --verify -q "refs/heads/sandglass/$id^{tree}"; }
by_hand() { # folder, commands...: the tree that git makes of them, each on the base, merged one after the other
	local to=$1
	rm -rf hand
	git clone -q "$to" hand
	shift
	for c; do
		git -C hand checkout -q --detach origin/HEAD
		(cd hand && sh -c "$c" && git add -A && git commit -qm one)
		git -C hand checkout -q main && git -C hand merge -q --no-edit "HEAD@{1}" >/dev/null
	done
	git -C hand rev-parse 'HEAD^{tree}'
}
do_a="sed -i 's/^line 3$/line THREE/' a.txt; echo new >from-a; rm gone.txt"
do_b="sed -i 's/^line 28$/line LATE/' a.txt; mkdir d; echo new >d/from-b; echo l >x.log"

for how in ended live; do
	long_repo $how
	want=$(by_hand $how "$do_a" "$do_b")
	session $how "$do_a" "$do_b" "$([ $how = live ] && echo "$ask")"
	merge "$id/a" "$id/b" -n
	is "$? $(refs $how) $(jq -r '[.result.clean, (.result.between | length), .result.both[0].path] | join(" ")' out)" '0 0 true 0 a.txt' \
		"$how: a dry run writes nothing and names the file of both"
	merge "$id/a" "$id/b"
	is "$? $(branch $how)" "0 $want" "$how: one branch has the tree that git makes of both"
	is "$(git -C $how rev-list --count main.."sandglass/$id") $(git -C $how status --porcelain | wc -l)" '2 0' "$how: a commit for each, the working tree as it was"
	is "$(jq -r '[.result.boxes[] | [.name, .counts.merged, .counts.ignored, .unmerged.files] | join(" ")] | join(", ")' out)" 'a 3 0 0, b 2 1 0' \
		"$how: the result has the classes of each"
	is "$(git -C $how fsck --strict 2>&1 | grep -v dangling)" '' "$how: git finds it sound"
	is "$("$sg" events "$id" --json | jq -r 'select(.kind == "merge.done") | .body.group' | sort | uniq -c | awk '{ print $1 }')" 2 "$how: an event for each sandbox, of one step"
	undo -S "$id"
	is "$? $(refs $how) $(jq -r '.result.merges | length' out)" '0 0 2' "$how: undo takes both back"
	merge -S "$id" --all
	is "$? $(branch $how)" "0 $want" "$how: --all merges them again"
	first=$(jq -r '.result.boxes[0].event' out) second=$(jq -r '.result.boxes[1].event' out)
	undo "$id#$first"
	is "$? $(branch $how)" "1 $want" "$how: the first alone is refused while the second stands on it"
	undo "$id#$second"
	is "$? $(git -C $how rev-list --count main.."sandglass/$id")" '0 1' "$how: the second alone goes"
	undo "$id#$first"
	is "$? $(refs $how)" '0 0' "$how: and then the first"
	undo -S "$id"
	is "$?" 1 "$how: then there is nothing"
	merge "$id/a" "$id/b" --apply
	is "$? $(cd $how && git stash -qu && git rev-parse 'stash^{tree}' >../tree && git stash pop -q && git add -A && git write-tree)" "0 $want" "$how: --apply brings both into the working files"
	git -C $how reset -q
	undo -S "$id"
	is "$? $(git -C $how status --porcelain | tr '\n' ' ')" '0 ' "$how: undo restores them"
	merge "$id/a" "$id/b" --commits
	is "$? $(git -C $how rev-parse 'HEAD^{tree}') $(git -C $how status --porcelain)" "0 $want " "$how: --commits makes both on the current branch"
	undo -S "$id"
	is "$(git -C $how rev-list --count HEAD) $(git -C $how status --porcelain)" '1 ' "$how: undo takes the commits back"
	[ $how = live ] && "$sg" stop --now -S "$id" >out 2>&1
done

# --- conflicts between them: named before anything is written
conflict() { # name, commands in a, commands in b, path, why
	long_repo "$1"
	session "$1" "$2" "$3"
	before=$(cd "$1" && git status --porcelain && git for-each-ref)
	merge "$id" --all
	is "$? $(cd "$1" && git status --porcelain && git for-each-ref)" "1 $before" "$1: nothing is written"
	like "$(cat err)" "$4 \\(${6:-$5 in a and b}\\)" "$1: the path and the sandboxes are named"
	merge "$id" --all -n
	is "$? $(jq -r '.result.between[] | [.path, .why, (.boxes[] | .name)] | join(" ")' out)" "0 $4 $5 a b" "$1: and in a dry run"
}
conflict edit "echo A >b.txt; echo a >from-a" "echo B >b.txt; echo b >from-b" b.txt 'changed differently'
merge "$id" --all --take b:b.txt
is "$? $(git -C edit show "sandglass/$id:b.txt") $(git -C edit ls-tree --name-only "sandglass/$id" | grep -c from)" '0 B 2' 'edit: the version of the sandbox that you name, and all else'
is "$(jq -r '[.result.boxes[] | [.name, .counts.merged, .counts.left, .unmerged.files] | join(" ")] | join(", ")' out)" 'a 1 1 1, b 2 0 0' 'edit: what stays out is still not merged'
"$sg" prune --merged --older-than 0s --yes </dev/null >out 2>&1
is "$("$sg" ls --json | grep -c "$id")" 1 'edit: prune --merged keeps it'
undo -S "$id"
merge "$id" --all --leave b.txt
is "$? $(git -C edit show "sandglass/$id:b.txt") $(jq -r '[.result.boxes[].unmerged.files] | join(" ")' out)" '0 two 1 1' 'edit: or the file stays out of all'
undo -S "$id"
merge "$id" --all --leave from-a --leave from-z
is "$? $(refs edit) $(grep -c from-z err)" '1 0 1' 'edit: a pattern that leaves nothing out is named, and nothing is merged'
merge "$id/a" --leave from-z
is "$? $(refs edit) $(grep -c from-z err)" '1 0 1' 'edit: also for one sandbox'
merge "$id" --all --take c:b.txt
is "$? $(refs edit)" '1 0' 'edit: a sandbox that is not there'
merge "$id" --all --take b:nothing
is "$? $(refs edit)" '1 0' 'edit: a path that does not conflict'
conflict delete "rm gone.txt" "echo more >>gone.txt" gone.txt 'removed and changed' 'removed in a, changed in b'
merge "$id" --all --take a:gone.txt
is "$? $(git -C delete ls-tree --name-only "sandglass/$id" | grep -c gone)" '0 0' 'delete: the removal, if you take that'
undo -S "$id"
merge "$id" --all --take b:gone.txt
is "$? $(git -C delete show "sandglass/$id:gone.txt" | xargs)" '0 gone more' 'delete: or the change'
conflict made "echo a >new" "echo b >new" new 'added with different content'
conflict folder "echo a >new" "mkdir new; echo b >new/in" new 'a file and a directory' 'a file in a, a directory in b'
merge "$id" --all --take b:new
is "$? $(git -C folder ls-tree -r --name-only "sandglass/$id" | grep new)" '0 new/in' 'folder: the directory, if you take that'
long_repo same
session same "echo S >b.txt; echo s >new" "echo S >b.txt; echo s >new"
merge "$id" --all
is "$? $(jq -r '[.result.boxes[] | [.counts.merged, .counts.identical] | join(" ")] | join(", ")' out) $(git -C same rev-list --count main.."sandglass/$id")" \
	'0 2 0, 0 2 1' 'the same in both is no conflict, and one commit'
undo -S "$id"
is "$? $(refs same)" '0 0' 'which undo takes back'
long_repo ignored
session ignored "echo a >x.log; echo a >fa" "echo b >x.log; echo b >fb"
merge "$id" --all
is "$? $(git -C ignored ls-tree --name-only "sandglass/$id" | grep -c '^f')" '0 2' 'ignored files that differ are no conflict'

# --- of yours, too: a file that one sandbox and you have changed
long_repo mine
session mine "echo A >b.txt" "echo b >from-b"
echo mine >mine/b.txt
git -C mine commit -qam mine
merge "$id" --all
is "$? $(refs mine)" '1 0' 'a conflict of one with your commit stops both'
like "$(cat err)" 'box a: b.txt' 'and is named with the sandbox'
merge "$id" --all --path from-b
is "$? $(git -C mine show "sandglass/$id:from-b")" '0 b' '--path holds for all of them'

# --- one of them is closed while the session runs, the other one is open
long_repo half
session half "echo a >fa" "echo b >fb" "a:close(); $ask"
merge a b -S "$id"
is "$? $(git -C half ls-tree --name-only "sandglass/$id" | grep -c '^f[ab]')" '0 2' 'a closed sandbox and an open one'
undo -S "$id"
merge "$id/a"
is "$? $(git -C half ls-tree --name-only "sandglass/$id" | grep '^f[ab]')" '0 fa' 'the closed one alone'
"$sg" stop --now -S "$id" >out 2>&1

# --- a linked worktree with edits that are not committed
long_repo main
git -C main worktree add -q ../linked -b side
session linked "$do_a" "$do_b"
sed -i 's/^line 15$/line mine/' linked/a.txt
want=$(by_hand main "$do_a" "$do_b")
merge "$id" --all
is "$? $(branch linked) $(git -C linked status --porcelain)" "0 $want  M a.txt" 'a linked worktree: a branch'
undo -S "$id"
merge "$id" --all --apply
is "$? $(sed -n '3p;15p;28p' linked/a.txt | xargs)" '0 line THREE line mine line LATE' 'a linked worktree: beside your edit'
undo -S "$id"
is "$? $(git -C linked status --porcelain)" '0  M a.txt' 'a linked worktree: and back'

# --- words that are wrong
long_repo other
keep=$id
session other "echo a >fa" "echo b >fb"
merge "$keep/a" "$id/b"
is "$? $(refs other)" '1 0' 'sandboxes of two sessions'
merge "$id/a" "$id/nobody"
is "$? $(refs other)" '1 0' 'a sandbox that is not there'
merge "$id/a" --all
is "$? $(refs other)" '1 0' '--all and a name'
merge "$id" --all --hunks a.txt:1
is "$? $(refs other)" '1 0' '--hunks of several'
merge "$id" --all --patch x.patch
is "$? $([ -e x.patch ] && echo there)" '1 ' '--patch of several'
merge "$id"
is "$? $(refs other)" '1 0' 'no name and several'
"$sg" verify "$id" >out 2>&1
ok $? 'the recording verifies'
finish
