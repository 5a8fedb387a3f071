#!/usr/bin/env bash
# Workspaces that fight back: files taken away with chmod, processes alive over rollback and fork, every byte as a name, huge
# files, an editor that saves all the time, many small files, five repositories with one conflict.
. "$(dirname "$0")/../e2e/lib.sh"
sg=$SANDGLASS
boxes || { skip 'no box can be opened here'; finish; }
cd "$t" || exit 1
new_repo() { mkdir -p "$1" && git init -q "$1" && printf 'one\ntwo\nthree\n' >"$1/f" && git -C "$1" add f && git -C "$1" commit -qm one; }
new_repo repo
play() { # name, words...: runs $t/NAME.lua
	local name=$1
	shift
	timeout 150 "$sg" run "$name.lua" --name "$name" -- "$@" >"$t/out" 2>&1 </dev/null
	is $? 0 "$name: ends well"
	cp "$t/out" "$t/$name.txt"
	"$sg" verify "$name" >"$t/out" 2>&1
	is $? 0 "$name: the record verifies"
	cp "$t/$name.txt" "$t/out"
}
note() { sed -n "s/.*note: $1=//p" "$t/out" | tr -s ' ' | sed 's/ $//'; }

cat >hide.lua <<'L'
local sg = require "sandglass"
local box <close> = sg.sandbox { name = "hide", repo = "repo" }
assert(box:exec "mkdir d; echo hidden-7 > d/x; echo y > y; chmod 000 d/x y d")
print("diff=" .. box:diff():stat():gsub("\n", " "))
print("patch=" .. (box:diff():patch():find("hidden-7", 1, true) and "whole" or "without"))
local s = assert(box:snapshot "s")
assert(box:exec "chmod 700 d; rm -rf d y")
assert(box:rollback(s))
print("mode=" .. assert(box:exec "stat -c %a y; stat -c %a d; chmod 700 d; chmod 600 d/x; cat d/x").out:gsub("%s+", " "))
L
play hide
like "$(note diff)" 'd/x.* y ' 'chmod 000 in the upper: still in the diff'
like "$(note patch)" whole 'with its bytes'
like "$(note mode)" '^0 0 hidden-7' 'and comes back as it was'

cat >alive.lua <<'L'
local sg = require "sandglass"
local box <close> = sg.sandbox { name = "alive", repo = "repo" }
local p = assert(box:spawn "exec 3>>log; while :; do echo tick >&3; echo now >> moment; sleep 0.02; done")
sg.sleep(0.3)
local s = assert(box:snapshot "s")
assert(box:exec "echo later > later; echo changed >> f")
assert(box:rollback(s))
print("rolled=" .. assert(box:exec "ls later 2>&1; cat f | wc -l").out:gsub("%s+", " "))
local r = assert(box:exec "sleep 0.3; pgrep -f 'ech[o] tick' | wc -l; cat moment")
print("still=" .. r.out:gsub("%s+", " "))
local copy <close> = assert(box:fork { name = "copy" })
print("fork=" .. assert(copy:exec "cat f | wc -l; pgrep -f 'ech[o] tick' | wc -l; echo only-here > fork; ls").out:gsub("%s+", " "))
print("first=" .. assert(box:exec "ls fork 2>&1; echo fine").out:gsub("%s+", " "))
p:kill()
L
play alive
like "$(note rolled)" 'No such file.* 3$' 'a rollback with a process alive brings the files back'
like "$(note still)" 'now' 'and the sandbox continues'
like "$(note fork)" '^3 0 ' 'a fork of a box with a live process has the files and no process'
like "$(note first)" 'No such file.* fine' 'and is apart from the first'

