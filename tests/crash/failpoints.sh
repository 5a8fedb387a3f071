#!/usr/bin/env bash
# The supervisor is killed at each labelled step (failpoint_hit("...") in the sources), at its 1st pass and, in turn, its 2nd
# or 5th (LONG: both). The file opens and verifies, a resume closes open actions, and the script ends with the right files.
# Steps that only a user starts (dry runs, applying them) have a script of their own, in which the user continues. The steps
# of a merge run in a child: unit/sandbox/t_ws_merge_more kills it; those of several sandboxes: merge_kill.sh. Those of
# archiving and packing: e2e/archive.sh and e2e/small_files.sh.
. "$(dirname "$0")/../e2e/lib.sh"
sg=$SANDGLASS
accept_any
top=$(cd "$here/../.." && pwd)
points=$(grep -rhoE --include='*.c' 'failpoint_hit\("[^"]+"\)' "$top/src" | cut -d'"' -f2 | grep -vE '^(merge|archive|pack)-' | sort -u)
[ "$(wc -l <<<"$points")" -ge 15 ]
ok $? 'the labelled steps are found'
by_hand=$(grep -E '^(preview|promote)' <<<"$points")
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
hit= turn=0
for point in $(grep -vxF "$by_hand" <<<"$points"); do
	turn=$((turn + 1))
	passes="1 $((turn % 2 ? 2 : 5))"
	[ -z "${LONG:-}" ] || passes='1 2 5'
	for pass in $passes; do
		rm -rf "$HOME/.local"
		id=$(FAILPOINT=$point:$pass timeout 30 "$sg" run $accept -d "$t/steps.lua" --json -- --repo "$t/repo" 2>"$t/out" | grep -oE '"session":"[^"]*' | cut -d'"' -f4)
		[ -n "$id" ] || { # killed before it could say its name
			set -- "$HOME"/.local/share/sandglass/sessions/*.glass
			[ -f "$1" ] || { hit="$hit $point"; ok 0 "$point:$pass: nothing was begun"; continue; }
			id=$1
		}
		for _ in $(seq 600); do "$sg" ls --live 2>/dev/null | grep -q . || break; sleep 0.05; done
		"$sg" verify "$id" >"$t/out" 2>&1 || { ok 1 "$point:$pass: verifies after the kill"; continue; }
		if "$sg" ls 2>/dev/null | grep -q 'interrupted'; then
			hit="$hit $point"
			timeout 60 "$sg" resume "$id" --no-input >"$t/out" 2>&1 </dev/null
			rc=$?
			grep -q 'was interrupted before its script started' "$t/out" && { ok 0 "$point:$pass: broke off before anything began"; continue; }
			[ $rc = 0 ] || { ok 1 "$point:$pass: resumes (status $rc)"; continue; }
		fi
		"$sg" verify "$id" >"$t/verify" 2>&1 || { cp "$t/verify" "$t/out"; ok 1 "$point:$pass: verifies after resuming"; continue; }
		grep -qE 'actions? (is|are) open' "$t/verify" && { cp "$t/verify" "$t/out"; ok 1 "$point:$pass: everything is closed"; continue; }
		got=$("$sg" events "$id" --json 2>/dev/null | grep -c 'one\\nthree\\nmade')
		[ "$got" -ge 1 ]
		ok $? "$point:$pass: every step took effect once"
	done
done
missed=
for point in $(grep -vxF "$by_hand" <<<"$points"); do case "$hit " in *" $point "*) ;; *) missed="$missed $point" ;; esac; done
is "$missed" '' 'no step was passed by'

cat >"$t/hands.lua" <<'L'
local sg = require "sandglass"
local a = sg.args { repo = "." }
local box <close> = sg.sandbox { name = "b", repo = a.repo }
assert(box:run ": held; echo two >> f; echo out")
local done, err = box:merge { into = a.repo, mode = "apply" }
print("merged " .. tostring(done and true or err) .. " " .. box:run("cat f").out)
L
state() { "$sg" state -S "$id" 2>/dev/null; }
held() { state | grep -oE '^HELD #[0-9]+' | grep -oE '[0-9]+' | head -1; }
live() { "$sg" ls --live 2>/dev/null | grep -q "$id"; }
go_on() { # as a person would, until it has ended or died: 0 when it has ended
	local h tried=
	for ((until = SECONDS + 40; SECONDS < until; )); do
		live || break
		h=$(held)
		if [ -n "$h" ] && state | grep -q "HELD #$h .*: held"; then
			[ -n "$tried" ] || "$sg" dry-run "$h" -S "$id" >"$t/said" 2>&1
			tried=1
			"$sg" apply "$h" -S "$id" >>"$t/said" 2>&1 || "$sg" approve "$h" -S "$id" >>"$t/said" 2>&1
		elif [ -n "$h" ]; then
			"$sg" approve "$h" -S "$id" >>"$t/said" 2>&1
		fi
		sleep 0.05
	done
	"$sg" ls 2>/dev/null | grep "$id" | grep -q ended
}
for point in $by_hand; do
	for pass in 1 ${LONG:+2}; do
		rm -rf "$HOME/.local" "$t/repo2"
		git clone -q "$t/repo" "$t/repo2"
		id=$(FAILPOINT=$point:$pass timeout 30 "$sg" run $accept -d "$t/hands.lua" --hold 'cmd~held' --json -- --repo "$t/repo2" 2>"$t/out" | grep -oE '"session":"[^"]*' | cut -d'"' -f4)
		go_on && died=no || died=yes
		"$sg" verify "$id" >"$t/out" 2>&1 || { ok 1 "$point:$pass: verifies after the kill"; continue; }
		if [ $died = yes ]; then
			timeout 60 "$sg" resume -d "$id" >"$t/out" 2>&1 </dev/null || { ok 1 "$point:$pass: resumes"; continue; }
			go_on || { cp "$t/said" "$t/out"; ok 1 "$point:$pass: comes to its end"; continue; }
		fi
		[ $died = no ] && [ $pass = 2 ] && { ok 0 "$point:$pass: not passed a second time, nothing was killed"; continue; }
		said=$("$sg" events "$id" | grep -oE 'print: merged .*|note: merged .*' | tail -1 | sed 's, ↵,,g')
		[ $died = yes ] && [[ $said == *'merged true one two'* ]] && [ "$(tr '\n' ' ' <"$t/repo2/f")" = 'one two ' ]
		ok $? "$point:$pass: killed, taken up again, done once: $said"
		"$sg" verify "$id" >"$t/out" 2>&1
		ok $? "$point:$pass: verifies"
	done
done
pgrep -f "$t" >/dev/null 2>&1
is $? 1 'nothing is left running'
finish
