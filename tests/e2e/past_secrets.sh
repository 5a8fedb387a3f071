#!/usr/bin/env bash
# A secret that was committed and removed later: the notice names it, and mask = { history = true } refuses the repository.
. "$(dirname "$0")/lib.sh"
sg=$SANDGLASS
need jq
need_boxes
cd "$t" || exit 1
export SANDGLASS_SESSIONS=$t/sessions
commit() { git -C "$1" add -A -f && git -C "$1" commit -qm "$2"; }
git init -q repo
echo one >repo/f
commit repo one
echo 'KEY=1' >repo/.env
mkdir -p repo/deploy
echo 'x' >repo/deploy/id_rsa
commit repo two
git -C repo rm -q .env deploy/id_rsa
git -C repo commit -qm three
git init -q clean
echo one >clean/f
commit clean one
run() { # folder, options of the sandbox: sets id; the look in the background ends before the session does
	cat >work.lua <<-L
		local sg = require "sandglass"
		local box = sg.sandbox { repo = "$1", name = "work", ${2:-} }
		print((assert(box:exec "git log --oneline | wc -l").out))
	L
	id=
	"$sg" run work.lua >out 2>&1 </dev/null || return 1
	id=$("$sg" ls --json | jq -r .session | head -1)
}
past() { "$sg" events "$id" --json | jq -r 'select(.kind == "box.notice" and .body.what == "history") | .body.paths[]' | sort | xargs; }
incomplete() { # commits seen
	"$sg" events "$id" --json | jq -r 'select(.kind == "box.notice" and .body.what == "history" and .body.paths == []) | .body.why | capture("(?<n>[0-9]+) commits? seen").n'
}
run repo
is "$? $(past)" '0 .env deploy/id_rsa' 'what only earlier commits have is named'
run clean
is "$? $(past)" '0 ' 'a repository without such a past has no notice'
run repo 'expose = { ".env" }'
is "$? $(past)" '0 deploy/id_rsa' 'what is exposed is not named'
git -C repo branch -q old HEAD~1
git -C repo checkout -q --orphan fresh
git -C repo commit -qm fresh
run repo
is "$? $(past)" '0 .env deploy/id_rsa' 'other branches are looked at, too'
echo 'KEY=2' >repo/.env
run repo
like "$(past)" '\.env' 'nor does an untracked file of that name hide it'
rm repo/.env
run repo 'mask = { history = true }'
is "$?" 1 'mask = { history = true } refuses it'
like "$(cat out)" 'mask.history' 'and says why'
run clean 'mask = { history = true }'
is "$?" 0 'and opens a clean repository'
run repo 'mask = { history = true }, expose = { ".env", "deploy/id_rsa" }'
is "$?" 0 'and one in which all of it is exposed'

# more commits than are looked at
(
	for i in $(seq 2100); do
		printf 'commit refs/heads/main\ncommitter a <a@b> %s +0000\ndata 2\nc\n' "$((1700000000 + i))"
		[ "$i" = 1 ] && printf 'M 100644 inline .env\ndata 1\nx\n'
		[ "$i" = 2 ] && printf 'D .env\n'
		printf 'M 100644 inline n\ndata %s\n%s\n' "${#i}" "$i"
	done
) >stream
git init -q long
git -C long fast-import --quiet <stream
git -C long checkout -qf main
run long
is "$? $(past)" '0 ' 'more commits than are looked at: nothing is found'
run long 'mask = { history = true }'
is "$?" 1 'and mask = { history = true } does not take that for clean'
run long
is "$(incomplete)" 2000 'a notice says how many were looked at'

# a commit that cannot be read, and a reference to nothing
git init -q damaged
for i in 1 2 3; do
	echo "$i" >damaged/f
	commit damaged "$i"
done
git -C damaged symbolic-ref refs/remotes/origin/HEAD refs/remotes/origin/gone
run damaged 'mask = { history = true }'
is "$?" 0 'a reference to nothing hides no commit'
gone=$(git -C damaged rev-parse HEAD~1)
chmod u+w "damaged/.git/objects/${gone:0:2}/${gone:2}"
echo rubbish >"damaged/.git/objects/${gone:0:2}/${gone:2}"
run damaged
is "$? $(incomplete | grep -c .)" '0 1' 'a commit that cannot be read: one notice that not all was looked at'
run damaged 'mask = { history = true }'
is "$?" 1 'and mask = { history = true } refuses it'
finish