cat >names.lua <<'L'
local sg = require "sandglass"
local box <close> = sg.sandbox { name = "names", repo = "repo" }
local all = {}
for b = 1, 255 do if b ~= 47 then all[#all + 1] = string.format("n\\%03o", b) end end
assert(box:exec { "python3", "-c", [[
import os
for b in range(1, 256):
    if b == 47: continue
    for n in (b"n" + bytes([b]), bytes([b]) if b != 46 else b"dot"):
        open(n, "wb").write(n)
for n in (b"git~1", b".git~1", b".GIT", b".git ", b".git.", b"a\nb", b"\xff\xfe", b"-rf", b"...", b"con", b"sub/.git/hooks"):
    if b"/" in n: os.makedirs(n, exist_ok=True); n += b"/x"
    open(n, "wb").write(b"hostile")
]] })
local sum = "find . -path ./.git -prune -o -type f -print0 | sort -z | xargs -0 sha256sum | sha256sum"
local a = assert(box:exec(sum)).out
print("count=" .. assert(box:exec "find . -path ./.git -prune -o -type f -print0 | tr -dc '\\0' | wc -c").out)
local s = assert(box:snapshot "s")
assert(box:exec "find . -mindepth 1 -maxdepth 1 ! -name .git ! -name f -print0 | xargs -0 rm -rf --")
print("gone=" .. assert(box:exec "ls -A | wc -l").out)
assert(box:rollback(s))
print("same=" .. tostring(assert(box:exec(sum)).out == a))
L
play names
is "$(note gone | tr -d ' ')" 2 'names: all were removed'
is "$(note same)" true 'every byte as a name survives snapshot and rollback'

cat >big.lua <<'L'
local sg = require "sandglass"
local a = sg.args { dense = "64", from = "9" }
local box <close> = sg.sandbox { name = "big", repo = "repo", limits = { disk = "24G" } } -- 8 GB is what a file may have else
local function lines(what, cmd) print(what .. "=" .. assert(box:exec(cmd)).out:gsub("%s+", " ")) end
-- 640 lines of 16 MB that are a hole but for their ends
assert(box:exec { "python3", "-c", [[
with open("sparse", "wb") as f:
    for i in range(640): f.seek((i + 1) * (16 << 20) - 1); f.write(b"\n")]] })
lines("sparse", ([[stat -c %%s sparse; test $(stat -c %%b sparse) -lt 20480 && python3 -c 'f = open("sparse", "rb"); f.seek(%s << 30)
print(sum(len(l) == 16 << 20 for l in f))']]):format(a.from))
assert(box:run(("yes 'a line of a dense file, read one by one' | head -c %sM > dense"):format(a.dense)))
lines("dense", "awk '{ n += length($0) + 1 } END { print NR, n }' dense")
assert(box:run "rm sparse dense")
L
dense=64 from=9 # MB of the dense file, and the GB from which the sparse one is read
[ -n "${LONG:-}" ] && dense=10240 from=0
timeout 200 "$sg" run -d big.lua --name big --json -- --dense "$dense" --from "$from" >line 2>"$t/out"
pid=$(grep -oE '"pid":[0-9]+' line | cut -d: -f2)
began=$SECONDS peak=0
while kill -0 "$pid" 2>/dev/null && [ $((SECONDS - began)) -lt 200 ]; do
	r=$(awk '/^VmHWM/ { print $2 }' "/proc/$pid/status" 2>/dev/null)
	[ "${r:-0}" -gt $peak ] && peak=$r
	sleep 0.1
done
"$sg" events big >"$t/out" 2>&1
printed() { sed -n "s/.*print: $1=//p" "$t/out" | xargs; }
is "$(printed sparse)" "10737418240 $((640 * (10 - from) / 10))" 'big: a sparse file of 10 GB is made and read line by line'
is "$(printed dense | cut -d" " -f1)" $(((dense * 1048576 + 39) / 40)) "big: and a dense one of $dense MB"
like "$(cat "$t/out")" 'session ended: successful' 'big: ends well'
size=$(stat -c %s "$HOME"/.local/share/sandglass/sessions/*big*.glass)
[ "$size" -lt 1048576 ]
ok $? "big: the record grows by less than 1 MB ($size bytes)"
[ "$peak" -lt 102400 ]
ok $? "big: the supervisor stays below 100 MB ($peak KB)"

cat >small.lua <<'L'
local sg = require "sandglass"
local n = sg.args { dirs = "25" }.dirs
local box <close> = sg.sandbox { name = "small", repo = "repo" }
assert(box:run(("mkdir -p m && cd m && for d in $(seq %s); do mkdir $d; for f in $(seq 100); do echo $d $f > $d/$f; done; done"):format(n)))
local s = assert(box:snapshot "many")
assert(box:run "rm -rf m")
assert(box:rollback(s))
print("files=" .. assert(box:exec("find m -type f | wc -l; cat m/" .. n .. "/100")).out:gsub("%s+", " "))
L
began=$(date +%s%N)
dirs=25
[ -z "${LONG:-}" ] || dirs=300
play small --dirs $dirs
echo "# ${dirs}00 small files made, taken, removed, brought back: $((($(date +%s%N) - began) / 1000000)) ms"
is "$(note files)" "${dirs}00 $dirs 100" "${dirs}00 small files come back"

# an editor saves many times while three agents work
saves=200 rounds=10
[ -z "${LONG:-}" ] || saves=500 rounds=25
new_repo shared
for i in 1 2 3 4 5; do echo "file $i" >"shared/e$i"; done
git -C shared add . && git -C shared commit -qm files
cat >editor.lua <<'L'
local sg = require "sandglass"
local box, rounds = {}, tonumber(sg.args { rounds = "10" }.rounds)
for i = 1, 3 do box[i] = sg.sandbox { name = "w" .. i, repo = "shared" } end
sg.note("opened")
sg.map({ 1, 2, 3 }, function(i)
  for k = 1, rounds do
    assert(box[i]:run(("echo %d.%d >> mine%d; sleep 0.05"):format(i, k, i)))
  end
end)
for i = 1, 3 do
  local d = box[i]:diff()
  print(("agent%d=%s"):format(i, d:stat():gsub("\n", " ")))
end
local r, err = box[1]:merge { into = "shared", mode = "apply" }
print("merge=" .. tostring(r and "done" or err))
for i = 1, 3 do box[i]:close() end
L
printf 'local p = require "sandglass.policy"\nreturn p.rules { default = "allow", p.allow "merge" { kind = "merge" } }\n' >allow.lua
id=$("$sg" run -d editor.lua --name editor --policy allow.lua -- --rounds $rounds 2>"$t/out")
wait_for 30 sh -c "'$sg' events '$id' | grep -q 'note: opened'"
(
	for k in $(seq $saves); do
		f=shared/e$((k % 5 + 1))
		echo "save $k" >"$f.swp" && mv "$f.swp" "$f"
		sleep 0.008
	done
) &
editor=$!
held() { "$sg" state -S "$id" --json 2>/dev/null | grep -oE '"action": ?[0-9]+' | head -1 | grep -oE '[0-9]+'; }
ended() { ! "$sg" ls --live 2>/dev/null | grep -q "$id"; }
step() { h=$(held); [ -z "$h" ] || "$sg" approve "$h" -S "$id" >/dev/null 2>&1; ended; }
wait_for 60 step
ok $? 'an editor saves while three agents work: the session ends'
wait $editor
"$sg" events editor >"$t/out" 2>&1
for i in 1 2 3; do
	like "$(grep "agent$i=" "$t/out")" "agent$i=mine$i .*1 file changed, $rounds added" "agent $i: its diff holds its own work and nothing else"
done
like "$("$sg" events editor --json | grep -c '"base.drift"')" '^[1-9]' 'the drift is recorded'
last=$(cat shared/e1 shared/e2 shared/e3 shared/e4 shared/e5 | sort | tr '\n' ' ')
is "$last" "$(seq -f 'save %g' $((saves - 4)) $saves | tr '\n' ' ')" "no save of the editor is lost or overwritten"
like "$(grep 'merge=' "$t/out")" 'merge=done' 'the merge is done'
is "$(wc -l <shared/mine1)" $rounds 'and has brought the work'
"$sg" verify editor >"$t/v" 2>&1
is $? 0 'the record verifies'

# five repositories, one conflict: all or none
for r in a b c d e; do new_repo "five/$r"; done
cat >five.lua <<'L'
local sg = require "sandglass"
local repos = {}
for _, r in ipairs { "a", "b", "c", "d", "e" } do repos[r] = "five/" .. r end
local box <close> = sg.sandbox { name = "five", repos = repos }
assert(box:run "for r in a b c d e; do echo agent > $r/f; done")
sg.ask { text = "now the person changes c", choices = { "go on" } }
local r, err = box:merge { mode = "apply" }
print("merge=" .. tostring(r and "done" or err))
L
id=$("$sg" run -d five.lua --name repos5 --policy allow.lua 2>"$t/out")
asked() { "$sg" state -S "$id" --json 2>/dev/null | grep -q 'now the person'; }
wait_for 30 asked
echo person >five/c/f
"$sg" answer "$("$sg" events repos5 --json | grep '"kind": *"ask"' | head -1 | grep -oE '"seq": ?[0-9]+' | grep -oE '[0-9]+')" 1 -S "$id" >"$t/out" 2>&1
wait_for 30 step
ok $? 'five repositories with one conflict: the session ends'
"$sg" events repos5 >"$t/out" 2>&1
unlike "$(grep 'merge=' "$t/out")" 'merge=done' 'the merge is refused'
for r in a b d e; do is "$(head -1 five/$r/f)" one "repository $r is as it was"; done
is "$(cat five/c/f)" person "and so is the person's change"
finish
