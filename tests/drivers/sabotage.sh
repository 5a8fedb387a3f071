#!/usr/bin/env bash
# Twenty-eight ways to sabotage a sandbox, in process, container, and ssh sandboxes. After each, the tool of an agent
# names the cause, and the next call works, is refused with cause and remedy, or reports a dead sandbox; it never runs
# elsewhere. The table of the answers is printed.
. "$(dirname "$0")/../e2e/lib.sh"
. "$(dirname "$0")/suite.bash"
drivers=$here/../drivers
need_boxes
cd "$t" || exit 1
printf 'return require("sandglass.policy").rules { default = "allow" }\n' >any.lua
engine_pid='' machine_pid=''
port_free() { ! (: <>"/dev/tcp/127.0.0.1/$sshd_port") 2>/dev/null; }
machine_stop() { # until its last process is gone: the next machine has the same port
	[ -n "$machine_pid" ] || return 0
	{ kill -9 "$machine_pid"; wait "$machine_pid"; } 2>/dev/null
	machine_pid=
	wait_for 30 port_free
}
over() {
	machine_stop
	[ -z "$engine_pid" ] || { kill "$engine_pid"; wait "$engine_pid"; } 2>/dev/null
	for c in $groups; do rmdir "$c" 2>/dev/null; done
	end_all
}
groups=
trap over EXIT

sabotage() { # backend as a name, the box as JSON, ways ("" all)
	timeout -k 5 "${LONG:+1}280" "$SANDGLASS" run --no-tui --no-input --json --policy any.lua "$drivers/sabotage.lua" -- --how "$2" --only "${3:-}" </dev/null >run.json 2>run.err
	ran=$?
	grep -ao '"text":"ROW|[^"\\]*' run.json | cut -d'"' -f4 >rows
	sed "s/^ROW/# $1/" rows
	cp run.err "$t/out"
	is "$ran" 0 "$1: every sandbox closes, and the session ends"
	[ -s rows ]
	ok $? "$1: there are answers"
	is "$(grep '|BAD' rows)" '' "$1: each answer names its cause; no call runs elsewhere"
}
nexts() { cut -d'|' -f3 rows | sort | uniq -c | awk '{ printf "%s%d %s", sep, $1, $2; sep = ", " }'; } # how many of each
next_of() { awk -F'|' -v w="$1" '$2 == w { print $3 }' rows; }

sabotage process '{}'
is "$(nexts)" '1 told, 27 works' 'process: the next call works after each but one'
is "$(next_of 'working directory unreadable')" told 'process: an unreadable working directory is an error'

busybox=$(command -v busybox)
if [ "$(id -u)" = 0 ] && command -v podman >/dev/null && [ -n "$busybox" ] && ! ldd "$busybox" >/dev/null 2>&1; then
	mkdir -p img/bin img/etc img/tmp img/workspace img/home/agent img/proc img/sys img/dev img/usr && ln -s ../bin img/usr/bin
	cp -L "$busybox" img/bin/busybox
	for a in $("$busybox" --list); do [ "$a" = busybox ] || ln -s busybox "img/bin/$a"; done
	echo 'root:x:0:0::/:/bin/sh' >img/etc/passwd
	unshare -m sh -c "umount /sys/fs/cgroup/unified 2>/dev/null; exec podman --root $t/pod/root --runroot $t/pod/run system service --time=0 unix://$t/podman.sock" \
		>podman.log 2>&1 </dev/null &
	engine_pid=$!
	wait_for 30 test -S podman.sock
	tar -C img -c . | curl -s -m 60 --unix-socket podman.sock -X POST -H 'Content-Type: application/x-tar' --data-binary @- \
		'http://x/v1.41/images/create?fromSrc=-&repo=sgtest&tag=latest' >"$t/out"
	sabotage container "{\"backend\": \"container\", \"image\": \"sgtest:latest\", \"options\": {\"engine\": \"$t/podman.sock\"}}"
	is "$(nexts)" '1 told, 27 works' 'container: the next call works after each but one'
else
	skip 'container: no podman, no static busybox, or not root'
