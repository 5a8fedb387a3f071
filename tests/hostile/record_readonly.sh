#!/usr/bin/env bash
# The file system of the session files becomes read-only while a session runs, as ext4 does after an error of the disk: the
# session ends with a named error, and no action takes effect without its event. On a disk that can be written again the
# session verifies and resumes.
# in mounts of its own: a sandbox of somebody else that copies the mount would keep the disk busy
[ -n "${ALONE:-}" ] || ! unshare -m true 2>/dev/null || ALONE=1 exec unshare -m --propagation private bash "$0"
. "$(dirname "$0")/../e2e/lib.sh"
sg=$SANDGLASS
need_boxes
command -v mkfs.ext4 >/dev/null || { skip 'needs mkfs.ext4'; finish; }
head -c 60000000 /dev/zero >"$t/image"
mkfs.ext4 -q -O ^has_journal "$t/image" && mkdir "$t/disk"
disk() { mount -o loop,errors=remount-ro "$t/image" "$t/disk" 2>"$t/out"; }
disk || { skip "mounts are refused: $(head -1 "$t/out")"; finish; }
trap 'end_all; umount -l "$t/disk" 2>/dev/null; rm -rf "$t"' EXIT
device=$(findmnt -no SOURCE "$t/disk")
breaks=/sys/fs/ext4/${device##*/}/trigger_fs_error
[ -w "$breaks" ] || { skip 'this kernel makes no error on demand'; finish; }
mkdir "$t/disk/sessions" "$t/work"
export SANDGLASS_SESSIONS=$t/disk/sessions
cat >"$t/count.lua" <<'L'
local sg = require "sandglass"
local box <close> = sg.sandbox { name = "count" }
for i = 1, 100000 do
  local r = assert(box:exec(("echo %d; cat stop 2>/dev/null"):format(i)))
end
L
line=$("$sg" run -d "$t/count.lua" --name count --json 2>"$t/out")
id=$(printf '%s' "$line" | grep -oE '"session":"[^"]*' | cut -d'"' -f4)
pid=$(printf '%s' "$line" | grep -oE '"pid":[0-9]+' | cut -d: -f2)
file() { ls "$SANDGLASS_SESSIONS"/*.glass | head -1; }
head_of() { sqlite3 -readonly "$(file)" 'SELECT max(seq) FROM event' 2>/dev/null; }
moving() { a=$(head_of); sleep 0.4; b=$(head_of); [ -n "$b" ] && [ "$a" != "$b" ]; }
wait_for 20 moving
ok $? 'it works'
"$sg" watch "$id" --no-tui >"$t/watched" 2>&1 </dev/null &
watcher=$!
wait_for 30 grep -q 'exec allowed' "$t/watched"
before=$(head_of)
echo 1 >"$breaks"
touch "$t/disk/x" 2>"$t/out"
[ $? -ne 0 ] && grep -q 'Read-only' "$t/out"
ok $? 'the disk is read-only'
gone() { ! kill -0 "$pid" 2>/dev/null; }
wait_for 40 gone
ok $? 'the session ends'
unwatched() { ! kill -0 "$watcher" 2>/dev/null; }
wait_for 30 unwatched
grep -q 'Read-only file system' "$t/watched"
ok $? 'and the one who watches is told why'
timeout 20 "$sg" ls >"$t/out" 2>&1
is $? 0 'what is there can still be listed'
timeout 20 "$sg" label "$id" kept >"$t/out" 2>&1
[ $? -ne 0 ] && grep -q '^sandglass: .*[Rr]ead-only' "$t/out"
ok $? 'a command that writes names the cause'
umount "$t/disk" 2>"$t/out"
is $? 0 'no process keeps the disk busy'
free() { [ -z "$(losetup -j "$t/image")" ]; }
wait_for 30 free
ok $? 'nor a mount of a sandbox'
e2fsck -fp "$t/image" >"$t/out" 2>&1
disk
ok $? 'the disk can be written again'
[ "$(head_of)" -ge "$before" ]
ok $? 'acknowledged events are there'
"$sg" verify "$id" >"$t/out" 2>&1
is $? 0 'the session verifies'
like "$("$sg" ls 2>&1)" 'interrupted' 'it was interrupted'
timeout 60 "$sg" resume "$id" --no-input -d >"$t/out" 2>&1 </dev/null
is $? 0 'it resumes'
pid=$(cat "$XDG_RUNTIME_DIR"/sandglass/"$id".pid 2>/dev/null)
wait_for 20 moving
ok $? 'and works'
timeout 20 "$sg" stop --now -S "$id" >"$t/out" 2>&1
wait_for 30 gone
"$sg" verify "$id" >"$t/out" 2>&1
is $? 0 'to its end, and verifies'
finish
