#!/usr/bin/env bash
# Unmerged work survives the end of its session: it is reported, listed, merged from the recording, undone, and pruned.
. "$(dirname "$0")/lib.sh"
need_boxes
sg=$SANDGLASS

repo=$t/repo
git init -q "$repo"
printf 'one\ntwo\nthree\n' >"$repo/a.txt"
printf 'build/\n' >"$repo/.gitignore"
git -C "$repo" add .
git -C "$repo" commit -qm first
chmod -R a+rX "$repo"
cat >"$t/work.lua" <<'L'
local sg = require "sandglass"
local box <close> = sg.sandbox { repo = sg.args { repo = "." }.repo, name = "fix" }
assert(box:exec "sed -i s/two/TWO/ a.txt; mkdir -p src build; echo new > src/new.c; rm .gitignore; echo out > build/out; git status >/dev/null")
L
out=$("$sg" run --no-tui "$t/work.lua" -- --repo "$repo" 2>&1 </dev/null)
is $? 0 "a box that changes four files ends"
like "$out" 'sandbox fix: 3 files not merged; .sandglass merge s-[a-z0-9]+. or .sandglass prune s-' "what is not merged is told (ignored files are not counted)"
id=$(printf '%s' "$out" | grep -o 'merge s-[a-z0-9]*' | head -1 | cut -d' ' -f2)
like "$("$sg" sandbox ls)" "$id +fix +ended, 3 files not merged" "sandbox ls names it"
like "$("$sg" doctor --paths)" "not merged .*${id#s-}" "so does doctor --paths"
like "$("$sg" merge -n "$id" 2>&1)" "would merge fix: 3 changes to $repo" "a dry run says what would be done"
is "$(git -C "$repo" branch | wc -l)" 1 "and does nothing"
took() { "$sg" ls --json | sed -n 's/.*"dur_us": *\([0-9]*\).*/\1/p' | head -1; }
before=$(took)
like "$before" "^[0-9]+$" "ls says how long it took"
fails "a missing sandbox: those that exist are named" "2 noent 'other' fix" "$sg" merge "$id/other"
"$sg" merge "$id/fix" --to review --path 'a.txt' >"$t/out" 2>&1
ok $? "one file is merged after the end"
is "$(git -C "$repo" show review:a.txt | tr '\n' ' ')" "one TWO three " "its branch holds it"
is "$(git -C "$repo" show review:.gitignore)" "build/" "and not the others"
like "$("$sg" sandbox ls)" "$id +fix +ended, 2 files not merged" "two are left"
"$sg" undo "$id" >"$t/out" 2>&1
ok $? "that is taken back"
is "$(git -C "$repo" branch | wc -l)" 1 "the branch is gone"
is "$(took)" "$before" "what was done after its end adds nothing to how long it took"

# --- who saw it run and looks on is in nobody's way ---
if command -v tmux >/dev/null; then
	tm() { tmux -S "$t/tmux" "$@"; }
	shows() { tm capture-pane -p >"$t/screen"; grep -qE -- "$1" "$t/screen"; }
	merges() { "$sg" merge "$1" --to "$2" >"$t/out" 2>&1; }
	tm -f /dev/null new-session -d -x 120 -y 36 "LC_ALL=C.UTF-8 $sg run $t/work.lua -- --repo $repo; read x"
	wait_for 60 shows "ended; 'sandglass merge' and 'undo' work"
	ok $? "a console shows a session to its end and stays"
	seen=$("$sg" ls | grep -o 's-[a-z0-9]*' | head -1)
	wait_for 60 merges "$seen" seen
	ok $? "its work is merged meanwhile"
	like "$(cat "$t/out")" "3 (files|changes)" "all of it"
	wait_for 60 "$sg" undo "$seen" >"$t/out" 2>&1
	ok $? "and taken back"
	wait_for 60 merges "$seen" seen
	ok $? "and merged again"
	tm send-keys d
	wait_for 60 shows 'src/new.c'
	ok $? "the console goes on reading the record"
	tm send-keys Escape
	tm send-keys q
	wait_for 60 shows '^sandglass: merged to seen'
	ok $? "and whoever leaves it reads the branch"
	tm kill-server
	git -C "$repo" branch -qD seen
	"$sg" prune "$seen" --yes >"$t/out" 2>&1
else
	skip "no tmux"
fi
env -u SANDGLASS_USER USER=liar "$sg" merge "$id" --apply >"$t/out" 2>&1
ok $? "all of them, to the working files"
is "$(tr '\n' ' ' <"$repo/a.txt")$(cat "$repo/src/new.c")" "one TWO three new" "they are there"
like "$("$sg" events "$id" --json --all)" "\"words\":\[\"merge\".*\"name\":\"$(id -un)\"" "by the account that did it, whatever it calls itself"
unlike "$("$sg" events "$id" --json --all)" '"liar"' "nowhere else"
unlike "$("$sg" sandbox ls)" "$id" "then nothing is left to merge"
"$sg" verify "$id" >"$t/out" 2>&1
ok $? "the session file still verifies, with the merge in it"
like "$("$sg" events "$id" --json)" '"kind":"merge.done"' "the merge is recorded"

out=$("$sg" run --no-tui "$t/work.lua" -- --repo "$repo" 2>&1 </dev/null)
id=$(printf '%s' "$out" | grep -o 'merge s-[a-z0-9]*' | head -1 | cut -d' ' -f2)
like "$("$sg" prune "$id" 2>&1 </dev/null)" "unmerged work" "prune says so before it removes"
out=$("$sg" prune "$id" 2>&1 </dev/null | sed 's/[0-9.]* [KM]iB/SIZE/')
is "$(echo "$out" | head -2 | cut -c1-12 | xargs -d '\n')" "would remove total: 1 ses" "the totals follow the sessions"
like "$out" "^would remove $id  SIZE  .*[1-9] files? not merged" "and how much of it nobody has merged"
like "$("$sg" prune --older-than 0s --keep 0 --merged --yes 2>&1 </dev/null; "$sg" ls)" "$id" "prune --merged leaves it"
"$sg" prune "$id" --yes >"$t/out" 2>&1
ok $? "prune --yes removes it"
like "$(cat "$t/out")" "^freed: 1 session, [0-9.]+ [KM]iB" "and says what that frees"
unlike "$("$sg" sandbox ls)" "$id" "and it is gone"
# --- killed in a command: files that no snapshot has are work
"$sg" sandbox exec --repo "$repo" -- sh -c 'echo only >only; sleep 100' </dev/null >/dev/null 2>&1 &
wait_for 30 sh -c "find '$HOME/.local/state/sandglass/box' -name only | grep -q ."
kill -9 "$(supervisor "$("$sg" ls --json | head -1 | sed -n 's/.*"session":"\([^"]*\).*/\1/p')")"
wait
"$sg" merge </dev/null >"$t/out" 2>&1
ok $((! $?)) 'a merge does not say that there is nothing'
"$sg" prune --merged --older-than 0s --yes </dev/null >"$t/out" 2>&1
is "$(find "$HOME/.local/state/sandglass/box" -name only | wc -l)" 1 'prune --merged keeps it'
finish
