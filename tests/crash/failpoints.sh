#!/usr/bin/env bash
# The supervisor is killed at every labelled step (failpoint("...") in the sources), at its 1st, 2nd and 5th pass: the file
# opens and verifies, resuming closes what was open and the script comes to its end, with the right files.
. "$(dirname "$0")/../e2e/lib.sh"
sg=$SANDGLASS
boxes || { skip 'boxes cannot be opened here'; finish; }
top=$(cd "$here/../.." && pwd)
points=$(grep -rhoE 'failpoint\("[^"]+"\)' "$top/src" | cut -d'"' -f2 | sort -u)
git init -q "$t/repo"
echo one >"$t/repo/f"
git -C "$t/repo" add f
git -C "$t/repo" commit -qm start
cat >"$t/steps.lua" <<'L'
local sg = require "sandglass"
local a = sg.args { repo = "." }
local box <close> = sg.sandbox { name = "b", repo = a.repo }
assert(box:write("made", "made\n"))
assert(box:snapshot "made")
assert(box:run "seq 1 300; echo two >> f")
assert(box:rollback "made")
assert(box:run "echo three >> f")
local out = assert(box:run "cat f made").out
sg.store("crash"):set("files", out)
print(out)
L
for point in $points; do
	for pass in 1 2 5; do
		rm -rf "$HOME/.local"
		id=$(FAILPOINT=$point:$pass timeout 30 "$sg" run -d "$t/steps.lua" --json -- --repo "$t/repo" 2>"$t/out" | grep -oE '"session":"[^"]*' | cut -d'"' -f4)
		[ -n "$id" ] || { # killed before it could say its name
			set -- "$HOME"/.local/share/sandglass/sessions/*.glass
			[ -f "$1" ] || { ok 0 "$point:$pass: nothing was begun"; continue; }
			id=$1
		}
		for _ in $(seq 600); do "$sg" ls --live 2>/dev/null | grep -q . || break; sleep 0.05; done
		"$sg" verify "$id" >"$t/out" 2>&1 || { ok 1 "$point:$pass: verifies after the kill"; continue; }
		if "$sg" ls 2>/dev/null | grep -q 'broken off'; then
			timeout 60 "$sg" resume "$id" --no-input >"$t/out" 2>&1 </dev/null
			rc=$?
			grep -q 'broke off before its script began' "$t/out" && { ok 0 "$point:$pass: broke off before anything began"; continue; }
			[ $rc = 0 ] || { ok 1 "$point:$pass: resumes (status $rc)"; continue; }
		fi
		"$sg" verify "$id" >"$t/verify" 2>&1 || { cp "$t/verify" "$t/out"; ok 1 "$point:$pass: verifies after resuming"; continue; }
		grep -q 'actions are open' "$t/verify" && { cp "$t/verify" "$t/out"; ok 1 "$point:$pass: everything is closed"; continue; }
		got=$("$sg" events "$id" --json 2>/dev/null | grep -c 'one\\nthree\\nmade')
		[ "$got" -ge 1 ]
		ok $? "$point:$pass: every step took effect once"
	done
done
pgrep -f "$t" >/dev/null 2>&1
is $? 1 'nothing is left running'
finish
