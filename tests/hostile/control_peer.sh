#!/usr/bin/env bash
# Who decides actions: a process in another PID or user namespace, or in a sandbox's cgroup, is refused at the control socket
# even if its uid is right and the socket is in its reach.
. "$(dirname "$0")/../e2e/lib.sh"
sg=$SANDGLASS
cd "$t" || exit 1
printf 'local sg = require "sandglass"\nsg.ask { text = "decide", choices = { "yes", "no" } }\n' >wait.lua
id=$("$sg" run -d wait.lua --name wait 2>out)
sock=$XDG_RUNTIME_DIR/sandglass/$id.sock
wait_for 30 test -S "$sock"
cat >hello.py <<'P'
# The server speaks only after a greeting: a peer that it refuses sees the end at once, another waits.
import select, socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
ended = select.select([s], [], [], float(sys.argv[2]))[0] and s.recv(1) == b""
print("refused" if ended else "heard")
P
is "$(python3 hello.py "$sock" 1)" heard 'a process beside the supervisor is heard'
"$sg" state -S "$id" --json >out 2>&1
is $? 0 'and so is the program itself'
ways=0
try() { # what, command...
	local what=$1
	shift
	"$@" true 2>/dev/null || { echo "# not possible here: $what"; return; }
	ways=$((ways + 1))
	is "$("$@" python3 hello.py "$sock" 4 2>&1 | tail -1)" refused "$what is refused"
	"$@" "$sg" answer 1 1 -S "$id" >out 2>&1
	[ $? -ne 0 ]
	ok $? 'it cannot decide anything'
}
try 'a process in a user namespace of its own' unshare --user --map-current-user
try 'one that is root there' unshare --user --map-root-user
try 'a process in a PID namespace of its own' unshare --user --map-current-user --pid --fork
[ "$(id -u)" = 0 ] && try 'a process of root in a PID namespace' unshare --pid --fork
# (locked like a launcher's, or a session that starts meanwhile removes it as an orphan)
grouped() {
	local dir
	for dir in /sys/fs/cgroup /sys/fs/cgroup/memory /sys/fs/cgroup/unified; do
		[ -w "$dir/cgroup.procs" ] && mkdir -p "$dir/sandglass-$$/b1" 2>/dev/null && break
	done
	exec 8<"$dir/sandglass-$$" && flock 8
	(echo "$BASHPID" >"$dir/sandglass-$$/b1/cgroup.procs" && exec "$@")
	local rc=$?
	exec 8<&-
	rmdir "$dir/sandglass-$$/b1" "$dir/sandglass-$$" 2>/dev/null
	return $rc
}
[ "$(id -u)" = 0 ] && try "a process in a sandbox's cgroup" grouped
[ $ways -gt 0 ] || skip 'no namespace can be made here'
"$sg" state -S "$id" --json >out 2>&1
is $? 0 'the session continues'
like "$(cat out)" '"decide"' 'and the question waits'
finish
