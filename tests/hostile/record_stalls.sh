#!/usr/bin/env bash
# Record before act: on a full disk no action takes effect, the screen reports this, and work continues with new space.
. "$(dirname "$0")/../e2e/lib.sh"
sg=$SANDGLASS
boxes || { skip 'no box can be opened here'; finish; }
mkdir "$t/disk"
mount -t tmpfs -o size=100m tmpfs "$t/disk" 2>"$t/out" || { skip "mounts are refused: $(head -1 "$t/out")"; finish; }
trap 'end_all; umount -l "$t/disk" 2>/dev/null; rm -rf "$t"' EXIT
mkdir "$t/disk/sessions"
export SANDGLASS_SESSIONS=$t/disk/sessions
cat >"$t/count.lua" <<'L'
local sg = require "sandglass"
local box <close> = sg.sandbox { name = "count" }
for i = 1, 100000 do
  local r = assert(box:exec(("echo %d > counter; cat /workspace/stop 2>/dev/null || true"):format(i)))
  if r.out ~= "" then break end
end
print("counted to " .. box:read "counter")
L
line=$("$sg" run -d "$t/count.lua" --name count --json 2>"$t/out")
id=$(printf '%s' "$line" | grep -oE '"session":"[^"]*' | cut -d'"' -f4)
pid=$(printf '%s' "$line" | grep -oE '"pid":[0-9]+' | cut -d: -f2)
like "$id" '^s-' 'a session begins'
counter() { # as the box has it: from outside, since nothing can be asked of a session that stands still
	local f
	for f in $(find "$HOME" /var/lib/sandglass -name counter -type f 2>/dev/null); do cat "$f" && return; done
	for p in $(pgrep -f 'sandglass/guest|sandglass-guest'); do
		f=/proc/$p/root/workspace/counter
		[ -f "$f" ] && grep -qs "$pid" <(pstree_of "$p") && cat "$f" && return
	done
}
pstree_of() { local p=$1; while [ "${p:-0}" -gt 1 ]; do echo "$p"; p=$(awk '/^PPid/ { print $2 }' "/proc/$p/status" 2>/dev/null); done; }
moving() { # a counter that is being written may be empty
	local from to
	from=$(counter); sleep 0.5; to=$(counter)
	[ -n "$from" ] && [ -n "$to" ] && [ "$from" != "$to" ]
}
wait_for 20 moving
ok $? 'it works'
dd if=/dev/zero of="$t/disk/filler" bs=16k >/dev/null 2>&1
still() { local at; at=$(counter); sleep 1; [ -n "$at" ] && [ "$at" = "$(counter)" ] && a=$at; }
wait_for 20 still
ok $? 'the disk is full: it stands still'
sleep 2
is "$(counter)" "$a" 'no action takes effect'
kill -0 "$pid"
ok $? 'the supervisor lives'
state=$(timeout 10 "$sg" state -S "$id" 2>&1)
like "$state" '(space|record|disk|stall)' 'state reports it'
rm "$t/disk/filler"
wait_for 30 moving
ok $? 'with new space it continues'
dd if=/dev/zero of="$t/disk/filler" bs=16k >/dev/null 2>&1
wait_for 20 still
ok $? 'a second time'
rm "$t/disk/filler"
wait_for 30 moving
ok $? 'and again'
timeout 20 "$sg" stop -S "$id" >"$t/out" 2>&1
ended() { ! kill -0 "$pid" 2>/dev/null; }
wait_for 20 ended
ok $? 'it ends'
"$sg" verify "$id" >"$t/out" 2>&1
is $? 0 'the record verifies'
"$sg" events "$id" --json >"$t/json"
gaps=$(grep -oE '"seq": ?[0-9]+' "$t/json" | grep -oE '[0-9]+' | awk 'NR > 1 && $1 != last + 1 { n++ } { last = $1 } END { print n + 0 }')
is "$gaps" 0 'no event is missing'
started=$(grep '"kind": *"action.started"' "$t/json" | wc -l)
[ "$started" -ge "$a" ]
ok $? "every effect had its event ($started for at least $a)"
like "$("$sg" events "$id")" '(space|stall|record)' 'the record tells of it'
finish
