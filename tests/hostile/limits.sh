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
finish
