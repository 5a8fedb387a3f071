#!/usr/bin/env bash
# Commands with bytes that aren't UTF-8, long commands, clones of the workspace into itself, and commands that stop the guest
# of a host sandbox: each runs, or its error names cause and remedy, and the next call works.
. "$(dirname "$0")/lib.sh"
need_boxes
cd "$t" || exit 1
printf 'return require("sandglass.policy").rules { default = "allow" }\n' >any.lua
cat >common.lua <<'L'
local sg = require "sandglass"
local function try(what, want, fn)
  local ok, v, e = pcall(fn)
  local got = tostring(ok and (v == nil and e or v) or v)
  local good = got == want or want:sub(1, 1) == "~" and got:find(want:sub(2), 1, true)
  print((good and "GOOD " or "BAD ") .. what .. (good and "" or (": %q"):format(got:sub(1, 200))))
end
local function out(r, e) return r and r.out .. r.err, e end
L
cat common.lua - >bytes.lua <<'L'
local box = sg.sandbox {}
try("bytes: an argument", "caf\xe9", function() return out(box:exec { "printf", "%s", "caf\xe9" }) end)
try("bytes: a command", "caf\xe9", function() return out(box:exec "printf caf\xe9") end)
try("bytes: a variable", "\xff\xfe", function() return out(box:exec("printf %s \"$X\"", { env = { X = "\xff\xfe" } })) end)
try("bytes: standard input", "\xff\0\xfe", function() return out(box:exec("cat", { stdin = "\xff\0\xfe" })) end)
try("bytes: a working directory", "/workspace/d\xe9\n", function() box:exec "mkdir d\xe9" return out(box:exec("pwd", { cwd = "d\xe9" })) end)
try("bytes: a path and a content", "y\xfe\xff", function() box:write("w\xe9", "x\xff") box:edit("w\xe9", "x", "y\xfe") return box:read "w\xe9" end)
try("bytes: a name in a list", "w\xe9", function() return box:glob "w*"[1] end)
try("bytes: a spawned command", "sp\xe9", function() return (box:spawn { "printf", "%s", "sp\xe9" }:read()) end)
try("bytes: a shell that stays", "sh\xe9", function() return out(box:shell():run "printf sh\xe9") end)
try("bytes: NUL in a command", "~'cmd' holds a NUL byte (byte 9)", function() return box:exec "printf a\0b" end)
try("bytes: NUL in an argument", "~an argument can't contain a NUL byte", function() return box:exec { "printf", "a\0b" } end)
local function long(n) return "cat >f <<'EOF'\n" .. ("0123456789\n"):rep(n // 11) .. "EOF\nwc -c <f" end
try("long: 200 KB", "199991\n", function() return out(box:exec(long(200000))) end)
try("long: 2 MB", "1999998\n", function() return out(box:exec(long(2000000))) end)
try("long: the text of sh -c", "199991\n", function() return out(box:exec { "sh", "-c", long(200000) }) end)
try("long: a spawned command", "199991\n", function() return (box:spawn(long(200000)):read()) end)
try("long: a shell that stays", "199991\n", function() return out(box:shell():run(long(200000))) end)
try("long: one word", "~put long texts in a file", function() return out(box:exec { "printf", "%s", ("x"):rep(200000) }) end)
try("long: 20 MB of standard input", "20000000\n", function() return out(box:exec("wc -c", { stdin = ("x"):rep(20000000) })) end)
try("the next call", "alive\n", function() return out(box:exec "echo alive") end)
L
git init -q repo && (cd repo && git config user.email a@b && git config user.name n && mkdir d && echo x | tee f >d/g && git add . && git commit -qm c && git gc -q && git clone -q . sub && mv sub nested && mkdir sub)
cat common.lua - >clone.lua <<'L'
local box = sg.sandbox { repo = "repo" }
local function clone(what, cmd) try("clone: " .. what, "0", function() return box:exec(cmd .. " && test -s copy/f && rm -rf copy").code end) end
for _, from in ipairs { ".", "./", "/workspace", "/workspace/", "/workspace/.", "../workspace", "file:///workspace/", ".git", "sub/..", "nested", "./nested/" } do
  clone(from, "git clone -q " .. from .. " copy && git -C copy pull -q")
end
clone("from below", "mkdir -p deep && (cd deep && git clone -q .. ../copy)")
clone("pushed into", "git clone -q /workspace/ copy && git -C copy push -q origin HEAD:refs/heads/of-clone && git cat-file -e of-clone")
box:exec "git bundle create -q b.bundle main"
for _, from in ipairs { "b.bundle", "./b.bundle", "/workspace/b.bundle" } do clone(from, "git clone -q -b main " .. from .. " copy") end
try("a directory is renamed", "R100\td/g\te/g\n", function() return box:exec("mv d e && git add -A d e && git diff --cached --name-status -M -- d e").out end)
try("no file is found twice", "/workspace/f\n", function() return box:exec("find / -xdev -path /proc -prune -o -name f -print 2>/dev/null; find /workspace /run -name f 2>/dev/null | grep -v /nested/").out end)
L
cat common.lua - >stop.lua <<'L'
local box = sg.sandbox { backend = "host", accept = "none" }
local STOP = "kill -STOP $PPID; sleep 1"
local function stopped() box:spawn(STOP) sg.sleep(0.3) end
try("stopped guest: a command", "0", function() return box:exec(STOP, { timeout = 5 }).code end)
try("stopped guest: the time limit holds", "~time is up", function() return box:exec(STOP .. "; sleep 9", { timeout = 2 }) end)
try("stopped guest: a shell", "0", function() return box:shell():run(STOP, { timeout = 5 }).code end)
try("stopped guest: the next command", "alive\n", function() stopped() return out(box:exec "echo alive") end)
try("stopped guest: a file", "kept", function() stopped() box:write("f", "kept") stopped() return box:read "f" end)
try("stopped guest: a snapshot and a copy", "kept", function() stopped() box:snapshot() stopped() return box:fork():read "f" end)
try("stopped guest: closed", "true", function() stopped() box:close() return true end)
box = sg.sandbox { backend = "host", accept = "none" }
try("killed guest", "~sandbox died", function() return box:exec("kill -9 $PPID; sleep 1", { timeout = 5 }) end)
try("killed guest: the next command", "~open another one", function() return box:exec "true" end)
L
try() { # script, how many
	timeout 100 "$SANDGLASS" run --no-tui --no-input --policy any.lua "$1" </dev/null >log 2>&1
	is $? 0 "$1 comes to its end"
	sed -n 's/.* note: //p' log | grep -a '^GOOD\|^BAD' >"$t/out"
	while read -r how what; do
		[ "$how" = GOOD ]
		ok $? "$what"
	done <"$t/out"
	is "$(grep -c . "$t/out")" "$2" "all of $1 was tried"
}
try bytes.lua 19
try clone.lua 18
try stop.lua 9
finish
