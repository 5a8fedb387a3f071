#!/usr/bin/env bash
# What a box cannot do is said: files of other owners, more disk than it was given.
. "$(dirname "$0")/lib.sh"
need_boxes
sg=$SANDGLASS

mkdir -p "$t/repo"
echo mine >"$t/repo/mine"
chmod -R a+rX "$t/repo"
cat >"$t/fill.lua" <<'L'
local sg = require "sandglass"
local box <close> = sg.sandbox { repo = sg.args { repo = "." }.repo, name = "full", limits = { disk = "20M" } }
local small = box:exec "for i in 1 2 3; do head -c 4M /dev/zero > part$i; done; sleep 1.2; echo fits"
print("small:", small and small.ok, small and small.out)
local big, err = box:exec "for i in 1 2 3 4 5 6; do head -c 9M /dev/zero > big$i; sleep 0.3; done; sleep 20; echo never"
print("big:", big and big.ok, big and big.out, err)
local after = box:exec "rm big*; sleep 1.2; echo goes on"
print("after:", after and after.out)
L
SECONDS=0
"$sg" run --no-tui "$t/fill.lua" -- --repo "$t/repo" >"$t/out" 2>&1 </dev/null
[ $SECONDS -lt 18 ]
ok $? "a box that writes many files past its limit is stopped before it is done"
said=$("$sg" events --json | grep '"kind":"note"')
like "$said" 'small:.*true.*fits' "what fits is let be"
unlike "$said" 'big:.*never' "the command that went past it was killed"
like "$said" 'after:.*goes on' "the box goes on when there is room again"
like "$(cat "$t/out")" "box 'full' is over its disk limit" "it is said on the screen"
like "$("$sg" show)" "warnings +box 'full' is over its disk limit .*20 MB" "and in show"

if [ "$(id -u)" != 0 ]; then
	skip 'only root can make files of another owner'
	skip 'only root can make files of another owner'
	skip 'only root can make files of another owner'
	skip 'only root can make files of another owner'
	finish
fi
echo theirs >"$t/repo/theirs"
echo theirs >"$t/repo/theirs2"
chown 12345 "$t/repo/theirs" "$t/repo/theirs2"
cat >"$t/write.lua" <<'L'
local sg = require "sandglass"
local box <close> = sg.sandbox { repo = sg.args { repo = "." }.repo, name = "own" }
local r = box:exec "echo x > mine && echo mine written; cat theirs; echo x > theirs || echo refused"
print(r.out)
L
"$sg" run --no-tui "$t/write.lua" -- --repo "$t/repo" >"$t/out" 2>&1 </dev/null
like "$("$sg" events --json | grep '"kind":"note"')" 'mine written.*theirs.*refused' "a file of another owner can be read, not overwritten"
like "$(cat "$t/out")" "2 files of another owner cannot be overwritten in box 'own': theirs, theirs2" "the log says which"
like "$("$sg" show)" "warnings +2 files of another owner" "show says it"
git init -q "$t/repo"
like "$(cd "$t/repo" && "$sg" doctor)" "NO +owners +2 files of another owner" "doctor says it beforehand"
finish
