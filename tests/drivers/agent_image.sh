#!/usr/bin/env bash
# Agents in images of their own: named or built, by their command line and in their own interface, with the key outside; and over ssh.
. "$(dirname "$0")/../e2e/lib.sh"
sg=$SANDGLASS pids=
. "$(dirname "$0")/suite.bash"
need_boxes
need python3
cd "$t" || exit 1
here=$here/../e2e
. "$here/terminal/screen.bash"
key=sk-REAL-7731
export ANTHROPIC_API_KEY=$key no_proxy=127.0.0.1,localhost
unset DOCKER_HOST CONTAINER_HOST NO_COLOR
cleanup() { for p in $pids; do kill "$p" 2>/dev/null; done; [ -z "${sshd_pid:-}" ] || sshd_stop; wait 2>/dev/null; end_all; }
trap cleanup EXIT

# --- wrong words, before anything starts ---
wrong() { # words of run...
	"$sg" run "$@" </dev/null >"$t/out" 2>&1
	echo $?
}
mkdir empty
is "$(wrong --agent claude --image a --build empty -e x)" 2 "an image and a Dockerfile at once"
is "$(wrong --agent claude --backend process --image a -e x)" 2 "an image for a backend that has none"
is "$(wrong --agent claude --backend host --image a -e x)" 2 "an image for the host itself"
is "$(wrong --agent claude --option host=a -e x)" 2 "an option for a backend that has none"
is "$(wrong --agent claude --image a --option host -e x)" 2 "an option without a value"
is "$(wrong --image a -e x)" 2 "an image without an agent"
is "$(wrong --agent claude --build "$t/nowhere" -e x; ls "$HOME/.local/share/sandglass/sessions" 2>/dev/null)" 2 "a directory that is not there: no session"

git init -q repo && echo one >repo/a && git -C repo add . && git -C repo commit -qm first
printf '[{"bash":"echo hello > hello.txt; env | sort > env.txt"},{"text":"all is done"}]' >steps.json
python3 "$here/inside/model.py" steps.json log >port 2>model.err & pids="$pids $!"
wait_for 30 test -s port
export ANTHROPIC_BASE_URL=http://127.0.0.1:$(cat port)

# --- over ssh: a program that is there ---
if sshd_start; then
	printf 'return require("sandglass.policy").rules { default = "allow" }\n' >any.lua # the default asks for each command there
	cp "$here/terminal/fake_agent.py" repo/ && git -C repo add . && git -C repo commit -qm agent
	screen far "$sg" run -i --repo repo --backend ssh --option host=there --option "config=$t/ssh/config" --option "dir=$t/far" --policy any.lua -- python3 fake_agent.py ./log
	is "$(to far 'wait 100x30 90')" ok "ssh: its screen comes, in the size of the terminal"
	to far 'type hello\r' >/dev/null
	is "$(to far 'wait you said hello 30')" ok "ssh: typed keys arrive"
	to far 'size 70 20' >/dev/null
	is "$(to far 'wait 70x20 30')" ok "ssh: a new size, too"
	to far 'type quit\r' >/dev/null
	is "$(to far 'status 60')" 7 "ssh: its exit status is ours"
	to far end >/dev/null
else
	skip "ssh: ${no_sshd:-no keys for sshd}"
fi

# --- in a container ---
[ "$(id -u)" = 0 ] || { skip 'engines are started by root only'; finish; }
command -v podman >/dev/null || { skip 'podman is not installed'; finish; }
busybox=$(command -v busybox)
[ -n "$busybox" ] && ! ldd "$busybox" >/dev/null 2>&1 || { skip 'no static busybox for an image (package busybox-static)'; finish; }
mkdir -p img/bin img/etc img/tmp img/workspace img/home img/proc img/sys img/dev img/usr
cp -L "$busybox" img/bin/busybox
for a in $("$busybox" --list); do [ "$a" = busybox ] || ln -s busybox "img/bin/$a"; done
[ -e img/bin/bash ] || printf '#!/bin/sh\nexec sh "$@"\n' >img/bin/bash
printf '#!/bin/sh\n' >img/bin/git # the agent of our tests starts it beside its calls
chmod 755 img/bin/bash img/bin/git
ln -s ../bin img/usr/bin && echo 'root:x:0:0::/:/bin/sh' >img/etc/passwd
no_python=$(env -i PATH=/usr/bin:/bin python3 "$here/../drivers/pip_image.py" root img 2>&1 | tail -n 1)
[ -z "$no_python" ] || { skip "no image with Python: $no_python"; finish; }
unshare -m sh -c "umount /sys/fs/cgroup/unified 2>/dev/null; exec podman --root $t/pod/root --runroot $t/pod/run system service --time=0 unix://$t/podman.sock" \
	>podman.log 2>&1 </dev/null &
