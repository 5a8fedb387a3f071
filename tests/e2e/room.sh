#!/usr/bin/env bash
# Little room on the disk of the sessions: told once in the record, shown, and told again when there is room.
[ "${NS:-}" ] || { unshare -m true 2>/dev/null && NS=1 exec unshare -m "$0" "$@"; }
. "$(dirname "$0")/lib.sh"
sg=$SANDGLASS
mkdir -p "$t/disk"
[ "${NS:-}" ] && mount -t tmpfs -o size=64m none "$t/disk" 2>/dev/null || { skip 'no file system can be mounted here'; finish; }
trap 'end_all; umount -l "$t/disk"; rm -rf "$t"' EXIT
mkdir "$t/disk/sessions"
export SANDGLASS_SESSIONS=$t/disk/sessions
cat >"$t/w.lua" <<'L'
local sg = require "sandglass"
sg.ask { text = "go on?", choices = { "yes" } }
L
id=$("$sg" run -d "$t/w.lua" 2>"$t/out")
ok $? 'a session on a disk of 64 MB'
asks() { "$sg" state -S "$id" 2>/dev/null | grep -q 'go on'; }
wait_for 20 asks
warns() { "$sg" events "$id" --json | grep -c '"topic":"room"'; }
is "$(warns)" 0 'nothing is told while there is room'
dd if=/dev/zero of="$t/disk/fill" bs=1M count=42 2>/dev/null
told() { "$sg" mark 2 -S "$id" >/dev/null 2>&1; [ "$(warns)" -ge "$1" ]; }
wait_for 10 told 1
ok $? 'little room is told'
for i in 1 2 3; do "$sg" mark 2 -S "$id" >/dev/null 2>&1; done
is "$(warns)" 1 'once'
like "$("$sg" events "$id" --json | grep '"topic":"room"')" 'only [0-9]+ MB are left on the disk' 'with what is left'
like "$("$sg" replay "$id" --screen --size 120x36)" 'DISK nearly full' 'the fleet shows it'
rm "$t/disk/fill"
again() { [ "$(warns)" = 2 ]; }
wait_for 10 again
ok $? 'when there is room again that is told, too, without anything that happens'
unlike "$("$sg" replay "$id" --screen --size 120x36)" 'DISK nearly full' 'and shown no more'
finish
