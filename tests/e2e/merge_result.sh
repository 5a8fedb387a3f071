#!/usr/bin/env bash
# A merge reports its real effects: each changed file is named, unmerged work stays known, and an agent's commits keep
# their messages. Ended sessions, from the command line.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/merge.bash"
count() { sed -n "s/.*\"counts\":{[^}]*\"$1\":\([0-9]*\).*\"paths\".*/\1/p" out | tail -1; }
rest() { sed -n 's/.*"unmerged":{"files":\([0-9]*\).*/\1/p' out; }

# --- parts of it, again, and back
repo part
work part 'echo x >>a.txt; echo n >n; echo m >m'
merge --apply --path n
is "$(count merged) $(count left) $(rest)" '1 2 2' 'a part: one is merged, two are left'
"$sg" prune --merged --older-than 0s --yes </dev/null >prune 2>&1
is "$("$sg" ls --json | wc -l)" 1 'prune --merged leaves a session of which a part is merged'
printf 'local c = require "sandglass.config"\nc.keep = { size = 1 }\nreturn c\n' >size.lua
"$sg" prune --config size.lua --yes </dev/null >prune 2>&1
is "$("$sg" ls --json | wc -l)" 1 'and so do the settings'
merge --apply --path m
is "$(rest)" 1 'another part: what the first brought counts'
merge --apply
is "$(count merged) $(count identical) $(rest)" '1 2 0' 'the rest'
"$sg" undo </dev/null >undo 2>&1
is "$(git -C part status --porcelain | tr '\n' ' ')" 'A  m A  n ' 'undo takes the last one back only'
merge -n
like "$(cat out)" '"a.txt"' 'and its work is not merged again'
merge --apply
"$sg" prune --merged --older-than 0s --yes </dev/null >prune 2>&1
is "$("$sg" ls --json | wc -l) $(git -C part for-each-ref refs/sandglass | wc -l)" '0 0' 'all merged: prune takes the session and its refs'

# --- repositories within
repo lib && repo outer && git -C outer submodule --quiet add "$t/lib" lib && git -C outer commit -qm sub && repo outer/in
work outer 'echo x >>lib/a.txt; echo y >>in/a.txt; echo z >>a.txt; echo n >in/n'
merge --to work
is "$(count merged)" 4 'a submodule and a repository within: all are merged'
is "$(git -C outer rev-parse work:lib)" "$(git -C outer/lib rev-parse work)" 'the superproject names the new commit of the submodule'
is "$(git -C outer ls-tree -r --name-only work | tr '\n' ' ')" '.gitmodules a.txt lib ' 'nothing of the other one is in it'
is "$(git -C outer/in ls-tree -r --name-only work | tr '\n' ' ')" 'a.txt n ' 'but there'
"$sg" undo </dev/null >undo 2>&1
is "$(for r in outer outer/lib outer/in; do git -C $r branch --list work; done)" '' 'undo takes all three back'

# --- commits in them belong to them
by() { git -C "$1" log --format='%an %s' "$2" | tr '\n' ';'; }
work outer 'cd lib && echo 1 >>a.txt && git commit -qam "in lib" --author "Ann <ann@a>"; cd ../in && echo 1 >>a.txt && git commit -qam "in it"; cd .. && git add lib && git commit -qm "around"'
merge --to work
is "$(by outer/lib work~1..work)|$(by outer/in work~1..work)|$(by outer work~1..work)" 'Ann in lib;|agent in it;|agent around;' 'each has its own commits, with their authors'
"$sg" undo </dev/null >undo 2>&1
git -C outer worktree add -q ../tree && git -C tree submodule --quiet update --init
cat >live.lua <<'L'
local sg = require "sandglass"
local box = sg.sandbox { repo = "tree" }
assert(box:run "cd lib && echo 2 >>a.txt && git commit -qam 'in lib, live'; cd .. && echo 2 >>a.txt && git commit -qm 'around, live' a.txt")
assert(box:run "echo 3 >>lib/a.txt; echo 3 >>a.txt")
assert(box:merge { mode = "branch", branch = "live" })
L
"$sg" run --no-tui --no-input --policy any.lua live.lua </dev/null >log 2>&1 || cat log
is "$(by tree/lib live~2..live)|$(by tree live~2..live)" 'sandglass sandglass: work of sandbox box;agent in lib, live;|sandglass sandglass: work of sandbox box;agent around, live;' 'also in a linked worktree, merged while the session runs'

# --- an agent's commits
repo own
cat >own.lua <<'L'
local sg = require "sandglass"
local box = sg.sandbox { repo = "own" }
assert(box:run "echo x >>a.txt; git -c user.name='Agent One' -c user.email=one@a commit -qam 'add x' -m 'Because.'")
assert(box:run "echo n >n; git add n; git -c user.name='Agent Two' -c user.email=two@a commit -qm 'add n'")
assert(box:run "echo y >>n")
L
"$sg" run --no-tui --no-input own.lua </dev/null >log 2>&1
merge --commits
is "$(git -C own log --format='%an %s' -3 | tr '\n' ';')" 'sandglass sandglass: work of sandbox box;Agent Two add n;Agent One add x;' "an agent's commits keep names and messages"
like "$(git -C own log --format=%B -1 HEAD~2)" 'Because' 'the whole message'
is "$(git -C own status --porcelain)" '' 'and the files follow'
"$sg" undo </dev/null >undo 2>&1
is "$(git -C own rev-list --count HEAD)" 1 'undone'

# --- refused
repo bad
work bad 'seq 20000 >n; echo x >>a.txt'
file=$(find sessions -name '*.glass' -printf '%T@ %p\n' | sort -n | tail -1 | cut -d' ' -f2)
cp "$file" good
printf 'XXXXXXXX' | dd of="$file" bs=1 seek=$(($(stat -c %s "$file") / 2)) conv=notrunc 2>dd
merge --apply
[ $? -ne 0 ] && grep -q 'sandglass verify' err && [ ! -e bad/n ]
ok $? 'a damaged recording is refused with what shows the damage'
cp good "$file"
XDG_STATE_HOME=$t/elsewhere "$sg" merge --apply </dev/null >out 2>err
[ $? -ne 0 ] && grep -q -- '--trust-key [0-9a-f]*' err && [ ! -e bad/n ]
ok $? 'one that was recorded with another key, too'
XDG_STATE_HOME=$t/elsewhere "$sg" merge --apply --trust-key "$(grep -oE -- '--trust-key [0-9a-f]{64}' err | head -1 | cut -d' ' -f2)" </dev/null >out 2>err
ok $? 'unless that key is trusted'
repo way && git -C way branch fix/one
work way 'echo x >>a.txt'
merge --to fix
[ $? -ne 0 ] && grep -q "'fix/one'" err
ok $? 'a branch that is in the way is named'
for name in -x HEAD @ refs/heads/x; do merge --to "$name" && echo "$name"; done >names
is "$(cat names)$(git -C way for-each-ref --format='%(refname:short)' | xargs)" 'fix/one main' 'names that git refuses for branches are refused'
merge --to fix/one/more
[ $? -ne 0 ] && grep -q "'fix/one'" err
ok $? 'also above'

# git's own files are many, and never take the place of others that are not merged
repo many
work many 'for i in $(seq 150); do echo $i >f; git add f; git commit -qm $i; done; mkfifo zz'
merge
is "$(python3 -c 'import json; print(json.load(open("out"))["result"]["paths"]["refused"][0]["path"])')" zz 'a file that is not merged is named before those of git'
finish