fi

# --- ssh: a machine of its own, which may be destroyed ---
[ "$(id -u)" = 0 ] || { skip 'ssh: a machine to destroy is made by root'; finish; }
for c in pids memory; do # a fork bomb there stays there
	[ -e /sys/fs/cgroup/$c/cgroup.procs ] || continue
	mkdir "/sys/fs/cgroup/$c/sabotage-$$" && groups="$groups /sys/fs/cgroup/$c/sabotage-$$"
done
[ -n "$groups" ] || { mkdir "/sys/fs/cgroup/sabotage-$$" 2>/dev/null && groups=/sys/fs/cgroup/sabotage-$$; }
for c in $groups; do
	echo 400 >"$c/pids.max"
	echo 1500M >"$c/memory.limit_in_bytes"
	echo 1500M >"$c/memory.max"
done 2>/dev/null
grep -qs 400 /sys/fs/cgroup/pids/sabotage-$$/pids.max /sys/fs/cgroup/sabotage-$$/pids.max || { skip 'ssh: no limit for a fork bomb here'; finish; }
sshd_start || { skip "ssh: ${no_sshd:-no keys for sshd}"; finish; }
sshd_stop # its keys and its port are the machine's
wait_for 30 port_free
cat >nowall.py <<'P'
import ctypes, os, struct, sys
code = [(0x20, 0, 0, 0), (0x15, 0, 1, 444), (6, 0, 0, 0x50026), (6, 0, 0, 0x7fff0000)]   # landlock_create_ruleset: ENOSYS
insns = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *c) for c in code))
prog = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(code), ctypes.addressof(insns)))
libc = ctypes.CDLL(None)
libc.prctl(38, 1, 0, 0, 0)
if libc.prctl(22, 2, prog, 0, 0): raise SystemExit("no seccomp here")
os.execvp(sys.argv[1], sys.argv[1:])
P
machine_start() { # what sshd is started with
	machine_stop
	rm -rf m machine.log && mkdir m # the log of the machine before would say that this one listens
	(
		for c in $groups; do echo "$BASHPID" >"$c/cgroup.procs"; done
		exec unshare --mount --pid --ipc --uts --fork --kill-child bash "$drivers/machine.bash" "$t/m" "$t/ssh/sshd_config" "$t" "${1:-}"
	) >machine.log 2>&1 </dev/null &
	machine_pid=$!
	wait_for 30 grep -q 'Server listening' machine.log
}
far="{\"backend\": \"ssh\", \"host\": \"there\", \"config\": \"$t/ssh/config\", \"dir\": \"$t/far\"}"
if ! machine_start; then
	skip "ssh: no machine: $(tail -1 machine.log)"
	finish
fi
# Landlock does not keep the modes of programs: 3 has a machine of its own. A fork bomb on that machine takes all its
# processes, sshd's too, and slows down every test beside it.
few='1 4 5 8 10 11 15 18 23 25 28'
works=10
[ -z "${LONG:-}" ] || few="1 2 $(seq -s ' ' 4 28)" works=26
sabotage ssh "$far" "$few"
if grep -q 'isolation NO' run.err; then
	skip 'ssh: that machine has no landlock'
else
	is "$(nexts)" "1 told, $works works" 'ssh: the next call works after each but one'
	machine_start
	ok $? 'ssh: a machine for way 3'
	sabotage ssh "$far" 3
	is "$(nexts)" '1 told' 'ssh: programs that no user can run are named'
fi
# Without isolation an agent destroys the machine: a new one each time.
for way in 1:told 3:told 5:told 6:told 7:told 8:told 9:told 15:died ${LONG:+17:died 2:told 4:fails 16:died 24:works 26:works 28:works}; do
	machine_start "python3 $t/nowall.py"
	ok $? "ssh, no isolation: a machine for way ${way%:*}"
	sabotage 'ssh, no isolation' "$far" "${way%:*}"
	is "$(cut -d'|' -f3 rows)" "${way#*:}" "ssh, no isolation: $(cut -d'|' -f2 rows)"
done
finish
