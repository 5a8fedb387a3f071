#!/usr/bin/env bash
# merge --commits and merge --patch on real repositories: line ends, binary files, renames, modes, a missing newline at
# the end, a linked worktree, and local changes. Git's own view of the result decides.
. "$(dirname "$0")/lib.sh"
sg=$SANDGLASS
need_boxes
cd "$t" || exit 1
export SANDGLASS_SESSIONS=$t/sessions
trap end_all EXIT
repo() { # name
	git init -q "$1"
	(
		cd "$1" || exit 1
		seq -f 'line %g' 40 >a.txt
		printf 'one\r\ntwo\r\nthree\r\n' >dos.txt
		printf '\0\1\2binary' >bin
		printf 'old\0' >away
		printf 'no end' >open
		printf '#!/bin/sh\n' >tool
		seq 20 >move.txt
		ln -s a.txt link
		mkdir sub && echo deep >sub/deep.txt
		printf '*.log\n' >.gitignore
		git add -A
		git commit -qm base
	)
}
cat >work.lua <<'L'
local sg = require "sandglass"
local a = sg.args { dir = "repo" }
local box = sg.sandbox { repo = a.dir, name = "work" }
assert(box:run [[sed -i 's/^line 3$/line THREE/' a.txt; printf 'one\r\nTWO\r\nthree\r\n' >dos.txt]])
assert(box:run [[printf '\0\3\4other' >bin; rm away; printf 'no end either' >open; chmod +x tool]])
assert(box:run [[mv move.txt 'moved to.txt'; ln -sf dos.txt link; rm sub/deep.txt; printf 'x\n' >'new "file".txt'; echo log >x.log]])
assert(box:run [[sed -i 's/^line 30$/line THIRTY/' a.txt; : >empty; echo 'e2 82 ac' >'euro-€.txt']])
L
session() { # folder: runs it to its end; sets id
	id=$("$sg" run -d work.lua -- --dir="$1" 2>out)
	wait_for 30 sh -c "'$sg' ls --json 2>/dev/null | grep '$id' | grep -q '\"state\":\"ended\"'"
}
sum() { (cd "$1" && git ls-files -s | sort && git ls-files -o --exclude-standard); }

repo wanted # the same by hand, with git's own means
(
	cd wanted || exit 1
	sed -i 's/^line 3$/line THREE/; s/^line 30$/line THIRTY/' a.txt
	printf 'one\r\nTWO\r\nthree\r\n' >dos.txt
	printf '\0\3\4other' >bin
	rm away sub/deep.txt
	printf 'no end either' >open
	chmod +x tool
	mv move.txt 'moved to.txt'
	ln -sf dos.txt link
	printf 'x\n' >'new "file".txt'
	: >empty
	echo 'e2 82 ac' >'euro-€.txt'
	git add -A
)
want=$(sum wanted)

# --- commits
repo repo
before=$(git -C repo rev-parse HEAD)
session repo
"$sg" merge "$id" --commits </dev/null >out 2>&1
is $? 0 "commits on the current branch"
is "$(sum repo)" "$want" "the branch's index is what git would have made"
is "$(git -C repo status --porcelain)" "" "the working files agree with it"
like "$(git -C repo rev-list --count "$before"..HEAD)" '^[1-9]' "there are commits"
is "$(git -C repo fsck --strict 2>&1 | grep -v dangling)" "" "git finds them sound"
is "$(git -C repo symbolic-ref HEAD)" refs/heads/main "on the branch that was checked out"
"$sg" undo "$id" </dev/null >out 2>&1
is $? 0 "undone"
is "$(git -C repo rev-parse HEAD)" "$before" "the branch is where it was"
is "$(git -C repo status --porcelain)" "" "and so are the files"

# --- while it runs: one commit a step
sed 's/^local box/local box\n/; $ a sg.ask { text = "go on?", choices = { "yes" } }' work.lua >live.lua
repo steps
before=$(git -C steps rev-parse HEAD)
id=$("$sg" run -d live.lua -- --dir=steps 2>out)
wait_for 20 sh -c "'$sg' ls --waiting | grep -q '^$id#'"
"$sg" merge -S "$id" --commits </dev/null >out 2>&1
is $? 0 "a session that runs"
is "$(git -C steps rev-list --count "$before"..HEAD)" 4 "a commit for each step"
is "$(sum steps)" "$want" "and the same result"
is "$(git -C steps show --stat --format= HEAD~3 | grep -c '|')" 2 "each with what its step did"
"$sg" merge -S "$id" --commits </dev/null >out 2>&1
is "$(git -C steps rev-list --count "$before"..HEAD)" 4 "once more changes nothing"

