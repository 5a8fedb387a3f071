#!/usr/bin/env bash
# Branches and stashes that an agent leaves behind are work: they are named, counted as not merged, brought by a merge as
# branches with the agent's own commits, and taken back by undo.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/merge.bash"
value() { python3 -c 'import json, sys; r = json.load(open("out"))["result"]; print(eval(sys.argv[1]))' "$1"; }
not_merged() { "$sg" ls --json | head -1 | sed -n 's/.*"unmerged":\([0-9]*\).*/\1/p'; }
names() { git -C "$1" for-each-ref --format='%(refname:short)' refs/heads | sort | tr '\n' ' '; }
id() { "$sg" ls --json | head -1 | sed -n 's/.*"session":"\([^"]*\).*/\1/p'; }

# --- a branch that HEAD has left
repo r
work r 'git switch -qc feature; echo f >>a.txt; echo n >n; git add .; git commit -qm "add n" --author "Ann <ann@a>"; git switch -q main; echo m >m'
s=$(id)
is "$(not_merged)" 2 'a file and a branch are not merged'
"$sg" prune --merged --older-than 0s --yes </dev/null >prune 2>&1
is "$(id)" "$s" 'prune --merged keeps the session'
merge -n
is "$(value 'r["targets"][0]["branches"][0]["ref"]') $(names r)" "refs/heads/sandglass/$s-feature main " 'a dry run names the branch, and makes none'
merge --apply
is "$(value '[b["name"] for b in r["branches_left"]]') $(not_merged)" "['feature'] 1" 'a merge into the working files leaves it, and says so'
merge
is "$(names r)" "main sandglass/$s sandglass/$s-feature " 'the next one brings it'
is "$(git -C r log --format='%an %s' "main..sandglass/$s-feature") $(git -C r show "sandglass/$s-feature:n")" 'Ann add n n' 'with its own commit'
is "$(not_merged)" 0 'nothing remains'
git -C r fsck --strict >fsck 2>&1
is "$? $(cat fsck)" '0 ' 'git finds no fault'
"$sg" undo </dev/null >undo 2>&1
is "$(names r)$(not_merged)" 'main 1' 'undo takes it back'
merge --to mine
is "$(names r)" 'main mine mine-feature ' 'its name follows that of the merge'
"$sg" undo </dev/null >undo 2>&1
git -C r branch mine-feature main
merge --to mine
is "$(names r)" 'main mine mine-feature mine-feature-2 ' 'a name that is taken is left alone'
git -C r branch -f mine-feature-2 main
"$sg" undo </dev/null >undo 2>&1
is "$(names r)" 'main mine-feature mine-feature-2 ' 'undo leaves a branch that has moved'
merge --to out
git -C r switch -q out-feature
"$sg" undo </dev/null >undo 2>&1
is "$(names r) $(git -C r log -1 --format=%s)" 'main mine-feature mine-feature-2 out-feature  add n' 'and one that is checked out'
git -C r switch -q main

# --- the step of another branch is none of HEAD's
repo own
work own 'echo 1 >>a.txt; git commit -qam wrong; git commit -q --amend -m right; git switch -qc f; echo f >f; git add f; git commit -qm "on f"; git switch -q main'
merge --to mine
is "$(git -C own log --format=%s main..mine);$(git -C own log --format=%s -1 mine-f)" 'right;on f' 'each commit is where it was made, and amended ones are gone'

repo enc
work enc 'echo 1 >>a.txt; git -c i18n.commitEncoding=latin1 commit -qam "$(printf "caf\351\n\nbody")" --author "$(printf "Ren\351 <r@r>")"'
merge --to mine
is "$(git -C enc log --format='%an %s' -1 mine)" 'René café' 'a message and a name that are not UTF-8'

# --- stashes
repo st
work st 'echo s >>a.txt; git stash -q; echo t >>a.txt; echo u >u; git stash -qu'
is "$(not_merged)" 2 'two stashes'
merge --to mine
is "$(names st)" 'main mine-stash mine-stash-1 ' 'both are branches'
is "$(git -C st show mine-stash-1:a.txt | tail -1) $(git -C st show mine-stash:a.txt | tail -1) $(git -C st show 'mine-stash^3:u')" 's t u' 'with all that was stashed'
is "$(not_merged)" 0 'merged'

