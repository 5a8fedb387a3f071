#!/usr/bin/env bash
# Little space on the disk of the sessions: recorded and shown once, and reported again when space is free.
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
is "$(warns)" 0 'no warning while there is space'
dd if=/dev/zero of="$t/disk/fill" bs=1M count=42 2>/dev/null
is_told() { "$sg" mark 2 -S "$id" >/dev/null 2>&1; [ "$(warns)" -ge "$1" ]; }
wait_for 10 is_told 1
ok $? 'low space is reported'
for i in 1 2 3; do "$sg" mark 2 -S "$id" >/dev/null 2>&1; done
is "$(warns)" 1 'once'
like "$("$sg" events "$id" --json | grep '"topic":"room"')" 'only [0-9]+ MB are left on the disk' 'with the free space'
like "$("$sg" replay "$id" --screen --size 120x36)" 'DISK nearly full' 'the fleet shows it'
# full: recording stalls without damage, and resumes at the same event
dd if=/dev/zero of="$t/disk/more" bs=64k 2>/dev/null
for i in 1 2 3 4 5 6 7 8; do timeout 60 "$sg" mark 2 "$(head -c 60000 /dev/zero | tr '\0' x)" -S "$id" >/dev/null 2>&1 & done
stalled() { "$sg" ls | grep -qE "^$id +stalled .*: no space left for '.*' \(disk full\); retrying"; }
wait_for 30 stalled
ok $? 'on a full disk ls says that it stands still, and why'
is "$("$sg" ls --json | grep -c '"state":"stalled","path".*"why":"no space left')" 1 'in JSON, too'
like "$("$sg" verify "$id" 2>&1)" "^$id verified: .* 0 failed" 'its record is whole'
rm "$t/disk/more"
wait_for 30 sh -c "'$sg' ls | grep -qE '^$id +waiting'"
ok $? 'with new space it resumes'
wait # for the marks
is "$("$sg" events "$id" --json | grep -c '"kind":"control.command".*xxxxxx')" 8 'and nothing is lost'
rm "$t/disk/fill"
again() { [ "$(warns)" = 2 ]; }
wait_for 10 again
ok $? 'new space is reported without any other event'
unlike "$("$sg" replay "$id" --screen --size 120x36)" 'DISK nearly full' 'and shown no more'
finish
