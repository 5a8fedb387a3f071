#!/usr/bin/env bash
# An interrupted session resumes with its sandboxes and all their options, including the network.
. "$(dirname "$0")/lib.sh"
need_boxes
sg=$SANDGLASS

mkdir -p "$t/repo" "$t/tools/bin"
printf '#!/bin/sh\necho tool here\n' >"$t/tools/bin/mytool"
chmod -R a+rX "$t/repo" "$t/tools"
chmod +x "$t/tools/bin/mytool"
printf 'K=1\n' >"$t/repo/.env"
printf 'local p = require "sandglass.policy"\nreturn p.rules { p.deny "no" { cmd = "touch forbidden" } }\n' >"$t/no.lua"
cat >"$t/long.lua" <<'L'
local sg = require "sandglass"
local a = sg.args { repo = "." }
local box <close> = sg.sandbox { repo = a.repo, name = "all", net = { "example.org:80" }, env = { COLOUR = "b lue" },
  expose = { ".env" }, keep = true, accept = "reduced",
  limits = { mem = "300M", pids = 77, disk = "50M", time = "10m" } }
box:exec "echo before > f"
box:exec "test -e go || while ! test -e /workspace/go; do sleep 0.1; done"
local r = box:exec "cat f .env; echo $COLOUR; mytool; bash -c 'exec 3<>/dev/tcp/127.0.0.1/3128' && echo way out"
print(r and r.out or "nothing")
local d = box:exec "touch forbidden"
print(d and "ran" or "refused")
L
id=$("$sg" run -d --root "$t/tools" --policy "$t/no.lua" "$t/long.lua" -- --repo "$t/repo" 2>"$t/out")
ok $? "a session begins"
wait_for 10 sh -c "'$sg' events '$id' --json | grep -q 'test -e go'"
sleep 0.3
mkdir "$t/copy"
cp "$HOME"/.local/share/sandglass/sessions/*-"${id#s-}".glass* "$t/copy" && rm -f "$t"/copy/*-lease "$t"/copy/*-reserve
out=$(timeout 60 "$sg" resume "$id" --sessions "$t/copy" --no-tui --no-input 2>&1 </dev/null)
like "$out" "' is a copy; " "a copy of a session that runs does not go on"
"$sg" prune "$id" --sessions "$t/copy" --yes >"$t/out" 2>&1
is "$? $(ls "$t/copy")" "0 removed.jsonl" "it can be removed"
box_of() { "$sg" events "$id" --json | grep -m1 '"kind":"box.open"' | sed 's/.*"seq":\([0-9]*\).*/\1/'; }
ls "$HOME/.local/state/sandglass/box/$id/#$(box_of)" >"$t/out" 2>&1
ok $? "and the boxes are where they were"
pid=$("$sg" show "$id" --json 2>/dev/null | grep -oE '"pid":[0-9]+' | head -1 | cut -d: -f2)
[ -n "$pid" ] || pid=$("$sg" events "$id" --json | grep -m1 '"session.start"' | grep -oE '"pid":[0-9]+' | cut -d: -f2)
kill -9 "$pid"
wait_for 10 sh -c "! kill -0 $pid"
touch "$t/repo/go"
out=$(timeout 60 "$sg" resume "$id" --no-tui --no-input 2>&1 </dev/null)
told=$(printf '%s' "$out" | grep -c 'not merged')
out=$("$sg" events "$id" --json | grep '"kind":"note"')
like "$out" 'before' "its files are there"
like "$out" 'K=1' "what was exposed is exposed"
like "$out" 'b lue' "its environment"
like "$out" 'tool here' "its tools"
like "$out" 'way out' "its way out"
like "$out" 'refused' "and the policy file named at the start still holds"
"$sg" events "$id" --json | grep '"kind":"box.open"' | sed 's/.*"body"://; s/}$//; s/"was":[0-9]*/"was":N/; s/"state":[0-9]*,*//; s/"call":[0-9]*/"call":N/' >"$t/open"
is "$(sort -u "$t/open" | wc -l)" 1 "both times the box was opened alike"
is "$(wc -l <"$t/open")" 2 "it was opened twice"
like "$(cat "$t/open")" '"net":\["example.org:80"\]' "box.open names the hosts"
"$sg" verify "$id" >"$t/out" 2>&1
ok $? "the record verifies"
ls "$HOME/.local/state/sandglass/box/$id/#$(box_of)" >"$t/out" 2>&1
ok $? "keep = true holds after the resume as well"
is "$told" 1 "its unmerged work is told once"
wrote=$("$sg" events "$id" --json | grep '"kind":"action.requested"' | grep -m1 'echo before' | grep -oE '"seq":[0-9]+' | cut -d: -f2)
like "$("$sg" blame f --at "$id")" "^#$wrote +1  before" "blame goes back behind the resume, to the action that wrote the line"
like "$("$sg" when before --at "$id")" "^appeared .*by #$wrote exec" "when, too"
"$sg" export "$id" -F git -o "$t/git" >"$t/out" 2>&1
is "$(git -C "$t/git" log --all --format=%s -- f)" "exec echo before > f" "and so do the commits of a git export"