# --- commits without a branch: a tag, notes, a worktree made inside, and a detached HEAD that was left
repo free
work free 'commit() { echo $1 >$1; git add $1; git commit -qm $1; }
	git checkout -q --detach; commit t; git tag -a -m "a tag" v1; git checkout -q --detach main; commit left; git switch -q main
	git notes add -m "a note"; git tag on-main
	git worktree add --detach wt; cd wt; commit w; cd ..; rm -r wt
	git checkout -q --detach; commit kept; kept=$(git rev-parse HEAD); git switch -q main; git merge -q $kept'
is "$(not_merged)" 5 'a file, and four that have no branch'
merge --to mine
left=$(value '[b["name"] for b in r["targets"][0]["branches"] if b["name"].startswith("detached-")][0]')
is "$(names free)" "main mine mine-$left mine-notes/commits mine-tags/v1 mine-worktrees/wt " 'each becomes a branch'
is "$(for b in "$left" tags/v1 worktrees/wt; do git -C free log -1 --format=%s "mine-$b"; done | xargs) $(not_merged)" 'left t w 0' 'with its commits'
work free 'git switch -qc x; for i in 1 2; do echo $i >x; git add x; git commit -qm $i; done; git tag two; git tag one HEAD~
	git update-ref refs/remotes/origin/x x; git switch -q main; git branch -qD x'
is "$(not_merged)" 0 'what a remote has, and tags on it, do not count'

repo nolog
work nolog 'echo x >x; git add x; git commit -qm x; git reflog expire --expire=all --all'
merge --to mine
is "$(names nolog)$(not_merged)" 'main mine 0' "HEAD's branch is known without a log"
repo tip
cat >tip.lua <<'L'
local sg = require "sandglass"
for _, name in ipairs { "a", "b" } do
  local box = sg.sandbox { repo = "tip", name = name }
  assert(box:run "export GIT_AUTHOR_DATE='@1 +0000' GIT_COMMITTER_DATE='@1 +0000'; git switch -qc f; echo f >f; git add f; git commit -qm f; git switch -q main")
end
L
"$sg" run --no-tui --no-input --policy any.lua tip.lua </dev/null >log.out 2>&1 || cat log.out
s=$(id)
merge "$s/a"
merge "$s/b"
is "$(names tip)$(not_merged)" "main sandglass/$s-f sandglass/$s-f-2 0" 'two sandboxes with one commit: each merge has a branch of its own'
"$sg" undo "$s#$("$sg" events "$s" --json | sed -n 's/.*"seq":\([0-9]*\).*"kind":"merge.done".*/\1/p' | head -1)" </dev/null >undo 2>&1
is "$(names tip)$(not_merged)" "main sandglass/$s-f-2 1" 'an undo of one takes its own'

# --- HEAD's own commits hold more than the working files do
commit_more() { # name, commands: "not merged before, branches of the merge, not merged after"
	repo "$1" && echo '*.log' >"$1/.gitignore" && echo o >"$1/o" && git -C "$1" add -A && git -C "$1" commit -qm more
	work "$1" "$2"
	local before after
	before=$(not_merged)
	merge --to mine
	after=$(not_merged)
	echo "$before $(names "$1")$after"
}
is "$(commit_more word 'git commit -q --amend -m word')" '1 main mine-main 0' 'a commit of yours with another message'
is "$(commit_more force 'echo k >k.log; git add -f k.log; git commit -qm keep')" '1 main mine-main 0' 'an ignored file that was added'
is "$(git -C force show mine-main:k.log)" k 'is in the branch'
is "$(commit_more cached 'git rm -q --cached o; echo o >>.gitignore; git commit -qam "no o"')" '1 main mine mine-main 0' 'a file that is no longer tracked'
is "$(commit_more anew 'rm -rf .git; git init -q; git add -A; git commit -qm anew; echo x >x; git add x; git commit -qm x')" '1 main mine mine-main 0' 'another history'
is "$(commit_more both 'echo n >n; git add n; git commit -qm n
	git switch -qc f; echo m >>n; git commit -qam m; echo d >>n')" '1 main mine 0' 'commits of which the files have all need no branch'
