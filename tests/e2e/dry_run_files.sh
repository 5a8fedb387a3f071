#!/usr/bin/env bash
# Dry runs of writes and edits, and a dry run while the recorder can't write.
. "$(dirname "$0")/lib.sh"
sg=$SANDGLASS
need_boxes
cd "$t" || exit 1
export SANDGLASS_SESSIONS=$t/sessions
trap end_all EXIT
mkdir repo && cd repo && git init -q && printf 'one\ntwo\nthree\n' >a.txt && chmod 755 a.txt && git add . && git commit -qm x && cd ..
cat >f.lua <<'L'
local sg = require "sandglass"
local box <close> = sg.sandbox { name = "b", repo = sg.args[1] }
local ok, err
if sg.args[2] == "write" then ok, err = box:write("new/b.txt", "written\n")
elseif sg.args[2] == "exec" then ok, err = box:exec "echo x >held"
else ok, err = box:edit("a.txt", sg.args[3], "TWO\n2\n") end
print(ok and "done" or "err " .. err.msg)
print("after: " .. box:exec("cat a.txt new/b.txt; stat -c %a a.txt").out)
L
held() { "$sg" state -S "$s" --json 2>/dev/null | grep -oE '"action": ?[0-9]+' | head -1 | grep -oE '[0-9]+'; }
is_held() { [ -n "$(held)" ]; }
ended() { ! "$sg" ls --live 2>/dev/null | grep -q "$s"; }
begin() {
	s=$("$sg" run -d f.lua --hold 'kind:write,edit or cmd:*held*' --name p -- "$t/repo" "$@" 2>"$t/out")
	wait_for 20 is_held
	h=$(held)
}
begin edit "two
"
out=$("$sg" dry-run "$h" -S "$s" 2>&1)
is $? 0 'an edit can be tried'
like "$out" '1 file \+2 -1' 'its difference is shown'
like "$out" 'M a.txt \+2 -1' 'with the file'
is "$(held)" "$h" 'it still waits'
"$sg" apply "$h" -S "$s" >"$t/out" 2>&1
is $? 0 'and can be made so'
wait_for 20 ended
like "$("$sg" events "$s")" 'after: one ↵ TWO ↵ 2 ↵ three.*755' 'exactly that, and the mode stays'
"$sg" verify "$s" >"$t/out" 2>&1
is $? 0 'the record verifies'

begin edit nothere
like "$("$sg" dry-run "$h" -S "$s" 2>&1)" "failed: .*in 'a.txt'" 'an edit without a match fails in the dry run'
"$sg" deny "$h" -S "$s" >"$t/out" 2>&1
wait_for 20 ended

begin write
like "$("$sg" dry-run "$h" -S "$s" 2>&1)" '2 files \+1 -0' 'a write can be tried'
"$sg" apply "$h" -S "$s" >"$t/out" 2>&1
wait_for 20 ended
like "$("$sg" events "$s")" 'after: one ↵ two ↵ three.*written.*755' 'and made so, the folder with it'

# recorder stopped: no preview
line=$("$sg" run -d f.lua --hold 'cmd:*held*' --name p --json -- "$t/repo" exec 2>"$t/out")
s=$(printf '%s' "$line" | grep -oE '"session":"[^"]*' | cut -d'"' -f4)
pid=$(printf '%s' "$line" | grep -oE '"pid":[0-9]+' | cut -d: -f2)
wait_for 20 is_held
h=$(held)
if [ -n "$pid" ] && command -v prlimit >/dev/null; then
	prlimit --pid "$pid" --fsize=4096: 2>"$t/out"
	timeout 10 "$sg" dry-run "$h" -S "$s" >"$t/out" 2>&1
	timeout 10 "$sg" dry-run "$h" -S "$s" >"$t/out" 2>&1
	[ $? -ne 0 ]
	ok $? 'recorder stopped: no preview'
	is "$(find "$HOME/.local/state/sandglass/box/$s"/"#"* -name held | wc -l)" 0 'recorder stopped: nothing has run'
	prlimit --pid "$pid" --fsize=unlimited: 2>"$t/out"
	can() { "$sg" dry-run "$h" -S "$s" >"$t/out" 2>&1; }
	wait_for 20 can
	ok $? 'it resumes, and a dry run is possible'
else
	skip 'prlimit is not installed, or the pid is not told'
fi
"$sg" stop --now -S "$s" >"$t/out" 2>&1
wait_for 20 ended
"$sg" verify "$s" >"$t/out" 2>&1
is $? 0 'the record verifies'
finish