# a box that lies elsewhere each time, and a command that is not to be run again
printf 'return require("sandglass.policy").rules { default = "allow" }\n' >"$t/any.lua"
cat >"$t/moves.lua" <<'L'
local sg = require "sandglass"
local a = sg.args { go = "" }
local box <close> = sg.sandbox { name = "h", backend = "host" }
local function here() return tostring(box:run("pwd").out == box.workspace .. "\n") end
box:run "echo x >ran"
local at = box.workspace
print "waits once"
local r, e = box:exec("echo y >>ran; sleep 300", { on_interrupted = "error" })
print(("once %s ran %s there %s moved %s"):format(r and "yes" or e.code, box:run("cat ran").out:gsub("\n", ""), here(), tostring(at ~= box.workspace)))
at = box.workspace
print "waits twice"
box:exec({ "sh", "-c", 'while [ ! -e "$1" ]; do sleep 0.1; done', "sh", a.go })
print(("twice there %s moved %s"):format(here(), tostring(at ~= box.workspace)))
print("wrong " .. tostring(select(2, pcall(box.exec, box, "true", { on_interrupted = "again" }))))
L
id=$("$sg" run -d --root none --policy "$t/any.lua" "$t/moves.lua" -- --go "$t/go" 2>"$t/out")
for when in once twice; do
	wait_for 30 sh -c "'$sg' events '$id' --json | grep -A99 '\"waits $when' | grep -q '\"action.started\"'"
	ok $? "a command runs ($when)"
	pid=$(supervisor "$id")
	kill -9 "$pid"
	wait_for 30 sh -c "! kill -0 $pid"
	[ "$when" = once ] || touch "$t/go"
	"$sg" resume -d "$id" >"$t/out" 2>&1
done
over() { "$sg" events "$id" --json | grep -q '"kind":"session.end"'; }
wait_for 60 over
out=$("$sg" events "$id" --json | grep '"kind":"note"')
like "$out" 'once interrupted ran x there true moved true' 'on_interrupted = "error": it is not run again, its box is as before it, and the script knows where that lies'
like "$out" 'twice there true moved true' 'also when it has gone on twice'
like "$out" 'wrong .*on_interrupted is ..error.., not ..again' 'any other word is refused'
printf 'return require("sandglass.verify").checks(function(log, t)\n  local c = log:changes()\n  t:check("changed once", #c == 1 and c[1].path == "ran")\nend)\n' >"$t/once.lua"
"$sg" verify "$id" --quick --with "$t/once.lua" >"$t/out" 2>&1
is $? 0 'checks count a change once: files restored in a reopened sandbox are not a change'
"$sg" simulate "$id" >"$t/out" 2>&1
is $? 0 'it runs again from its record'
"$sg" verify "$id" >"$t/out" 2>&1
is $? 0 'which verifies'
finish
