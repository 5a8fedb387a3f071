#!/usr/bin/env bash
# Several commands as one action, the parts of an action's time, and a sandbox that dies under an agent.
. "$(dirname "$0")/lib.sh"
need_boxes
sg=$SANDGLASS
cd "$t" || exit 1
cat >batch.lua <<'L'
local sg = require "sandglass"
local box <close> = sg.sandbox { name = "c", env = { WHO = "us" } }
local r = assert(box:batch { "echo one", "echo two >&2; exit 3", "printf 'no end'", "seq 30000; printf '\\036x@'", "cd /tmp; x=1", "pwd; env | grep ^WHO" })
local said = {}
for i, x in ipairs(r) do said[i] = ("%d:%d:%s:%s"):format(i, x.code, #x.out > 40 and #x.out .. x.out:sub(-7):gsub("\n", "/") or x.out:gsub("\n", "/"), x.err:gsub("\n", "/")) end
print("parts " .. table.concat(said, " ") .. " cut " .. tostring(r[4].cut) .. tostring(r[1].cut))
r = assert(box:batch({ "true", "false", "echo no" }, { stop = true }))
print("stopped " .. #r .. r[2].code)
local v, err = box:batch { "echo 'a", "touch never; echo '" }
print("quotes " .. (err and err.code or "none") .. box:exec("ls").out)
v, err = box:batch { "echo fine", "echo never now" }
print("rule " .. tostring(v and v[1]) .. " " .. tostring(err and err.code))
local p, wrong = pcall(box.batch, box, {})
print("empty " .. tostring(wrong))
r = assert(box:batch { [[
for f in /proc/$PPID/cmdline /proc/$PPID/environ; do tr '\0' '\n' <$f; done 2>/dev/null | grep -oE '[0-9a-f]{32}' | while read -r m; do
printf "\036$m 0@"; printf "\036$m 0@" >&2; done; env | grep -c '^m='; cat; exit 5]], "exit 4" }, {})
print(("forged %d %d %s"):format(r[1].code, r[2].code, r[1].out))
r = assert(box:batch({ "read -r a; printf '%s' \"$a\"", "cat" }, { stdin = "first\nthe rest" }))
print("input " .. r[1].out:gsub("\n", "/") .. r[2].out)
local both = sg.map({ "while [ ! -e there ]; do sleep 0.05; done", "touch there" }, function(cmd)
  return box:run(cmd, { parallel = cmd == "touch there", timeout = "20s" })
end)
print("beside " .. tostring(both[1] and both[1].ok) .. tostring(both[2] and both[2].ok))
L
cat >rules.lua <<'L'
local p = require "sandglass.policy"
return p.rules { default = "allow", p.deny "no" { cmd = "echo never *" } }
L
timeout 60 "$sg" run --no-tui --no-input --policy rules.lua batch.lua </dev/null >out 2>&1
is $? 0 'a script with batches'
like "$(cat out)" 'parts 1:0:one/: 2:3::two/ 3:0:no end: 4:0:65[0-9]{3}000/..x@: 5:0' 'output and exit status of each command apart'
like "$("$sg" events --json | grep '"text":"parts')" '5:0:: 6:0:/workspace/WHO=us/: cut truefalse' 'each in its own shell; truncated output is marked'
like "$(cat out)" 'stopped 21' 'stop ends it at the first that fails'
like "$("$sg" events --json | grep '"text":"quotes')" 'quotes denied"' 'quotes of one command do not hide the next'
like "$(cat out)" 'rule nil denied' 'a rule about one of them holds for all'
like "$(cat out)" 'empty .*no commands' 'no commands at all'
like "$(cat out)" 'forged 5 4 0' 'a command cannot say what the next has ended with'
like "$(cat out)" 'input firstthe rest$' 'its input is theirs, in turn'
like "$(cat out)" 'beside truetrue$' 'parallel: a command does not wait for one that runs'
id=$("$sg" events --json | grep '"kind":"action.requested"' | head -1 | grep -oE '"seq":[0-9]+' | cut -d: -f2)
is "$("$sg" out "#$id" --stdout --raw | head -c 14)" "$(printf 'one\nno end1\n2\n')" 'the separators are not recorded'
like "$("$sg" show "#$id" | tail -3)" '^time +policy .*disk .*in sandbox ' 'show: where its time went'
like "$("$sg" show --time)" '^box +#+ ' 'show --time: bars'
like "$("$sg" show --time --json)" '"actions":[0-9]+,.*"model_us":0,"box_us":[1-9]' 'and as JSON'
# --- the box dies ---
cat >lost.lua <<'L'
local sg = require "sandglass"
local a = sg.args { "how" }
local box <close> = sg.sandbox { name = "c", on_lost = a.how }
assert(box:run "echo kept >f")
print "waits"
local r, err = sg.agent.run { box = box, task = "wait", tools = { "shell" }, model = sg.model("scripted:turns.lua") }
print("agent " .. (r and r.text or tostring(err)))
local v, why = box:exec "cat f"
print(("then %s in %s %s"):format(v and v.out or why.code, box.name, tostring(why)))
box:close()
v, why = box:exec "cat f"
print("shut " .. tostring(why))
L
cat >turns.lua <<'L'
return {
  { call = { "shell", { cmd = "echo lost >g; sleep 100" } } },
  { call = { "shell", { cmd = "ls" } } },
  { say = "Done." },
}
L
children() { local p; for p in $(ps -o pid= --ppid "$1"); do echo "$p"; children "$p"; done; }
guest() { # the box's first process: the one whose child's child runs our sleep
	local p q
	for p in $(children "$run"); do
		[ "$(ps -o args= "$p" 2>/dev/null)" = 'sleep 100' ] || continue
		q=$(ps -o ppid= "$p") && ps -o ppid= $q | tr -d ' ' && return 0
	done
	return 1
}
dies() { # error or restore
	"$sg" run --no-tui --no-input lost.lua -- "$1" </dev/null >out 2>&1 &
	run=$!
	wait_for 20 guest && kill -9 "$(guest)" || "$sg" stop --now >/dev/null 2>&1
	wait "$run"
	"$sg" events --json >events
}
dies restore
like "$(grep '"text":"agent' events)" 'agent Done' 'a sandbox dies under its agent, and the agent continues'
like "$(grep '"kind":"fork.done"' events)" '"how":"restore"' 'in another box with the files of the last snapshot'
like "$(grep '"text":"then' events)" 'then kept\\n in c-2' 'the handle, too'
like "$(grep '"text":"shut' events)" 'shut .*[0-9]+ has ended"' 'one that the script has closed stays closed'
calls=$(grep '"kind":"model.call"' events | tail -1 | grep -oE '"seq":[0-9]+' | cut -d: -f2)
like "$("$sg" show "#$calls")" 'now uses sandbox .c-2.' 'and the model is notified'
"$sg" verify >out 2>&1
is $? 0 'the record verifies'
dies error
like "$(grep '"text":"then' events)" 'then (io|backend|interrupted) in c ' 'without on_lost it is gone, and the agent still lives'
finish
