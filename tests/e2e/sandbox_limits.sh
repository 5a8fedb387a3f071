#!/usr/bin/env bash
# A sandbox reports its limits: files of other owners, and a full disk quota.
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
like "$said" 'small:.*true.*fits' "a command within the limit is left alone"
unlike "$said" 'big:.*never' "the command that went past it was killed"
like "$said" 'after:.*goes on' "the sandbox continues when there is room again"
like "$(cat "$t/out")" "sandbox 'full' is over its disk limit" "the screen reports it"
like "$("$sg" show)" "warnings +sandbox 'full' is over its disk limit .*20 MB" "and in show"

cat >"$t/large.lua" <<'L'
local sg = require "sandglass"
local box <close> = sg.sandbox { name = "large" }
box:exec "echo one >f; truncate -s 101M f"
local ok, err = box:edit("f", "one", "two")
print("edit:", ok, err)
print("still:", box:exec("stat -c %s f; head -c 3 f").out)
L
"$sg" run --no-tui "$t/large.lua" >"$t/out" 2>&1 </dev/null
said=$("$sg" events --json | grep '"kind":"note"')
like "$said" "edit:.*'f' is larger than 100 MiB" 'a file that is not read whole is not edited'
like "$said" 'still:.*105906176.*one' 'and keeps its end'

# --- memory: a kill by its limit is recorded, shown, and reported to the agent ---
cat >"$t/turns.lua" <<'L'
return { { call = { "shell", { cmd = "tail /dev/zero" } } }, { say = "done" } }
L
cat >"$t/memory.lua" <<'L'
local sg = require "sandglass"
local box <close> = sg.sandbox { name = "little", limits = { mem = "48M" } }
local inner, no = box:exec "tail /dev/zero; exit 3", box:exec "exit 3"
print("oom:", inner.code, inner.oom, no.oom)
print("run:", select(2, box:run "tail /dev/zero"))
sg.agent.run { box = box, task = "do it", tools = { "shell" }, model = sg.model "scripted:turns.lua" }
local job = box:spawn "sleep 60"
job:kill()
print("job:", job:wait().signal)
L
(cd "$t" && "$sg" run --no-tui memory.lua) >"$t/out" 2>&1 </dev/null
said=$("$sg" events --json)
like "$said" 'job:.*SIGTERM' 'a script learns the signal with which it ended its own'
like "$(grep '"kind":"action.ended"' <<<"$said")" '"stopped":15' 'which is not recorded as a failure'
unlike "$(cat "$t/out")" 'FAILED: signal' 'nor on the screen'
if "$sg" doctor 2>/dev/null | grep -q '^ok *cgroups'; then
	like "$said" 'oom:.*3.t1.tnil' 'what the memory limit kills inside of a command is counted, and nothing else is'
	like "$said" 'run: *.tout of memory: tail' 'an error says it'
	like "$(grep '"kind":"action.ended"' <<<"$said")" '"why":"the memory limit of its sandbox killed 1 of its processes".*"oom":1' 'so does the record'
	like "$(cat "$t/out")" 'FAILED: out of memory .*the memory limit of its sandbox killed 1 of its processes' 'and the screen'
	"$sg" export -F atif -o "$t/whole" >/dev/null 2>&1
	like "$(cat "$t/whole")" 'out of memory: the memory limit of the sandbox killed 1 of its processes' 'and its agent hears it'
else
	skip 'no cgroups here: memory is bounded per process, and nothing is killed for it'
fi

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
like "$(cat "$t/out")" "2 files of another owner can.t be overwritten in sandbox 'own': theirs, theirs2" "the log says which"
like "$("$sg" show)" "warnings +2 files of another owner" "show says it"
git init -q "$t/repo"
like "$(cd "$t/repo" && "$sg" doctor)" "NO +owners +2 files of another owner" "doctor says it beforehand"
finish