pids="$pids $!"
wait_for 30 test -S "$t/podman.sock"
export DOCKER_HOST=unix://$t/podman.sock
tar -C img -c . | curl -s -m 120 --unix-socket "$t/podman.sock" -X POST -H 'Content-Type: application/x-tar' --data-binary @- \
	'http://x/v1.41/images/create?fromSrc=-&repo=sgagent&tag=latest' >"$t/out"
printf 'local b <close> = require("sandglass").sandbox { backend = "container", image = "sgagent:latest" }\nb:run "true"\n' >try.lua
timeout 60 "$sg" run --no-tui try.lua </dev/null >"$t/out" 2>&1 || { skip "podman starts no container here: $(tail -1 "$t/out")"; finish; }
mkdir build && cp "$here/inside/agent.py" "$here/terminal/fake_agent.py" build/
cat >build/claude <<'S'
#!/bin/sh
[ "$1" = -p ] && exec python3 /opt/agent/agent.py "$@"
exec python3 /opt/agent/fake_agent.py /workspace/agent.log
S
printf 'FROM sgagent:latest\nCOPY . /opt/agent/\nRUN chmod 755 /opt/agent/claude\nENV PATH=/opt/agent:/usr/bin:/bin\n' >build/Dockerfile

s=$("$sg" run -d --agent claude --control print --model anthropic:m-1 --repo repo --build build -e 'do the thing' 2>"$t/out" </dev/null)
held() { "$sg" state -S "$s" --json 2>/dev/null | grep -oE '"action": ?[0-9]+' | head -1 | grep -oE '[0-9]+'; }
merge_asked() { [ -n "$(held)" ]; }
wait_for 90 merge_asked
rm -rf tree && "$sg" tree "$s" -o tree >"$t/out" 2>&1
is "$(cat tree/hello.txt 2>/dev/null)" hello "built from a Dockerfile: the agent of the image did its task"
like "$(cat tree/env.txt 2>/dev/null)" '^PATH=.*/opt/agent:' "with the image's own PATH"
is "$(grep -c "$key" tree/env.txt)" 0 "and a placeholder for a key"
like "$(tail -1 log)" '"good": true' "the model saw the real one"
"$sg" deny "$(held)" -S "$s" >"$t/out" 2>&1

s=$("$sg" run -i -d --agent claude --model anthropic:m-1 --repo repo --build build 2>"$t/out" </dev/null)
screen c "$sg" attach "$s"
is "$(to c 'wait fake agent 90')" ok "its own interface, from the image"
to c 'type ask me\r' >/dev/null
is "$(to c 'wait model: I will 60')" ok "it reaches its model"
to c 'type quit\r' >/dev/null
is "$(to c 'status 60')" 7 "its exit status is ours"
to c end >/dev/null
"$sg" verify "$s" >"$t/out" 2>&1
ok $? "the recording verifies"
s=$("$sg" run -i -d --repo repo --image sgagent:latest -- nowhere 2>"$t/out" </dev/null)
wait_for 60 sh -c '"$1" events "$2" --json | grep -q "\"kind\":\"session.end\""' - "$sg" "$s"
like "$(events "$s" | grep '"kind":"session.end"')" 'not found in the sandbox' "a program that the image lacks"
like "$(events "$s" | grep '"kind":"box.open"' | head -1)" 'container' "an image selects the container backend"
finish
