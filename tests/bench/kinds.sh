#!/usr/bin/env bash
# kinds.sh [KIND...]: the cost of a sandbox of each backend on the host: opening (median of 5, the first), the round
# trip of a command (median of 21), and the memory of another sandbox (PSS of its new processes, and the growth of the
# supervisor). Hosted backends are measured against the fakes of the tests: the requests for opening and for a command,
# and the plugin's price. The numbers of README's table.
set -u
cd "$(dirname "$0")/../.." || exit 2
export B=${B:-$PWD/build}
case $B in /*) ;; *) B=$PWD/$B ;; esac
export SANDGLASS=$B/sandglass
bench=$PWD/tests/bench
. tests/e2e/lib.sh
. tests/drivers/suite.bash
. tests/bench/remote.bash
over() { kill $pids 2>/dev/null; wait $pids 2>/dev/null; umount -q "$t"/docker/data/* 2>/dev/null; sshd_stop; end_all; }
trap over EXIT
cd "$t" || exit 2
wanted=" ${*:-process container ssh host pyodide vm e2b daytona runloop modal kubernetes mcp} "
want() { [[ $wanted == *" $1 "* ]]; }
printf 'return require("sandglass.policy").rules { default = "allow" }\n' >allow.lua
mkdir repo && echo one >repo/a.txt && chmod -R a+rX .

# KiB of process $1, of processes with our directory in their arguments (engines, their helpers, sshd), and of all their children.
pss() {
	python3 - "$1" "$t/" <<-'P'
		import os, sys
		of, words, total = {}, {}, 0
		for p in filter(str.isdigit, os.listdir("/proc")):
		    try:
		        of[p] = open(f"/proc/{p}/stat").read().rsplit(")", 1)[1].split()[1]
		        words[p] = open(f"/proc/{p}/cmdline").read()
		    except OSError: pass
		def ours(p):
		    while p in of:
		        if p == sys.argv[1] or sys.argv[2] in words.get(p, "") and p != str(os.getpid()): return True
		        p = of[p]
		for p in of:
		    try:
		        if ours(p): total += sum(int(l.split()[1]) for l in open(f"/proc/{p}/smaps_rollup") if l.startswith("Pss:"))
		    except OSError: pass
		print(total)
	P
}
ms() { awk -v us="$1" 'BEGIN { if (us < 10000) printf "%.1f ms", us / 1000; else if (us < 1000000) printf "%.0f ms", us / 1000; else printf "%.1f s", us / 1000000 }'; }

# A session with one box open, then three: KiB that one more costs.
memory() { # the box as JSON
	local id pid were
	id=$("$SANDGLASS" run -d --policy allow.lua "$bench/kinds.lua" -- --how "$1" --n 1 --execs 1 --stay 2 </dev/null 2>why) || { echo 0; return; }
	has() { "$SANDGLASS" events "$id" --json 2>/dev/null | grep -q "\"text\":\"$1\""; }
	wait_for 120 has ONE || { "$SANDGLASS" events "$id" | tail -3 >&2; echo 0; return; }
	pid=$(supervisor "$id")
	sleep 1
	were=$(pss "$pid")
	wait_for 120 has MORE
	sleep 1
	local more=$((($(pss "$pid") - were) / 2))
	echo $((more > 0 ? more : 0))
	"$SANDGLASS" stop --now -S "$id" >/dev/null 2>&1
	gone() { [ -z "$(supervisor "$id")" ]; }
	wait_for 60 gone
}
measure() { # name, the box as JSON
	local id=k-${1//[^a-z0-9]/}
	timeout 200 "$SANDGLASS" run --no-tui --no-input --policy allow.lua --name "$id" "$bench/kinds.lua" -- --how "$2" --stay 0 </dev/null >out 2>&1 ||
		{ printf '%-18s %s\n' "$1" "not here: $(grep -a '^sandglass:' out | tail -1 | cut -c1-160)"; return 1; }
	"$SANDGLASS" events "$id" --json >events
	IFS='|' read -r _ open first exec profile < <(grep -oE '"text":"ROW\|[^"]*' events | cut -d'"' -f4)
}
here() { # name, the box as JSON
	measure "$@" || return
	local kb
	kb=$(memory "$2")
	printf '%-18s open %-8s (the first %-8s) a command %-8s memory %4d.%d MiB  profile %s\n' "$1" "$(ms "$open")" "$(ms "$first")" "$(ms "$exec")" \
		$((kb / 1024)) $((kb % 1024 * 10 / 1024)) "$profile"
}
rented() { # kind: requests until it is open and has its files, and for each command; its price
	measure "$1" "{\"backend\": \"$1\"}" || return
	local opens each price
	opens=$(awk '/"kind":"box.ready"/ { exit } /"kind":"box.call"/ { n++ } END { print n + 0 }' events)
	each=$(awk '/"text":"EXECS"/ { on = 1 } /"text":"ROW/ { exit } on && /"kind":"box.call"/ { n++ } END { print n + 0 }' events)
	price=$(grep -m1 '"kind":"box.ready"' events | grep -oE '"uusd_hour":[0-9]+' | cut -d: -f2)
	printf '%-18s open %2d requests (%-7s with the fake), a command %d.%d (%-7s) %s\n' "$1" "$opens" "$(ms "$open")" $((each / 21)) $((each * 10 / 21 % 10)) \
		"$(ms "$exec")" "${price:+$(awk -v u="$price" 'BEGIN { printf "$%.7f a second ($%.4f an hour)", u / 3.6e9, u / 1e6 }')}"
}

want process && here process '{"repo": "repo"}'
want host && here host '{"backend": "host", "repo": "repo"}'
if want ssh && sshd_start; then
	here 'ssh (loopback)' "{\"backend\": \"ssh\", \"host\": \"there\", \"config\": \"$t/ssh/config\", \"dir\": \"$t/far\", \"repo\": \"repo\"}"
fi
package=$B/npm/node_modules/pyodide
if want pyodide && [ -d "$package" ]; then here pyodide "{\"backend\": \"pyodide\", \"package\": \"$package\", \"repo\": \"repo\"}"; fi

engine() { # name, socket
	wait_for 30 curl -s -m 10 --unix-socket "$2" http://x/_ping -o ping
	tar -C img -c . | curl -s -m 60 --unix-socket "$2" -X POST -H 'Content-Type: application/x-tar' --data-binary @- \
		'http://x/v1.41/images/create?fromSrc=-&repo=sgtest&tag=latest' >out
	here "container ($1)" "{\"backend\": \"container\", \"image\": \"sgtest:latest\", \"options\": {\"engine\": \"$2\"}, \"repo\": \"repo\"}"
}
if want container && [ "$(id -u)" = 0 ] && busybox=$(command -v busybox) && ! ldd "$busybox" >/dev/null 2>&1; then
	mkdir -p img/bin img/etc img/tmp img/workspace img/home/agent img/proc img/sys img/dev && cp -L "$busybox" img/bin/busybox
	for a in $("$busybox" --list); do [ "$a" = busybox ] || ln -s busybox "img/bin/$a"; done
	echo 'root:x:0:0::/:/bin/sh' >img/etc/passwd
	if command -v dockerd >/dev/null; then
		dockerd --iptables=false --ip6tables=false --bridge=none --data-root "$t/docker/data" --exec-root "$t/docker/exec" \
			-H "unix://$t/docker.sock" -p "$t/docker.pid" >docker.log 2>&1 </dev/null &
		pids="$pids $!"
		engine docker "$t/docker.sock"
	fi
	if command -v podman >/dev/null; then
		unshare -m sh -c "umount /sys/fs/cgroup/unified 2>/dev/null; exec podman --root $t/pod/root --runroot $t/pod/run system service --time=0 unix://$t/podman.sock" \
			>podman.log 2>&1 </dev/null &
		pids="$pids $!"
		engine podman "$t/podman.sock"
	fi
fi
kernel=$(ls "$B"/vm/boot/vmlinuz-* 2>/dev/null | head -1)
if want vm && [ -n "$kernel" ]; then
	for accel in ${ACCELS:-kvm tcg}; do
		here "vm ($accel)" "{\"backend\": \"vm\", \"kernel\": \"$kernel\", \"modules\": \"$B/vm/lib/modules/${kernel##*vmlinuz-}\", \"accel\": \"$accel\", \"repo\": \"repo\"}"
	done
fi

for kind in e2b daytona runloop modal kubernetes; do
	want $kind || continue
	fake $kind || continue
	fake_at $kind "$(cat $kind.port)"
	rented $kind
done
if want mcp; then
	"$SANDGLASS" mcp serve --http 0 --json >addr 2>err </dev/null &
	pids="$pids $!"
	wait_for 20 test -s addr
	MCP_URL=$(sed 's/.*"url": *"\([^"]*\)".*/\1/' addr) MCP_TOKEN=$(cat "$HOME/.local/state/sandglass/mcp-token")
	export MCP_URL MCP_TOKEN
	rented mcp
fi
exit 0
