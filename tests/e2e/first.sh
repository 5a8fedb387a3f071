#!/usr/bin/env bash
# The main job: a scripted agent repairs a real C project with a failing test in a real sandbox and asks before it
# publishes. The session file shows and proves each step.
. "$(dirname "$0")/lib.sh"
need_boxes
sg=$SANDGLASS

repo=$t/words
mkdir "$repo"
cat >"$repo/words.c" <<'C'
int words(const char *s)
{
	int n = 0;
	for (; *s; s++)
		if (*s != ' ' && s[1] == ' ')
			n++;
	return n;
}
C
cat >"$repo/test.c" <<'C'
#include <stdio.h>
int words(const char *s);
int main(void)
{
	int n = words("two words");
	printf("%s - counts the last word\n", n == 2 ? "ok" : "not ok");
	return n != 2;
}
C
printf 'test: t\n\t./t\nt: test.c words.c\n\tcc -o t test.c words.c\n' >"$repo/Makefile"
printf 't\n' >"$repo/.gitignore"
printf 'TOKEN=canary-93174\n' >"$repo/.env"
git init -q "$repo"
printf '.env\n' >>"$repo/.git/info/exclude"
git init -q --bare "$t/origin.git"
git -C "$repo" add Makefile words.c test.c .gitignore
git -C "$repo" commit -qm 'a counter that forgets the last word'
git -C "$repo" remote add origin "$t/origin.git"

cat >"$t/turns.lua" <<'L'
return {
  { say = "I run the tests.", call = { "shell", { cmd = "make test" } } },
  { say = "The last word is not counted.", expect = "not ok",
    call = { "edit", { path = "words.c", old = "s[1] == ' '", new = "(s[1] == ' ' || !s[1])" } } },
  { call = { "shell", { cmd = "make test" } } },
  { say = "It passes.", expect = "ok %- counts" },
}
L
cat >"$t/fix.lua" <<'L'
local sg = require "sandglass"
local a = sg.args { repo = ".", "task" }
local box <close> = sg.sandbox { repo = a.repo, name = "fix" }
local before = assert(box:exec "make test")
sg.note("before: exit %d", before.code)
local r = assert(sg.agent.run { task = a.task, box = box, model = "scripted:turns.lua", name = "fixer",
  done = function() local t = box:exec "make test"; return t and t.ok, "the tests still fail" end })
print(r.text)
print(box:diff():stat())
assert(box:merge { into = a.repo, mode = "branch", branch = "sandglass/fix" })
local pushed, err = sg.host.push { box = box, branch = "fix" }
if not pushed then sg.exit(4, "not published: %s", err) end
print "published"
L

id=$(cd "$t" && "$sg" run -d fix.lua -- --repo "$repo" 'make the tests pass' 2>"$t/out")
like "$id" '^s-' 'a session begins'
events() { "$sg" events "$id" --json 2>/dev/null; }
held() { "$sg" state -S "$id" --json 2>/dev/null | grep -oE '"(action|id)": ?[0-9]+' | head -1 | grep -oE '[0-9]+'; }
is_held() { [ -n "$(held)" ]; }
wait_for 60 is_held
ok $? 'it asks before it merges'
"$sg" approve "$(held)" -S "$id" >"$t/out" 2>&1
ok $? 'a person lets the merge happen'
first=$(held)
another() { h=$(held) && [ -n "$h" ] && [ "$h" != "$first" ]; }
sleep 0.3
wait_for 60 is_held
like "$("$sg" show "$id#$(held)" 2>&1)" 'git push|host.push' 'it asks before it publishes'
is "$(git -C "$t/origin.git" branch --list fix)" '' 'nothing is published before the answer'
"$sg" approve "$(held)" -S "$id" -m 'go ahead' >"$t/out" 2>&1
ok $? 'a person lets it be published'
ended() { ! "$sg" ls --live 2>/dev/null | grep -q "$id"; }
wait_for 60 ended
ok $? 'the session ends'
events >"$t/out"
like "$(git -C "$t/origin.git" show fix:words.c 2>&1)" '!s\[1\]' 'the fix has arrived at the remote'
is "$(git -C "$repo" status --porcelain)" '' "the user's working files were not touched"
is "$(git -C "$repo" symbolic-ref --short HEAD)" main "nor was the user's branch"
is "$("$sg" events "$id" --json | jq -r 'select(.kind == "session.end") | "\(.body.ok) \(.body.status)"')" 'true 0' 'and says that it was successful'
is "$("$sg" events "$id" | grep -c ' host\.\(frame\|call\|module\)')" 0 'what its script asked for and was told is not in the way'
is "$("$sg" events "$id" -n 20 | wc -l)" 20 'the last 20 are 20 that are shown'
like "$("$sg" events "$id" --all)" ' host\.call ' 'nor lost'
like "$("$sg" events "$id" --filter kind:host.frame | head -1)" ' host\.frame ' 'who names it gets it'

"$sg" verify "$id" >"$t/out" 2>&1
ok $? 'the record verifies'
like "$("$sg" diff "$id" 2>&1)" "\\+.*!s\\[1\\]" 'diff shows the fix'
like "$("$sg" out "$id#$("$sg" events "$id" --json | grep -E '"kind": ?"action.requested"' | grep -m1 'make test' | grep -oE '"seq": ?[0-9]+' | grep -oE '[0-9]+')" 2>&1)" \
	'not ok - counts the last word' 'the output of the failing test is in the record'
said=$("$sg" events "$id" --filter kind:model --json | grep -m1 'action.requested' | sed 's/.*"seq": *\([0-9]*\),.*/\1/')
like "$("$sg" out "$id#$said" --json)" '"stream":"text","data":"' 'and what the model said, as the output of its call'
db=$(find "$HOME" -name '*.glass')
is "$(printf '%s\n' "$db" | wc -l)" 1 'it is one file'
ls "$db"-wal >/dev/null 2>&1
is $? 2 'and complete without a journal'
grep -rqa canary-93174 "$db"
is $? 1 'the secret of the workspace is not in it'
cp "$db" "$t/broken.glass"
printf 'X' | dd of="$t/broken.glass" bs=1 seek=$(($(grep -abo 'I run the tests' "$t/broken.glass" | head -1 | cut -d: -f1) + 2)) conv=notrunc 2>/dev/null
"$sg" verify "$t/broken.glass" >"$t/out" 2>&1
is $? 9 'a changed byte is found'
finish