# --- patch
repo plain
git -C plain checkout -q -b elsewhere
"$sg" merge -S "$id" --patch out.patch </dev/null >out 2>&1
is $? 0 "a patch file"
git -C plain apply --check ../out.patch 2>out
is $? 0 "git applies it"
git -C plain apply --index ../out.patch 2>out
is "$(sum plain)" "$want" "with the same result"
is "$(grep -c '^-one' out.patch)" 0 "lines that did not change are not in it"
"$sg" merge -S "$id" --patch out2.patch --hunks a.txt:2 </dev/null >out 2>&1
is $? 0 "a patch of one hunk"
repo one
git -C one apply ../out2.patch 2>out
is "$(git -C one diff --stat | tail -1)" ' 1 file changed, 1 insertion(+), 1 deletion(-)' "has that one"
"$sg" merge -S "$id" --patch /nonexistent/x.patch </dev/null >out 2>&1
[ $? -ne 0 ]
ok $? "a place that is not there"
like "$(cat out)" 'nonexistent' "is named"
"$sg" stop -S "$id" >out 2>&1
wait_for 10 sh -c "! '$sg' ls --json | grep -q running"
"$sg" merge "$id" --patch after.patch </dev/null >out 2>&1
is $? 0 "a patch after the session's end"
cmp -s out.patch after.patch
ok $? "is the same"

# --- a linked worktree, with local changes
repo main
git -C main worktree add -q ../linked -b side
head=$(git -C main rev-parse HEAD)
session linked
sed -i 's/^line 20$/line mine/' linked/a.txt
echo mine >linked/untracked
"$sg" merge "$id" --commits </dev/null >out 2>&1
is $? 0 "commits in a linked worktree"
is "$(git -C main rev-parse HEAD)" "$head" "the main one is left alone"
like "$(git -C linked log --format=%s -1)" 'sandglass' "its branch has moved"
is "$(git -C linked log --format='%(trailers:key=Sandglass-Session,valueonly)' -1 | head -1)" "$id" 'and the commit names the session whose record has it'
is "$(git -C linked status --porcelain | tr '\n' ' ')" ' M a.txt ?? untracked ' "local changes stay as they were, not committed"
is "$(sed -n '3p;20p;30p' linked/a.txt | tr '\n' ' ')" 'line THREE line mine line THIRTY ' "in the file beside what was merged"

# --- line ends that git converts
repo crlf
(cd crlf && printf '*.txt text eol=crlf\n' >.gitattributes && git add --renormalize . 2>/dev/null && git add -A 2>/dev/null && git commit -qm crlf && rm a.txt dos.txt && git checkout -q a.txt dos.txt)
is "$(git -C crlf status --porcelain)" "" "a repository with eol=crlf"
cat >crlf.lua <<'L'
local sg = require "sandglass"
local box = sg.sandbox { repo = "crlf", name = "work" }
assert(box:run [[sed -i 's/^line 3\r$/line THREE\r/' a.txt]])
L
id=$("$sg" run -d crlf.lua 2>out)
wait_for 30 sh -c "'$sg' ls --json 2>/dev/null | grep '$id' | grep -q '\"state\":\"ended\"'"
"$sg" merge "$id" --commits </dev/null >out 2>&1
is $? 0 "is merged into"
is "$(git -C crlf show --format= --stat HEAD | tail -1)" ' 1 file changed, 1 insertion(+), 1 deletion(-)' "as one changed line"
is "$(git -C crlf status --porcelain)" "" "clean"
is "$(git -C crlf show HEAD:a.txt | tr -cd '\r' | wc -c)" 0 "stored as git stores it"
is "$(tr -cd '\r' <crlf/a.txt | wc -c)" 40 "and kept so in the working file"

# --- obstacles
repo clash
session clash
sed -i 's/^line 3$/line my three/' clash/a.txt
sum=$(cd clash && git status --porcelain && cat a.txt | sha256sum)
"$sg" merge "$id" --commits </dev/null >out 2>&1
[ $? -ne 0 ]
ok $? "a conflict"
like "$(cat out)" 'a.txt' "names the file"
is "$(cd clash && git status --porcelain && cat a.txt | sha256sum)" "$sum" "and changes nothing"
git -C clash checkout -q a.txt
git -C clash checkout -q --detach
main=$(git -C clash rev-parse main)
"$sg" merge "$id" --commits </dev/null >out 2>&1
is $? 0 "on a detached HEAD"
is "$(git -C clash rev-parse main)" "$main" "no branch is moved"
ref=$(git -C clash for-each-ref --format='%(refname)' refs/sandglass/merge)
like "$(cat out)" "$ref" "the commit's ref is told"
is "$(git -C clash rev-parse HEAD)" "$(git -C clash rev-parse "$ref")" "HEAD is that commit, as with git commit"
is "$(git -C clash status --porcelain)" "" "and the files are its"
finish
