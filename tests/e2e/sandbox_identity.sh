#!/usr/bin/env bash
# A sandbox's state belongs to its id: a name may be reused, in one session and after a resume, and no byte is shared.
. "$(dirname "$0")/lib.sh"
need_boxes
sg=$SANDGLASS
cd "$t" || exit 1
printf 'return require("sandglass.policy").rules { default = "allow" }\n' >any.lua
repo() { git init -q "$1" && echo one >"$1/a.txt" && git -C "$1" add . && git -C "$1" commit -qm x && chmod -R a+rX "$1"; }
repo r
run() { timeout 60 "$sg" run --no-tui --no-input --policy any.lua "$@" </dev/null >log 2>&1; }
newest() { ls -t "$HOME"/.local/share/sandglass/sessions/*.glass | head -1 | sed 's/.*-\([a-z0-9]*\)\.glass$/s-\1/'; }
states=$HOME/.local/state/sandglass/box

# --- one after the other, in every isolation level that is here ---
cat >same.lua <<'L'
local sg = require "sandglass"
local a = sg.args { backend = "process", n = 3 }
for i = 1, a.n do
  sg.sleep(0.1)   -- the name of one that is being closed is not free yet
  local box = assert(sg.sandbox { name = "job", repo = "r", backend = a.backend })
  local own = a.backend == "process" and " ~ /tmp" or ""
  print("saw", (box:exec("cat a.txt; ls -A ." .. own .. " | grep left").out:gsub("\n", " ")))
  box:exec("echo " .. i .. " >a.txt; touch left.work" .. (own ~= "" and " ~/left.home /tmp/left.tmp" or ""))
  box:close()
end
L
for backend in process host; do
	run same.lua -- --backend $backend
	ok $? "$backend: sandboxes of one name"
	is "$(grep -c 'note: saw.*one' log)$(grep 'note: saw' log | grep -c left)" 30 "$backend: each begins with the repository and nothing else"
done
id=$(newest)
"$sg" merge "$id/job" >out 2>&1
is $? 2 'a name that several have is not guessed'
ids=$("$sg" events "$id" --json | sed -n 's/.*"seq":\([0-9]*\),.*"kind":"box.open".*/\1/p')
is "$(for i in $ids; do grep -c "#$i)" out; done | tr -d '\n')" 111 'every id is listed'
second=$(echo "$ids" | sed -n 2p)
"$sg" merge "$id/#$second" --apply --to r >/dev/null 2>out || "$sg" merge "$id/#$second" --apply >out 2>&1
ok $? 'an id is enough'
is "$(cat r/a.txt)" 2 'and it is the work of that one'
git -C r checkout -q . && rm -f r/left.work

# --- the disk ---
cat >many.lua <<'L'
local sg = require "sandglass"
for i = 1, 25 do
  local box <close> = sg.sandbox { name = "job", repo = "r" }
  box:exec "head -c 300000 /dev/zero >big"
end
local box = sg.sandbox { name = "kept", repo = "r", keep = true }
box:exec "touch mine"
box:close()
print "look"
sg.sandbox { repo = "r" }:exec "sleep 60"
L
sid=$("$sg" run -d --policy any.lua many.lua 2>out)
wait_for 30 sh -c "'$sg' events '$sid' --json | grep -q '\"text\":\"look'"
few() { [ "$(find "$states/$sid" -maxdepth 1 -name '#*' | wc -l)" -le 3 ]; }
wait_for 10 few
ok $? 'states of closed sandboxes go while the session runs'
is "$(find "$states/$sid" -name mine | wc -l)" 1 'but what is kept stays'
"$sg" stop --now -S "$sid" >/dev/null 2>&1
over() { "$sg" events "$sid" --json | grep -q '"kind":"session.end"'; }
wait_for 30 over
is "$(find "$states/$sid" -name mine | wc -l)" 1 'also beyond the end'

# --- what runs when a sandbox is closed has changed files, too ---
cat >late.lua <<'L'
local sg = require "sandglass"
local box = sg.sandbox { name = "late", repo = "r" }
box:spawn "sleep 0.2; echo late >x; mv x late.txt; sleep 60"
while not box:read("late.txt") do sg.sleep(0.05) end
box:close()
L
run late.lua
"$sg" diff "$(newest)" >out 2>&1
like "$(cat out)" '^\+late' 'the last snapshot holds what a command wrote that runs on'

# --- a session that was killed ---
cat >broken.lua <<'L'
local sg = require "sandglass"
local one = sg.sandbox { name = "job", repo = "r" }
one:exec "echo of the first >gone"
one:close()
sg.sleep(0.2)
local box = sg.sandbox { name = "job", repo = "r" }
box:exec "echo mine >f; echo mine >~/h"
box:exec "while ! test -e /workspace/go; do sleep 0.1; done"
print("then", (box:exec("cat f ~/h; ls gone").out:gsub("\n", " ")))
L
killed() { # as if an earlier version had: by-name
	sid=$("$sg" run -d --policy any.lua broken.lua 2>out)
	wait_for 30 sh -c "'$sg' events '$sid' --json | grep -q 'test -e /workspace/go'"
	wait_for 30 sh -c "'$sg' events '$sid' --json | grep -A9 'test -e /workspace/go' | grep -q action.started"
	pid=$(supervisor "$sid")
	kill -9 "$pid"
	wait_for 30 sh -c "! kill -0 $pid"
	box=$("$sg" events "$sid" --json | sed -n 's/.*"seq":\([0-9]*\),.*"kind":"box.open".*/\1/p' | tail -1)
	name=$("$sg" events "$sid" --json | grep '"kind":"box.open"' | tail -1 | sed -n 's/.*"body":{"name":"\([^"]*\)".*/\1/p')
}
for how in by-id by-name; do
	killed
	if [ $how = by-name ]; then
		mv "$states/$sid/#$box" "$states/$sid/$name" && rm "$states/$sid/.ids"
	fi
	touch r/go
	timeout 60 "$sg" resume "$sid" --no-tui --no-input </dev/null >log 2>&1
	like "$(cat log)" 'then.*mine mine' "$how: a resumed session goes on with the files and the home of its sandbox"
	rm r/go
	state=$("$sg" events "$sid" --json | grep '"kind":"box.open"' | tail -1 | sed -n 's/.*"state":\([0-9]*\).*/\1/p')
	is "$state" "$box" "$how: box.open says whose state it continues"
	is "$(ls -A "$states/$sid" 2>/dev/null)" '' "$how: nothing of it remains"
done
finish
