#!/usr/bin/env bash
# Files that never end: a named pipe, a terminal, an endless device or a link to one, wherever a user or a cloned repository
# can put a file that is read. None may hold up the program or the supervisor, and a front end always ends at SIGTERM.
. "$(dirname "$0")/../e2e/lib.sh"
sg=$SANDGLASS
cd "$t" || exit 1
mkfifo pipe
ln -s pipe link.lua
ln -s /dev/tty tty.lua
ln -s /dev/zero zero.lua
python3 -c 'import socket; s = socket.socket(socket.AF_UNIX); s.bind("sock.lua")'
echo 'print "hello"' >fine.lua
within() { # what, command...: it ends within 15 s and does not succeed
	local what=$1
	shift
	setsid -w timeout -k 1 15 "$@" >out 2>&1 </dev/null
	local rc=$?
	[ $rc -ne 0 ] && [ $rc -ne 124 ] && [ $rc -ne 137 ]
	ok $? "$what (status $rc)"
}
for f in pipe link.lua tty.lua zero.lua sock.lua /dev/tty; do
	within "script: $f" "$sg" run "$f" --no-input
	within "policy: $f" "$sg" run fine.lua --policy "$f" --no-input
done
"$sg" run fine.lua --name fine --no-input >out 2>&1 </dev/null
is $? 0 'a plain file is read'
for f in pipe link.lua zero.lua; do
	within "configuration: $f" env SANDGLASS_CONFIG="$f" "$sg" run fine.lua --no-input
	within "session file: $f" "$sg" verify "./$f"
	within "session to show: $f" "$sg" show "./$f"
	within "log to import: $f" "$sg" import "$f"
	within "policy to check: $f" "$sg" policy check "$f"
	printf 'require "%s"\n' "$t/$f" >require.lua
	within "module: $f" "$sg" run require.lua --no-input
	within "checks: $f" "$sg" verify fine --check "$f"
done
# what a cloned repository brings
mkdir -p clone/.sandglass && cd clone && git init -q
cp ../fine.lua .
for f in policy.lua config.lua added.lua; do
	mkfifo ".sandglass/$f"
	setsid -w timeout -k 1 15 "$sg" run fine.lua --no-input >../out 2>&1 </dev/null
	rc=$?
	[ $rc -ne 124 ] && [ $rc -ne 137 ]
	ok $? "a named pipe as .sandglass/$f does not hold up a run"
	timeout -k 1 15 "$sg" config >../out 2>&1 </dev/null
	[ $? -lt 124 ]
	ok $? 'nor the listing of settings'
	rm ".sandglass/$f"
done
cd "$t" || exit 1
# front ends end at SIGTERM while what they wait for does not come
printf 'local sg = require "sandglass"\nsg.ask { text = "wait", choices = { "yes" } }\n' >wait.lua
id=$("$sg" run -d wait.lua --name wait 2>out)
ends() { # what, command...
	local what=$1 pid
	shift
	"$@" >out 2>&1 <keep &
	pid=$!
	sleep 1
	kill -TERM $pid 2>/dev/null
	wait_for 30 sh -c '! kill -0 "$1" 2>/dev/null || grep -q "^State:.Z" "/proc/$1/status"' - $pid
	ok $? "SIGTERM ends $what"
	kill -9 $pid 2>/dev/null
	wait $pid 2>/dev/null
}
mkfifo keep
exec 7<>keep
ends 'run' "$sg" run wait.lua --name other
cat >in_terminal.py <<'P'
# Runs a program on a terminal of its own whose output is read; hands SIGTERM on to it and ends when it ends.
import os, pty, signal, sys
pid, fd = pty.fork()
if pid == 0: os.execvp(sys.argv[1], sys.argv[1:])
signal.signal(signal.SIGTERM, lambda *_: os.kill(pid, signal.SIGTERM))
try:
    while os.read(fd, 65536): pass
except OSError: pass
os.waitpid(pid, 0)
P
ends 'attach' env TERM=xterm python3 in_terminal.py "$sg" attach "$id"
ends 'watch' env TERM=xterm python3 in_terminal.py "$sg" watch "$id"
ends 'events --follow' "$sg" events "$id" --follow
ends 'mcp serve' "$sg" mcp serve
finish