repo dirty && echo mine >>dirty/a.txt && echo mine >dirty/u
work dirty 'echo x >x; git add -A; git commit -qm all'
merge --path x
is "$(names dirty) $(not_merged)" "main sandglass/$(id)  0" 'nor what you had not committed'
repo new
work new 'git init -q in; cd in; echo n >n; git add n; git commit -qm n'
merge --apply
is "$(not_merged) $(value '[b["gitdir"] for b in r["branches_left"]]')" "1 ['in/.git']" 'a repository that is only in the sandbox'

# --- what HEAD leads to is no branch of its own
repo no
work no 'git switch -qc f; echo f >f; git add f; git commit -qm f; git switch -q main; git merge -q f; git branch g; git tag v; git switch -qc h'
is "$(not_merged)" 1 'a branch that was merged inside, one without commits, and a tag do not count'

repo far && repo near && git -C far branch x && git clone -q far mirror
(cd mirror && git switch -q x && echo x >x && git add x && git commit -qm x && git push -q origin x && git switch -q main)
git -C near remote add origin "$t/far"
tar -cf near/far.tar far
work near 'tar -C /tmp -xf far.tar; git remote set-url origin /tmp/far; git fetch -q; git switch -q x; git switch -q main; echo m >m'
is "$(not_merged)" 1 'nor does one that a remote has'

