#!/usr/bin/env bash
# The main job as an ordinary user without a passwd entry, over a repository of the same user, of root, and of a third
# user.
. "$(dirname "$0")/lib.sh"
need_boxes
sg=$SANDGLASS
[ "$(id -u)" = 0 ] && command -v setpriv >/dev/null || { skip 'needs root and setpriv to become another user'; finish; }
uid=6173
third=6174
home=$t/uhome
mkdir "$home" "$t/urun"
cp "$HOME/.gitconfig" "$home/"
chown -R $uid:$uid "$home" "$t/urun"
chmod 700 "$t/urun"
as_user() {
	(cd "$home" && HOME=$home XDG_RUNTIME_DIR=$t/urun timeout 100 setpriv --reuid $uid --regid $uid --clear-groups "$@")
}
if ! as_user test -x "$sg"; then # the program lies where only root may pass
	mkdir "$t/prog"
	cp "${sg%/*}"/sandglass* "$t/prog/" 2>/dev/null
	chmod 755 "$t/prog" "$t"/prog/*
	sg=$t/prog/sandglass
fi
as_user "$sg" sandbox exec -- true >"$t/out" 2>&1 || { skip "no box for an ordinary user here: $(tail -1 "$t/out")"; finish; }
as_user rm -rf "$home/.local"
cat >"$home/job.lua" <<'L'
local sg = require "sandglass"
local a = sg.args { repo = "." }
local box <close> = sg.sandbox { name = "job", repo = a.repo }
print("profile " .. box.profile)
local r = assert(box:exec "cat words; id -u; git status --porcelain; echo fixed > w && mv -f w words; mkdir -p new; echo n > new/file; rm gone")
print("out " .. r.out:gsub("%s+", " ") .. r.err:gsub("%s+", " ") .. " exit " .. r.code)
local snap = assert(box:snapshot "fixed")
assert(box:exec "rm -rf new words")
assert(box:rollback(snap))
print("back " .. assert(box:exec "cat words new/file; git add -A; git commit -qm fixed; git status --porcelain").out:gsub("%s+", " "))
print((box:diff():stat():gsub("\n", "; ")))
L
chown $uid "$home/job.lua"
for owner in $uid 0 $third; do
	repo=$t/repo-$owner
	mkdir "$repo"
	git init -q "$repo"
	echo broken >"$repo/words"
	echo x >"$repo/gone"
	git -C "$repo" add .
	git -C "$repo" commit -qm one
	chmod -R a+rX "$repo"
	chown -R $owner:$owner "$repo"
	sum() { (cd "$repo" && find . -type f -exec cksum {} + | sort | cksum); }
	before=$(sum)
	as_user "$sg" run job.lua --name "job-$owner" -- --repo "$repo" >"$t/out" 2>&1 </dev/null
	is $? 0 "repository of $owner: the session ends well"
	out=$(cat "$t/out")
	like "$out" 'note: out broken' "repository of $owner: read"
	like "$out" 'out .*exit 0' "repository of $owner: changed in the sandbox"
	like "$out" 'back fixed n' "repository of $owner: rolled back"
	unlike "$out" 'dubious' "repository of $owner: git trusts it"
	is "$(sum)" "$before" "repository of $owner: not touched"
	as_user "$sg" verify "job-$owner" >"$t/out" 2>&1
	is $? 0 "repository of $owner: the record verifies"
	[ $owner = $uid ] || like "$(as_user "$sg" events "job-$owner" --json | grep '"base.listed"')" '"(foreign|third)' \
		"repository of $owner: the record says that files belong to others"
	like "$(as_user "$sg" diff "job-$owner" --stat 2>&1)" 'words' "repository of $owner: diff"
done
# the supervisor dies before bubblewrap has its arguments: with none of them it must not start anything, which nobody would end
cat >"$home/long.lua" <<'L'
local sg = require "sandglass"
local box <close> = sg.sandbox {}
box:exec "sleep 100"
L
chown $uid "$home/long.lua"
as_user "$sg" run --no-tui long.lua >"$t/long" 2>&1 </dev/null &
inside() { pid=$(pgrep -u $uid -f "^bwrap --add" | head -1) && [ -n "$pid" ] && pgrep -u $uid -x sleep; }
wait_for 60 inside
mapfile -d '' -t words <"/proc/$pid/cmdline"
(as_user "${words[@]}") >"$t/out" 2>&1 3</dev/null 4</dev/null 5>/dev/null 6</dev/null 7</dev/null
like "$(cat "$t/out")" 'requires --unshare-user' 'a bubblewrap that gets no arguments makes no child'
as_user "$sg" stop >"$t/out" 2>&1
none() { ! pgrep -u $uid -a >"$t/out"; }
wait_for 60 none
ok $? 'no process of the user is left'
[ "$(find "$home" ! -uid $uid | wc -l)" = 0 ]
ok $? "all that was written is the user's"
finish
