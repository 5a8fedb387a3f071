#!/usr/bin/env bash
# What a sandbox takes of the host beside bytes: empty files, terminals, descriptors, and who is killed first when memory ends.
. "$(dirname "$0")/../e2e/lib.sh"
sg=$SANDGLASS
need_boxes
cd "$t" || exit 1
cat >take.lua <<'L'
local sg = require "sandglass"
local box <close> = sg.sandbox { name = "take" }
print("took=" .. assert(box:exec [[python3 -c '
import os, resource
def many(what, limit, make):
    n = 0
    try:
        while n < limit: make(n); n += 1
    except OSError: pass
    print(what + ":" + ("bounded" if n < limit else "unbounded"), end=" ")
touch = lambda where: lambda n: os.close(os.open("%s/f%d" % (where, n), os.O_CREAT | os.O_WRONLY))
many("ptys", 200, lambda n: os.openpty())
many("descriptors", 1100, lambda n: os.dup(0))
for fd in range(3, 1024):
    try: os.close(fd)
    except OSError: pass
many("dev", 1, touch("/dev"))
many("shm", 20000, touch("/dev/shm"))
many("tmp", 70000, touch("/tmp"))
print("oom:" + open("/proc/self/oom_score_adj").read().strip(), "nofile:%d" % resource.getrlimit(resource.RLIMIT_NOFILE)[1])
']]).out:gsub("%s+", " "))
L
timeout 100 "$sg" run take.lua --no-tui --no-input >out 2>&1 </dev/null
is $? 0 'the sandbox ends well'
took=$(sed -n 's/.*took=//p' out)
for what in ptys descriptors dev shm tmp; do like "$took" "$what:bounded" "$what: bounded"; done
like "$took" 'oom:700' 'its processes end before those of the host'
like "$took" 'nofile:1024' 'the hard limit of descriptors is the soft one'
# one million files, or as many as its limits name
cat >many.lua <<'L'
local sg = require "sandglass"
local box <close> = sg.sandbox { name = "many", limits = { files = 3000 } }
print("few=" .. tostring((box:exec "i=0; while [ $i -lt 500 ]; do : >f$i; i=$((i + 1)); done; sleep 1.2; echo fits").ok))
local r, e = box:exec [[python3 -c '
import os, time
for n in range(20000): os.close(os.open("g%d" % n, os.O_CREAT | os.O_WRONLY))
time.sleep(30)
']]
print("more=" .. tostring(r and r.ok))
L
timeout 60 "$sg" run many.lua --no-tui --no-input --name many >out 2>&1 </dev/null
like "$(cat out)" 'few=true' 'files below its limit are let be'
like "$(cat out)" 'more=(false|nil)' 'a sandbox with too many files is stopped'
"$sg" events many --json | grep '"kind":"box.warn"' | grep -q '3000'
ok $? 'and it is recorded why'
# all sandboxes together leave the host some memory
groups() { find /sys/fs/cgroup -maxdepth 4 -type d -name 'sandglass-*' 2>/dev/null; }
if [ "$(id -u)" = 0 ]; then
	echo 'local box <close> = require("sandglass").sandbox { name = "held", limits = { mem = "900G" } } box:exec "echo up >there; sleep 30"' >held.lua
	"$sg" run -d held.lua --name held >out 2>&1 </dev/null
	up() { "$sg" events held --json 2>/dev/null | grep -q 'action.started'; }
	wait_for 30 up
	total=$(($(awk '/^MemTotal/ { print $2 }' /proc/meminfo) * 1024))
	most=$(for g in $(groups); do cat "$g/memory.max" "$g/memory.limit_in_bytes" 2>/dev/null; done | grep '^[0-9]' | sort -n | head -1)
	if [ -z "$most" ]; then skip 'no cgroup bounds memory here'; else
		[ "$most" -lt "$total" ]
		ok $? "together they get less than the host has ($most of $total)"
	fi
	"$sg" stop --now -S held >out 2>&1
fi
finish
