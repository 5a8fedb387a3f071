#!/usr/bin/env bash
# The suites against the container driver, with a real dockerd and a real podman service, each started here on a
# socket of its own, with an image of local files; and what no good engine answers.
. "$(dirname "$0")/../e2e/lib.sh"
sg=$SANDGLASS
. "$(dirname "$0")/suite.bash"
need_boxes
cd "$t" || exit 1
export SANDGLASS_SESSIONS=$t/sessions
unset DOCKER_HOST CONTAINER_HOST
ask() { curl -s -m 60 --unix-socket "$1" "${@:2}"; } # socket

# --- bad engines, without any ---
cat >bad.lua <<'L'
local sg = require "sandglass"
local a = sg.args { "engine", image = "x" }
local box, err = sg.sandbox { name = "c", backend = "container", image = a.image ~= "-" and a.image or nil, options = { engine = a.engine } }
L
bad() { timeout 30 "$sg" run --no-tui bad.lua -- "$@" </dev/null 2>&1 | tail -1; }
like "$(bad "$t/none.sock")" "no container engine at '$t/none.sock'" 'no engine: said, and where it was looked for'
like "$(bad tcp://1.2.3.4:1)" 'not the Unix socket of a container engine' 'an engine elsewhere'
cat >fake.py <<'P'
import socket, sys, os
kind, path = sys.argv[1:]
answers = {
    "html": (200, "text/html", "<html>welcome</html>"),
    "old": (200, "application/json", '{"ApiVersion": "1.24", "MinAPIVersion": "1.12"}'),
    "refused": (403, "application/json", '{"message": "authorization denied by plugin"}'),
}
s = socket.socket(socket.AF_UNIX)
s.bind(path)
s.listen(5)
open(path + ".up", "w")
while True:
    c, _ = s.accept()
    c.recv(65536)
    if kind != "cut":
        status, mime, body = answers[kind]
        c.sendall(f"HTTP/1.1 {status} X\r\nContent-Type: {mime}\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
    c.close()
P
fake() { # kind, the expected error
	python3 fake.py "$1" "$t/$1.sock" </dev/null >/dev/null 2>&1 &
	local pid=$!
	wait_for 10 test -e "$t/$1.sock.up"
	like "$(bad "$t/$1.sock")" "$2" "an engine that is $1"
	kill $pid
}
fake html 'answer with JSON'
fake old "has API version '1.24': expected 1.41 or later"
fake refused 'authorization denied by plugin'
fake cut "the container engine at '$t/cut.sock'"
like "$(bad "$t/none.sock" --image -)" 'missing option: image' 'no image'
like "$(bad "$t/none.sock" --image "$(printf 'n%.0s' {1..300})")" "image: 'n+...' has 300 characters; the limit is 255" 'an image whose name has 300 characters'

# --- real ones ---
[ "$(id -u)" = 0 ] || { skip 'engines are started by root only'; finish; }
busybox=$(command -v busybox)
[ -n "$busybox" ] && file=$(head -c 20 "$busybox" | od -An -tx1 | head -1) && [ -n "$file" ] && ! ldd "$busybox" >/dev/null 2>&1 ||
	{ skip 'no static busybox for an image (package busybox-static)'; finish; }
mkdir -p img/bin img/etc img/tmp img/workspace img/home/agent img/proc img/sys img/dev
cp -L "$busybox" img/bin/busybox
for a in $("$busybox" --list); do [ "$a" = busybox ] || ln -s busybox "img/bin/$a"; done
echo 'root:x:0:0::/:/bin/sh' >img/etc/passwd
mkdir img/usr && ln -s ../bin img/usr/bin
cc -D_GNU_SOURCE -static -o img/bin/calls "$here/../hostile/calls.c" 2>cc.log || rm -f img/bin/calls
cat >use.lua <<'L'
local sg = require "sandglass"
local a = sg.args { "engine", "wait" }
local box <close> = sg.sandbox { name = "c", backend = "container", image = "sgtest:latest", options = { engine = a.engine },
  repo = "repo", limits = { mem = "256MB" } }
print("profile " .. box.profile)
print(box:exec("cat a.txt; id -u; ls /sys/class/net | tr -d '\\n'; echo; touch /x 2>&1").out)
print(box:exec("cat /proc/1/environ 2>&1; kill -9 1; grep CapEff /proc/self/status; grep NoNewPrivs /proc/self/status").out)
print(box:exec("calls 2>&1 | grep -c ' closed '; calls | grep ' reached ' | cut -d' ' -f1 | tr '\\n' ' '").out)
local other <close> = box:fork()
local inner, none = box:exec "tail /dev/zero; exit 3", box:exec "exit 3"
print("oom", inner.code, inner.oom, none.oom)
if a.wait == "1" then print "waits" sg.sleep(60) end
L
cat >try.lua <<'L'
local sg = require "sandglass"
local a = sg.args { "engine" }
local box = sg.sandbox { name = "c", backend = "container", image = "sgtest:latest", options = { engine = a.engine }, repo = "repo" }
local r = box:exec "cat a.txt; echo new >n.txt; rm a.txt; echo hi"
print("ran " .. (r and r.out or "not") .. "files " .. box:exec("echo *").out)
L
cat >ask.lua <<'L'
local p = require "sandglass.policy"
return p.rules { p.ask "first" { cmd = "cat a.txt", why = "a person looks" }, p.allow "rest" { kind = "exec" } }
L
mkdir -p bld/skip && printf 'FROM sgtest:latest\nCOPY . /ctx\nRUN echo ran >/ran\n' >bld/Dockerfile
printf '# no\nskip\n*.key\n!public.key\n' >bld/.dockerignore
touch bld/skip/x bld/private.key bld/public.key "bld/$(printf 'a%.0s' {1..120})"
cat >build.lua <<'L'
local sg = require "sandglass"
local a = sg.args { "engine" }
for _, how in ipairs { { build = "bld" }, { build = { dir = "bld", net = "none" } }, { image = { dir = "img" } },
    { build = { dir = "bad", net = "none" } } } do
  how.name, how.backend, how.options = "b", "container", { engine = a.engine }
  local ok, box = pcall(sg.sandbox, how)
  print(ok and "made " .. box:exec("cat /ran 2>&1; ls /ctx | cut -c1-12").out or "refused " .. tostring(box))
  if ok then box:close() end
end
L
# an image with Python, and what a Dockerfile has pip install from an index on this machine
cp -a img py
no_pip=$(env -i PATH=/usr/bin:/bin python3 "$here/../drivers/pip_image.py" root py 2>&1 | tail -n 1)
python3 "$here/../drivers/pip_image.py" index "$t/index" "$t/index.port" >index.log 2>&1 </dev/null &
index_pid=$!
mkdir pip && printf 'FROM sgpython:latest\nARG INDEX\nRUN python3 -m pip install --no-cache-dir --root-user-action=ignore --index-url "$INDEX" tiny\n' >pip/Dockerfile
cat >pip.lua <<'L'
local sg = require "sandglass"
local a = sg.args { "engine", "port" }
for _ = 1, 2 do
  local box <close> = sg.sandbox { name = "p", backend = "container", options = { engine = a.engine }, limits = { mem = "256MB" },
    build = { dir = "pip", net = "host", args = { INDEX = ("http://127.0.0.1:%s/simple"):format(a.port) } } }
  print("has " .. box:run("python3 -c 'import tiny; print(tiny.word)'").out)
end
L
mkdir agent bad && printf 'FROM sgtest:latest\nRUN echo no luck; exit 3\n' >bad/Dockerfile
git init -q repo && echo one >repo/a.txt && git -C repo add . && git -C repo commit -qm x
cat >bait.lua <<'L'
local sg = require "sandglass"
local a = sg.args { "engine" }
local box <close> = sg.sandbox { name = "c", backend = "container", image = "sgtest:latest", options = { engine = a.engine }, honeytokens = true }
print("there " .. box:exec("test -n \"$DEPLOY_TOKEN\" && test -s ~/.aws/credentials && stat -c '%a %u' ~/.npmrc; id -u").out)
box:exec "cat ~/.npmrc; cp ~/.aws/credentials taken"
L
cat >pause.lua <<'L'
local sg = require "sandglass"
local a = sg.args { "engine" }
for _ = 1, 3 do
  local box = sg.sandbox { name = "c", backend = "container", image = "sgtest:latest", options = { engine = a.engine } }
  box:freeze()
  box:close()
end
L
# An engine with stale data: its first answers to these report the earlier state.
cat >behind.py <<'P'
import socket, sys, threading
above, path, told = sys.argv[1:]
left = {b"/unpause": 3, b"/pause": 3, b"/containers/create": 3}
said = {b"/unpause": "Container x is not paused", b"/pause": "Container x is already paused", b"/containers/create": "Conflict. The name is in use"}
def stale(chunk):
    for what in left:
        if chunk.startswith(b"POST ") and what in chunk.split(b"\r\n")[0] and left[what]:
            left[what] -= 1
            with open(told, "ab") as f: f.write(what + b"\n")
            return b'{"message": "%s"}' % said[what].encode()
def relay(frm, to, look):
    try:
        while chunk := frm.recv(65536):
            body = look and stale(chunk)
            if body:
                frm.sendall(b"HTTP/1.1 409 Conflict\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
            else:
                to.sendall(chunk)
        to.shutdown(socket.SHUT_WR)
    except OSError:
        pass
s = socket.socket(socket.AF_UNIX)
s.bind(path)
s.listen(20)
while True:
    c, _ = s.accept()
    e = socket.socket(socket.AF_UNIX)
    e.connect(above)
    threading.Thread(target=relay, args=(c, e, True), daemon=True).start()
    threading.Thread(target=relay, args=(e, c, False), daemon=True).start()
P
cat >behind.lua <<'L'
local sg = require "sandglass"
local a = sg.args { "engine" }
local box <close> = sg.sandbox { name = "c", backend = "container", image = "sgtest:latest", options = { engine = a.engine } }
box:spawn "while :; do echo x >>ticks; sleep 0.05; done"
box:exec "sleep 0.3"
box:freeze()
local before = box:read "ticks"
sg.sleep "500ms"
print("stands still " .. tostring(before == box:read "ticks"))
box:thaw()
local r, err = box:exec("echo lives", { timeout = "30s" })
print("goes on " .. (r and r.out or tostring(err)))
L
# Some surroundings (a container without rights, say) have an engine that answers and cannot run anything: $cannot says why.
starts() { # socket
	local few='"Soft": 1024, "Hard": 1024' id
	id=$(ask "$1" -X POST -H 'Content-Type: application/json' http://x/v1.41/containers/create -d '{"Image": "sgtest:latest",
		"Cmd": ["true"], "HostConfig": {"NetworkMode": "none", "Ulimits": [{"Name": "nofile", '"$few"'}, {"Name": "nproc", '"$few"'}]}}' |
		grep -oE '"Id": ?"[0-9a-f]{64}' | tail -c 65)
	cannot=$(ask "$1" -X POST "http://x/v1.41/containers/${id:-none}/start" | tr -d '\n' | cut -c1-300)
	[ -n "$id" ] || cannot=${cannot:-nothing answers}
	ask "$1" -X DELETE "http://x/v1.41/containers/${id:-none}?force=1" >out
	[ -z "$cannot" ]
}
containers() { ask "$1" 'http://x/v1.41/containers/json?all=1' | grep -o '"Id"' | wc -l; }
use() { # name, socket
	wait_for 30 test -S "$2"
	wait_for 30 ask "$2" http://x/_ping
	tar -C img -c . | ask "$2" -X POST -H 'Content-Type: application/x-tar' --data-binary @- \
		'http://x/v1.41/images/create?fromSrc=-&repo=sgtest&tag=latest' >out
	starts "$2" || { skip "$1 starts no container here: $cannot"; return; }
	DOCKER_HOST=unix://$2 DRIVER_OPTIONS='{"image": "sgtest:latest"}' contract container "$1"
	conform container "$1" "{\"image\": \"sgtest:latest\", \"options\": {\"engine\": \"$2\"}}"
	local id=use-$1 out
	timeout 60 "$sg" run --no-tui --name "$id" use.lua -- "$2" 0 </dev/null >out 2>&1
	out=$("$sg" events "$id" 2>&1 | grep -E 'print|note')
	like "$out" 'profile container' "$1: a script opens one"
	out=$("$sg" events "$id" --json)
	like "$out" 'one\\n[0-9]+\\nlo\\ntouch: /x: Read-only file system' "$1: the repository is in it; no network, read-only root"
	like "$out" 'CapEff:\\t0000000000000000\\nNoNewPrivs:\\t1' "$1: no capabilities, no new ones, PID 1 lives"
	[ ! -x img/bin/calls ] || # outside of a sandbox they are reached: hostile/calls.sh
		like "$out" '"1[0-9]\\nshmget semget msgget "' "$1: no call is left to it that no sandbox has"
	like "$out" 'oom.t3.t1.tnil' "$1: what its memory limit kills is counted"
	is "$(containers "$2")" 0 "$1: no container is left"
	like "$(DOCKER_HOST=unix://$2 timeout 60 "$sg" run --no-tui bad.lua -- "$2" --image sgtest:none </dev/null 2>&1 | tail -1)" \
		"image 'sgtest:none'" "$1: an image that nobody has"
	if [ "$1" = docker ]; then # no device of that kind is here, and the engine reports it
		printf 'local sg = require "sandglass"\nlocal box <close> = sg.sandbox { name = "c", backend = "container", image = "sgtest:latest", options = { engine = "%s" }, limits = { gpu = 1 } }\n' "$2" >gpu.lua
		like "$(timeout 60 "$sg" run --no-tui gpu.lua </dev/null 2>&1 | tail -1)" 'gpu' "$1: a GPU is asked of the engine"
	fi
	# fake credentials
	timeout 60 "$sg" run --no-tui --name "bait-$1" bait.lua -- "$2" </dev/null >out 2>&1
	like "$("$sg" events "bait-$1" --json)" 'there 600 ([0-9]+)\\n\1\\n' "$1: honeytokens lie in its home, for its user alone"
	is "$("$sg" events "bait-$1" --json | grep '"kind":"honeytoken.seen"' | grep -oE 'c/(npm|aws) was seen in an? [a-z]+' | tr '\n' ' ')" \
		'c/npm was seen in an output c/aws was seen in a file ' "$1: one that turns up is seen"
	timeout 60 "$sg" run --no-tui --name "pause-$1" pause.lua -- "$2" </dev/null >out 2>&1
	is "$? $("$sg" events "pause-$1" --json | grep -oE '"kind":"box.(frozen|closed)"' | cut -d. -f2 | tr -d '"' | sort | uniq -c | tr -s ' \n' ' ')" \
		'0  3 closed 3 frozen ' "$1: closed while it is being paused: paused, then gone"
	is "$(containers "$2")" 0 "$1: without a container left"
	python3 behind.py "$2" "$t/behind-$1.sock" "$t/behind-$1.told" </dev/null >/dev/null 2>&1 &
	local behind=$!
	wait_for 30 test -S "$t/behind-$1.sock"
	timeout 90 "$sg" run --no-tui --name "behind-$1" behind.lua -- "$t/behind-$1.sock" </dev/null >out 2>&1
	out=$("$sg" events "behind-$1" --json)
	like "$out" 'stands still true' "$1: an engine that is behind: opened when the name is free, frozen when frozen"
	like "$out" 'goes on lives' "$1: and thawed"
	is "$(containers "$2")" 0 "$1: and nothing is left there"
	is "$(sort "$t/behind-$1.told" | uniq -c | tr -s ' ' | tr '\n' ',')" ' 3 /containers/create, 3 /pause, 3 /unpause,' "$1: each of them was answered from the past three times"
	kill $behind
	# a preview: tried on a copy of the box's files, which stay as they are; then exactly that is made so
	id=$("$sg" run -d try.lua --policy ask.lua -- "$2" </dev/null)
	held() { "$sg" state -S "$id" --json 2>/dev/null | grep -oE '"action": ?[0-9]+' | head -1 | grep -oE '[0-9]+'; }
	is_held() { [ -n "$(held)" ]; }
	wait_for 30 is_held
	local held=$(held)
	out=$("$sg" dry-run "$held" -S "$id" --json 2>&1)
	like "$out" '"end": ?"ok".*"code": ?0' "$1: a held command is tried"
	like "$out" '"op": ?"A", ?"path": ?"n.txt"|"path": ?"n.txt".*"op": ?"A"' "$1: and says what it would change"
	"$sg" apply "$held" -S "$id" >out 2>&1
	ok $? "$1: that is made so"
	over() { "$sg" events "$id" --json 2>/dev/null | grep -q '"kind":"session.end"'; } # not by an answer that may be late
	wait_for 30 over
	like "$("$sg" events "$id" --json | grep '"print"\|"note"')" 'ran one\\nhi\\nfiles n.txt' "$1: with the output of the try"
	# built from a Dockerfile, and from a root file system
	id=build-$1
	timeout 120 "$sg" run --no-tui --name "$id" build.lua -- "$2" </dev/null >out 2>&1
	out=$("$sg" events "$id" --json)
	like "$out" 'made ran\\nDockerfile\\naaaaaaaaaaaa\\npublic.key\\n' "$1: built from a Dockerfile; what is ignored is not in it"
	like "$out" '"built":\{"from":\[\{"name":"(docker.io/library/)?sgtest:latest","id":"[^"]*[0-9a-f]{64}".*"steps":3' "$1: from what, in how many steps"
	is "$(grep -c '"built":{"cached":true}' <<<"$out")" 1 "$1: the same content again is not built again"
	like "$out" 'made cat: ' "$1: a root file system of this machine"
	like "$out" 'refused .*build the image from .*bad/Dockerfile.*(3|no luck)' "$1: a Dockerfile that fails"
	if [ -n "$no_pip" ]; then
		skip "$1: RUN pip install: $no_pip"
	else
		tar -C py -c . | ask "$2" -X POST -H 'Content-Type: application/x-tar' --data-binary @- \
			'http://x/v1.41/images/create?fromSrc=-&repo=sgpython&tag=latest' >out
		wait_for 30 test -s "$t/index.port"
		timeout 120 "$sg" run --no-tui --name "pip-$1" pip.lua -- "$2" "$(cat "$t/index.port")" </dev/null >out 2>&1
		out=$("$sg" events "pip-$1" --json)
		is "$(grep -oE '"text":"has [a-z]+' <<<"$out" | tr '\n' ' ')" '"text":"has little "text":"has little ' "$1: RUN pip install from an index of our own"
		like "$out" '"built":\{"from":\[\{"name":"(docker.io/library/)?sgpython:latest","id":"[^"]*[0-9a-f]{64}' "$1: on a base that is recorded by its digest"
		is "$(grep -c '"built":{"cached":true}' <<<"$out")" 1 "$1: and once only"
	fi
	# an agent inside, whose prompt is part of an image: from the change to its first action
	out=$(DOCKER_HOST=unix://$2 timeout 120 "$sg" compare --patterns --image sgtest:latest 2>&1)
	like "$out" 'changed prompt to first action +[0-9.]+ ms +[0-9.]+ ms +.*an image built' "$1: compare --patterns builds an image for a changed prompt"
	printf 'FROM sgtest:latest\nARG PROMPT\nRUN echo "$PROMPT" >/AGENT.md\n' >agent/Dockerfile
	out=$(DOCKER_HOST=unix://$2 timeout 120 "$sg" run --no-tui "$here/../../lua/examples/patterns/prompt.lua" -- --n 2 --build agent </dev/null 2>&1)
	like "$out" 'agent inside +[0-9.]+ ms, a new image and box each time' "$1: and so does prompt.lua"
	# killed: nothing stays
	id=$("$sg" run -d use.lua -- "$2" 1 </dev/null)
	waits() { "$sg" events "$id" 2>/dev/null | grep -q 'waits'; }
	wait_for 30 waits
	ok $? "$1: two boxes are open"
	is "$("$sg" doctor --paths | grep -c "^elsewhere  *container  $2: sandglass-[0-9a-f]*$")" 2 "$1: doctor --paths names both containers"
	# another program interferes: the result is the same
	both() { ask "$sock" http://x/v1.41/containers/json?all=1 | grep -oE '"/?sandglass-[0-9a-f]+"' | tr -d '"/' | sort -u; }
	state_of() { for c in $(both); do ask "$sock" "http://x/v1.41/containers/$c/json" | grep -oE '"Paused": ?(true|false)'; done | grep -oE 'true|false' | sort | uniq -c | tr -s ' \n' ' '; }
	last_two() { "$sg" events "$id" --json | grep '"kind":"box.frozen"' | tail -2 | grep -c "\"frozen\":$1"; }
	frozen() { [ "$(last_two "$1")" = 2 ] && [ "$(state_of)" = " 2 $1 " ]; }
	local sock=$2 c
	"$sg" freeze -S "$id" >out 2>&1
	wait_for 30 frozen true
	ok $? "$1: frozen"
	for c in $(both); do ask "$2" -X POST "http://x/v1.41/containers/$c/unpause"; done >out
	"$sg" thaw -S "$id" >out 2>&1
	wait_for 30 frozen false
	ok $? "$1: thawed by another client, thawed"
	for c in $(both); do ask "$2" -X POST "http://x/v1.41/containers/$c/pause"; done >out
	"$sg" freeze -S "$id" >out 2>&1
	wait_for 30 frozen true
	ok $? "$1: frozen by another client, frozen"
	"$sg" thaw -S "$id" >out 2>&1
	wait_for 30 frozen false
	ok $? "$1: and thawed again"
	unlike "$("$sg" events "$id" --json | grep '"kind":"box.frozen"')" '"why"' "$1: none of that is an error"
	kill -9 "$("$sg" events "$id" --json | grep '"kind":"session.start"' | grep -oE '"pid":[0-9]+' | head -1 | grep -oE '[0-9]+')"
	none() { [ "$(containers "$1")" = 0 ]; }
	wait_for 30 none "$2"
	ok $? "$1: a supervisor is killed: its containers end and are gone"
	unnamed() { ! "$sg" doctor --paths | grep '^elsewhere' >out; }
	wait_for 30 unnamed # what closes a box unlinks its note after the engine has said that it is gone
	ok $? "$1: and doctor --paths names none ($(head -1 out))"
}
engine_pids=$index_pid
trap 'kill $engine_pids 2>/dev/null; wait $engine_pids 2>/dev/null; umount -q "$t"/docker/data/* 2>/dev/null; end_all' EXIT
if command -v podman >/dev/null; then
	# crun refuses a machine with both kinds of cgroups
	unshare -m sh -c "umount /sys/fs/cgroup/unified 2>/dev/null; exec podman --root $t/pod/root --runroot $t/pod/run system service --time=0 unix://$t/podman.sock" \
		>podman.log 2>&1 </dev/null &
	engine_pids="$engine_pids $!"
	use podman "$t/podman.sock"
else
	skip 'podman is not installed'
fi
if command -v dockerd >/dev/null; then
	dockerd --iptables=false --ip6tables=false --bridge=none --data-root "$t/docker/data" --exec-root "$t/docker/exec" \
		-H "unix://$t/docker.sock" -p "$t/docker.pid" >docker.log 2>&1 </dev/null &
	engine_pids="$engine_pids $!"
	use docker "$t/docker.sock"
else
	skip 'dockerd is not installed (package docker.io)'
fi
finish
