#!/usr/bin/env bash
# One sg.map over sandboxes of several backends (process, container where Podman runs, hosted ones of two fakes). Each
# works in a fork of a fork, one dies and continues in another, and all are merged into one repository. Copied files
# keep their times.
. "$(dirname "$0")/../e2e/lib.sh"
need_boxes
command -v bwrap >/dev/null || { skip 'no bubblewrap for the fakes'; finish; }
need curl
sg=$SANDGLASS
cd "$t" || exit 1
pids=
trap 'for p in $pids; do kill "$p" 2>/dev/null; done; wait $pids 2>/dev/null; end_all' EXIT
for kind in e2b daytona; do
	python3 "$here/../fakes/$kind.py" "$t/$kind.port" </dev/null >"$kind.log" 2>&1 &
	pids="$pids $!"
done
kinds=process,e2b,daytona
busybox=$(command -v busybox)
if [ "$(id -u)" = 0 ] && command -v podman >/dev/null && [ -n "$busybox" ] && ! ldd "$busybox" >/dev/null 2>&1; then
	mkdir -p img/bin img/etc img/tmp img/workspace img/home/agent img/proc img/sys img/dev
	cp -L "$busybox" img/bin/busybox
	for a in $("$busybox" --list); do [ "$a" = busybox ] || ln -s busybox "img/bin/$a"; done
	echo 'root:x:0:0::/:/bin/sh' >img/etc/passwd
	unshare -m sh -c "umount /sys/fs/cgroup/unified 2>/dev/null; exec podman --root $t/pod/root --runroot $t/pod/run system service --time=0 unix://$t/podman.sock" \
		>podman.log 2>&1 </dev/null &
	pids="$pids $!"
	wait_for 30 curl -s -m 10 --unix-socket podman.sock http://x/_ping -o out
	tar -C img -c . | curl -s -m 60 --unix-socket podman.sock -X POST -H 'Content-Type: application/x-tar' --data-binary @- \
		'http://x/v1.41/images/create?fromSrc=-&repo=sgtest&tag=latest' >out
	if said=$(podman --remote --url "unix://$t/podman.sock" run --rm --network none --ulimit nofile=1024:1024 --ulimit nproc=1024:1024 sgtest:latest true 2>&1); then
		kinds=$kinds,container
	else
		skip "a container among them: $(tail -n 1 <<<"$said" | cut -c1-300)"
	fi
else
	skip 'a container among them: no Podman, or no static busybox for an image'
fi
wait_for 30 test -s e2b.port
wait_for 30 test -s daytona.port
at=http://127.0.0.1:$(cat e2b.port)
export E2B_API_KEY=e2b_00 E2B_API_URL=$at E2B_SANDBOX_URL=$at DAYTONA_API_KEY=dtn_test DAYTONA_API_URL=http://127.0.0.1:$(cat daytona.port)/api
git init -q repo && echo one >repo/a.txt && git -C repo add . && git -C repo commit -qm x
touch -d @1200000000 repo/a.txt
chmod -R a+rX repo
printf 'return require("sandglass.policy").rules { default = "allow" }\n' >allow.lua
cat >mixed.lua <<'L'
local sg = require "sandglass"
local a = sg.args { kinds = "", engine = "" }
local kinds = {}
for k in a.kinds:gmatch "[^,]+" do kinds[#kinds + 1] = k end
local function one(kind, i)
  local part = "part" .. i
  local made <close> = assert(sg.sandbox { name = "b" .. i, backend = kind, repo = "repo", on_lost = "restore",
    image = kind == "container" and "sgtest:latest" or nil, options = kind == "container" and { engine = a.engine } or nil })
  local said = { kind, "open", (assert(made:run("stat -c %Y a.txt")).out:gsub("\n", "")) }
  assert(made:run(("echo %s >%s"):format(kind, part)))
  local child <close> = assert(made:fork())
  local box <close> = assert(child:fork())
  for _, b in ipairs { child, box } do
    local age = assert(b:run(("stat -c %%Y a.txt; echo $(($(date +%%s) - $(stat -c %%Y %s)))"):format(part))).out
    local base, mine = age:match "^(%d+)\n(%-?%d+)"
    said[#said + 1] = ("fork %s %s"):format(base, math.tointeger(mine) < 600 and "recent" or mine)
  end
  if kind == "e2b" then
    print "dies now"
    local r, lost = box:exec "sleep 60"
    said[#said + 1] = "then " .. (r and "nothing" or lost.code) .. " " .. assert(box:run("cat a.txt " .. part)).out:gsub("\n", " ")
  end
  assert(box:run(("echo more >>%s"):format(part)))
  assert(box:merge { mode = "apply" })
  return table.concat(said, " ")
end
for _, line in ipairs(assert(sg.map(kinds, one))) do print("GOT " .. line .. " end") end
L
timeout 100 "$sg" run --no-tui --policy allow.lua --name mixed mixed.lua -- --kinds "$kinds" --engine "$t/podman.sock" </dev/null >out 2>&1 &
run=$!
dies() { "$sg" events mixed --json 2>/dev/null | grep -q '"text":"dies now"'; }
sleeps() { "$sg" events mixed | grep -q 'exec: sleep 60'; }
wait_for 60 dies
wait_for 30 sleeps
curl -s -m 20 "$at/_vanish" >vanished
wait $run
is $? 0 'a script works in boxes of several kinds at once'
said=$("$sg" events mixed --json | grep -oE '"text":"GOT [^"]*')
for kind in ${kinds//,/ }; do
	like "$said" "GOT $kind open 1200000000 fork 1200000000 recent fork 1200000000 recent" "$kind: files are as old as in the repository, in a fork and in a fork of it"
done
like "$said" 'GOT e2b .* then lost one e2b ' 'the dead one is reported and continues with its files'
part=0
for kind in ${kinds//,/ }; do
	part=$((part + 1))
	is "$(tr '\n' ' ' <"repo/part$part")" "$kind more " "$kind: what it made is in the repository"
done
none_left() { [ -z "$(curl -sf -m 20 "$at/_boxes")$(curl -sf -m 20 "http://127.0.0.1:$(cat daytona.port)/_boxes")" ]; }
wait_for 20 none_left
ok $? 'and no rented box is left'
"$sg" verify mixed >out 2>&1
is $? 0 'the record verifies'
finish
