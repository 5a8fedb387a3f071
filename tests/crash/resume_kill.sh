#!/usr/bin/env bash
# The supervisor is killed in a step, and the supervisor that resumes is killed at each of its first commits (4; LONG=1:
# 12), in which it opens the sandbox again and restores its files. The next resume ends with each command's effect exactly
# once. A command on the host that may have run is never repeated: the script receives the error "interrupted".
. "$(dirname "$0")/../e2e/lib.sh"
accept_any
sg=$SANDGLASS
cd "$t" || exit 1
printf 'return require("sandglass.policy").rules { default = "allow" }\n' >any.lua
[ -z "$accept" ] || accept='--accept reduced'
git init -q repo
echo one >repo/f
git -C repo add f
git -C repo commit -qm start
cat >steps.lua <<'L'
local sg = require "sandglass"
local a = sg.args { repo = ".", out = "" }
local box <close> = sg.sandbox { name = "b", repo = a.repo }
assert(box:run "echo 1 >> f")
assert(box:run "echo 2 >> f")
local r, err = sg.host.exec { "sh", "-c", "echo once >> " .. a.out }
assert(box:run "echo 3 >> f")
print(box:run("cat f").out:gsub("%s+", " ") .. (r and "ran" or err.code))
L
gone() { ! "$sg" ls --live 2>/dev/null | grep -q .; }
commits=4
[ -z "${LONG:-}" ] || commits=12
# the second command in the sandbox has written, its end is recorded and its snapshot not; the command on the host
for step in effect.ended:2 snapshot.before-record:3 gate.start:3; do
	wrong= met=
	for commit in $(seq "$commits"); do
		rm -rf "$HOME/.local" out
		id=$(FAILPOINT=$step timeout 60 "$sg" run $accept --policy any.lua -d steps.lua --json -- --repo repo --out "$t/out" 2>said | grep -oE '"session":"[^"]*' | cut -d'"' -f4)
		wait_for 30 gone
		FAILPOINT=record-after-commit:$commit timeout 60 "$sg" resume "$id" -d --no-input >said 2>&1 </dev/null
		wait_for 30 gone
		"$sg" ls 2>/dev/null | grep -q interrupted && met=yes
		timeout 60 "$sg" resume "$id" --no-input >said 2>&1 </dev/null
		got=$("$sg" events "$id" --json | grep '"kind":"note"' | grep -oE 'one[ 0-9]+(ran|[a-z]+)' | tail -1)
		case $step in
		gate*) [ "$got" = 'one 1 2 3 interrupted' ] && ! grep -q . out 2>/dev/null ;;
		*) [ "$got" = 'one 1 2 3 ran' ] && [ "$(cat out)" = once ] ;;
		esac || {
			wrong+="commit $commit: $got; "
			"$sg" events "$id" >"$t/told" 2>&1
			cat said >>"$t/told"
		}
		"$sg" verify "$id" >said 2>&1 || wrong+="commit $commit: $(tail -1 said); "
	done
	[ -z "$wrong" ] || grep . "$t/told" | tail -40 | sed 's/^/#   /'
	is "$met $wrong" 'yes ' "$step, then a kill at each commit of the resume"
done
finish
