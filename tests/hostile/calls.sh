#!/usr/bin/env bash
# System calls that no sandbox hands to a command, in every kind of sandbox this machine gives without an engine or a machine
# (container: drivers/container.sh), and that ordinary tools do well without them.
. "$(dirname "$0")/../e2e/lib.sh"
. "$here/../drivers/suite.bash"
sg=$SANDGLASS
need cc
cd "$t" || exit 1
mkdir repo && chmod 755 "$t" repo
cc -D_GNU_SOURCE -static -o repo/calls "$here/../hostile/calls.c" 2>cc.out || { skip "no static program can be made: $(head -1 cc.out)"; finish; }
tools='git init -q g && git -C g -c user.name=a -c user.email=a@b commit -q --allow-empty -m x && git -C g log --format=%s && \
python3 -c "import multiprocessing, socket, ssl, subprocess, threading
t = threading.Thread(target=lambda: subprocess.run([\"true\"], check=True)); t.start(); t.join()
p = multiprocessing.Process(target=print, args=(1,)); p.start(); p.join(); print(p.exitcode)" && \
{ ! command -v node >/dev/null || node -e "require(\"child_process\").execSync(\"true\"); require(\"os\").networkInterfaces()"; } && \
{ ! command -v dpkg-query >/dev/null || dpkg-query -W dpkg >/dev/null; } && \
{ ! command -v apt-get >/dev/null || apt-get -s -o Dir::State::Lists=/nonexistent -o Debug::NoLocking=1 check >/dev/null 2>&1 || apt-get --version >/dev/null; } && echo well'
cat >try.lua <<L
local sg = require "sandglass"
local how = sg.json.decode [[HOW]]
how.repo = "repo"
local box <close> = sg.sandbox(how)
print("profile " .. box.profile)
print(box:exec("./calls; cat /etc/machine-id").out)
print(box:exec [==[$tools]==].out)
L
printf 'return require("sandglass.policy").rules { default = "allow" }\n' >any.lua
closed() { # name, sandbox as JSON, calls that remain, a program to run it in
	sed "s|HOW|$2|" try.lua >"$1.lua"
	timeout 60 ${4:-} "$sg" run "$1.lua" --policy any.lua --no-tui --no-input --accept reduced >"$1.out" 2>&1 </dev/null
	is $? 0 "$1: the script ends well"
	is "$(grep -oE '[a-z_0-9-]+ reached [0-9]+$' "$1.out" | cut -d' ' -f1 | tr '\n' ' ')" "$3" "$1: no more than this can be called"
	is "$(grep -cE '[a-z_0-9-]+ closed [0-9]+$' "$1.out")" "$(($(grep -c . outside) - $(wc -w <<<"$3")))" "$1: all others were tried"
	like "$(cat "$1.out")" '\bwell$' "$1: ordinary tools work"
}
repo/calls >outside
like "$(tr '\n' ' ' <outside)" 'io_uring reached .*vsock reached .*netlink-generic reached .*tiocsetd reached .*modify_ldt reached .*shmget reached' \
	'outside of a sandbox they can be called'
machine=$(cat /etc/machine-id 2>/dev/null)
if boxes; then
	shared='shmget '
	"$sg" doctor --json 2>/dev/null | grep -q '"enforced"' || shared='' # refused where no cgroup bounds memory
	closed process '{}' "${shared}semget msgget "
else
	skip 'process: no sandbox can be opened here'
fi
container=${SANDGLASS%/*}/helpers/hostile/container
if [ -x "$container" ] && "$container" true 2>/dev/null; then
	closed reduced '{}' '' "$container"
	[ -z "$machine" ] || unlike "$(cat reduced.out)" "$machine" 'reduced: the number of the machine cannot be read'
else
	skip 'reduced: needs root and the helper hostile/container'
fi
if sshd_start; then
	trap 'sshd_stop; end_all' EXIT
	closed ssh "{\"backend\": \"ssh\", \"host\": \"there\", \"config\": \"$t/ssh/config\", \"dir\": \"$t/far\"}" ''
else
	skip "ssh: ${no_sshd:-no keys for sshd}"
fi
# what the table of src/sandbox/README.md says about these is what was seen
says() { # threat, column
	grep -F "$1" "$here/../../src/sandbox/README.md" | cut -d'|' -f"$2" | tr -d ' '
}
agrees() { # name, column
	local seen=yes
	! grep -q '^.*semget reached' "$1.out" || seen=no
	is "$(says "The host's System V memory" "$2")" "$seen" "$1: the table tells how it is with System V"
	[ -n "$machine" ] || return
	seen=yes
	! grep -q "$machine" "$1.out" || seen=no
	is "$(says '/etc/machine-id' "$2")" "$seen" "$1: and with the number of the machine"
}
[ ! -s reduced.out ] || agrees reduced 5
[ ! -s ssh.out ] || agrees ssh 7
finish