# --- repositories within, and while the session runs
repo lib && repo outer && git -C outer submodule --quiet add "$t/lib" lib && git -C outer commit -qm sub && repo outer/in
work outer 'for d in lib in; do (cd $d; git switch -qc x; echo x >x; git add x; git commit -qm "x of $d"; git switch -q main; echo y >y); done'
merge --to w
is "$(git -C outer/lib log -1 --format=%s w-x) $(git -C outer/in log -1 --format=%s w-x)" 'x of lib x of in' 'in a submodule and in a repository within'
work outer 'for d in lib in; do (cd $d; git switch -qc only; echo o >o; git add o; git commit -qm "o of $d"; git switch -q main); done'
merge --to v
is "$(git -C outer/lib log -1 --format=%s v-only) $(git -C outer/in log -1 --format=%s v-only) $(not_merged)" 'o of lib o of in 0' 'also without a change of its files'
repo live
cat >live.lua <<'L'
local sg = require "sandglass"
local box = sg.sandbox { repo = "live" }
assert(box:run "git switch -qc f; echo f >f; git add f; git commit -qm 'on f'; git switch -q main; echo m >m")
local _, applied = assert(box:merge { mode = "apply" })
print("left " .. #applied.branches_left .. " " .. (applied.branches_left[1] or { name = "none" }).name)
local _, r = assert(box:merge { mode = "branch", branch = "mine" })
print("brought " .. r.branches[1].ref)
L
"$sg" run --no-tui --no-input --policy any.lua live.lua </dev/null >log 2>&1 || cat log
is "$(grep -o 'left .*' log)" 'left 1 f' 'a script learns that a merge into the working files leaves it'
is "$(names live) $(grep -c 'brought refs/heads/mine-f' log) $(not_merged)" 'main mine mine-f  1 0' 'and brings it'

# --- what can't be brought is named, and stays
repo packed
work packed 'git switch -qc f; echo f >f; git add f; git commit -qm f; git switch -q main; git gc -q; echo m >m'
merge
is "$(value 'len(r["branches_left"])') $(value '"why" in r["branches_left"][0]') $(not_merged)" '1 True 1' 'objects in a pack'
repo broken
work broken 'git switch -qc f; echo f >f; git add f; git commit -qm f; git switch -q main; echo m >m
	o=.git/objects/$(git rev-parse f:f | sed "s|^..|&/|"); chmod u+w $o; printf "blob 2\0g\n" | python3 -c "import sys, zlib; sys.stdout.buffer.write(zlib.compress(sys.stdin.buffer.read()))" >$o'
merge
is "$(names broken | wc -w) $(value '"why" in r["branches_left"][0]') $(not_merged)" '2 True 1' 'an object that is not what its name says'
# --- names and objects that a hostile sandbox makes up
repo odd
cat >odd/tip.py <<'P'
import hashlib, os, subprocess, zlib
def put(kind, data):
    text = kind + b" %d\0" % len(data) + data
    name = hashlib.sha1(text).hexdigest()
    os.makedirs(".git/objects/" + name[:2], exist_ok=True)
    path = f".git/objects/{name[:2]}/{name[2:]}"
    os.path.exists(path) or open(path, "wb").write(zlib.compress(text))
    return name
def ref(name, tip):
    open(".git/refs/heads/" + name, "w").write(tip + "\n")
good = subprocess.check_output(["git", "rev-parse", "stash/x"], text=True).strip()
who = b"author A <a@a> 1 +0000\ncommitter A <a@a> 1 +0000\n\nm\n"
tree = subprocess.check_output(["git", "rev-parse", "stash/x^{tree}"], text=True).strip()
ref("tree", put(b"tree", b"40000 d\0" + bytes.fromhex(good)))
ref("gone", put(b"commit", b"tree %s\nparent %s\n" % (tree.encode(), b"1" * 40) + who))
ref("n" * 250, good)
P
work odd 'git switch -qc stash/x; echo f >f; git add f; git commit -qm f; git switch -q main; echo s >>a.txt; git stash -q; python3 tip.py; rm tip.py; echo m >m'
merge --to mine
is "$(value '[b["name"][:5] for b in r["branches_left"] if b["why"]]') $(names odd)" "['gone', 'nnnnn', 'tree'] main mine mine-stash mine-stash-x-2 " 'invalid names and broken commits stay, all others come'
is "$(git -C odd fsck --no-dangling 2>&1) $(git -C odd cat-file --batch-check --batch-all-objects | wc -l)" " $(git -C odd rev-list --objects --all --reflog | wc -l)" 'and nothing of what stays reaches the repository'

repo hg
work hg 'git switch -qc f; mkdir -p d/.hg; echo evil >d/.hg/hgrc; git add .; git commit -qm f; git switch -q main'
merge
is "$(names hg)$(value '"why" in r["branches_left"][0]')" 'main True' 'files of another version control system'
repo ex
work ex 'git switch -qc "$(printf "b\377x")"; echo f >f; git add f; git commit -qm f; git switch -q main; echo m >m'
merge --to mine
is "$(names ex) $(value 'len([b for b in r["branches_left"] if b["why"]])') $(not_merged)" 'main mine  1 1' 'a name that is not UTF-8'
repo slow
cat >slow/log.py <<'P'
import hashlib, os, zlib
text = b"commit 4000000\0" + b"x" * 4000000
name = hashlib.sha1(text).hexdigest()
os.makedirs(".git/objects/" + name[:2], exist_ok=True)
open(f".git/objects/{name[:2]}/{name[2:]}", "wb").write(zlib.compress(text))
open(".git/logs/HEAD", "a").write(f"{'0' * 40} {name} A <a@a> 1 +0000\tcommit: m\n" * 30000)
P
work slow 'python3 log.py; rm log.py; echo m >m; git add m; git commit -qm "add m"'
timeout 60 "$sg" merge --to mine --json </dev/null >out 2>err
is "$? $(git -C slow show mine:m)" '0 m' 'the time for a log is limited'
repo many
work many 'for i in $(seq 102); do echo $i >n; git add n; git commit -qm "n $i"; done'
merge --to mine
is "$(names many)$(git -C many rev-list --count main..mine-main) $(not_merged)" 'main mine mine-main 102 0' 'more commits than a message can name: they come as a branch'
mkdir -p mono/one && git init -q mono && echo 1 >mono/one/f && git -C mono add -A && git -C mono commit -qm base
work mono/one 'git switch -qc f; echo f >f; git commit -qam f; git switch -q main; echo m >m'
merge
is "$(value '"why" in r["branches_left"][0]') $(not_merged)" 'True 1' 'a branch of a subdirectory'
finish
