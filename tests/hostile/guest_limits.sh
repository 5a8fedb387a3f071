#!/usr/bin/env bash
# Memory, file size, processes, and descriptors of one command, where no cgroup bounds them: at isolation level
# `reduced`, and over ssh. Each is first shown to be without a bound outside of a sandbox.
. "$(dirname "$0")/../e2e/lib.sh"
. "$here/../drivers/suite.bash"
sg=$SANDGLASS
need python3
cd "$t" || exit 1
mkdir repo && chmod 755 "$t" repo
cat >repo/take.py <<'P'
import os, resource as r, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
def bounded(what, take):
    try: take()
    except (OSError, MemoryError): print(what + ":bounded", end=" ")
    else: print(what + ":unbounded", end=" ")
def memory():
    bytearray(600 << 20)
def size():
    with open("big", "wb") as f: f.truncate(200 << 20)
def processes():
    made = []
    try:
        for _ in range(80):
            pid = os.fork()
            if not pid: signal.pause()
            made.append(pid)
    finally:
        for pid in made:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
def descriptors():
    for _ in range(1100): os.dup(0)
for take in memory, size, processes, descriptors: bounded(take.__name__, take)
limits = dict(core=r.RLIMIT_CORE, memlock=r.RLIMIT_MEMLOCK, nproc=r.RLIMIT_NPROC, msgqueue=r.RLIMIT_MSGQUEUE,
    rtprio=r.RLIMIT_RTPRIO, nice=r.RLIMIT_NICE, sigpending=r.RLIMIT_SIGPENDING)
print(" ".join("%s=%d" % (name, r.getrlimit(which)[1]) for name, which in limits.items()))
P
printf 'return require("sandglass.policy").rules { default = "allow" }\n' >any.lua
cat >take.lua <<'L'
local sg = require "sandglass"
local how = sg.json.decode [[HOW]]
how.repo, how.limits = "repo", { mem = "400M", disk = "100M", pids = 60 }
local box <close> = sg.sandbox(how)
print("profile=" .. box.profile)
print("took=" .. assert(box:exec "python3 take.py").out)
L
held() { # name, sandbox as JSON, isolation level, a program to run it in
	sed "s|HOW|$2|" take.lua >"$1.lua"
	timeout 60 ${4:-} "$sg" run "$1.lua" --policy any.lua --no-tui --no-input --accept reduced >"$t/out" 2>&1 </dev/null
	is $? 0 "$1: the script ends well"
	like "$(cat "$t/out")" "profile=$3" "$1: isolation level $3"
	took=$(sed -n 's/.*took=//p' "$t/out")
	for what in memory size descriptors; do like "$took" "$what:bounded" "$1: $what: bounded"; done
	like "$took" 'core=0 memlock=0 .*msgqueue=0 rtprio=0 nice=0 sigpending=256' "$1: the limits that every command has"
	like "$took" 'nproc=60 ' "$1: and of processes"
}
ulimit -r 10 2>/dev/null # root may: others have no such right to lose
ulimit -e 10 2>/dev/null
outside=$(ulimit -n 4096 2>/dev/null; cd repo && python3 take.py; rm -f big)
like "$outside" 'memory:unbounded size:unbounded processes:unbounded descriptors:unbounded' 'outside of a sandbox there is no bound'
container=${SANDGLASS%/*}/helpers/hostile/container
if [ -x "$container" ] && "$container" true 2>"$t/out"; then
	held reduced '{}' reduced "$container"
	like "$took" 'processes:bounded' 'reduced: processes: bounded'
else
	skip 'reduced: the helper hostile/container does not run here'
fi
if sshd_start; then
	trap 'sshd_stop; end_all' EXIT
	held ssh "{\"backend\": \"ssh\", \"host\": \"there\", \"config\": \"$t/ssh/config\", \"dir\": \"$t/far\"}" '(reduced|none)'
	# no limit holds for processes of root
	if [ "$(id -u)" = 0 ]; then skip 'ssh: root there has no bound of processes'; else
		like "$took" 'processes:bounded' 'ssh: processes: bounded'
	fi
else
	skip "ssh: ${no_sshd:-no keys for sshd}"
fi
finish
