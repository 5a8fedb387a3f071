#!/usr/bin/env bash
# box:url: the host reaches a server in a sandbox through a port, which is an action. A denied action opens no port.
. "$(dirname "$0")/lib.sh"
accept_any
sg=$SANDGLASS
cd "$t" || exit 1
head -c 300000 /dev/urandom >any
cat >serve.lua <<'L'
local sg = require "sandglass"
local box = sg.sandbox { name = "web" }
local server = [[import socket
s = socket.create_server(("127.0.0.1", 8000))
silent = socket.create_server(("127.0.0.1", 8001))
print("up", flush=True)
while True:
    c, _ = s.accept()
    while piece := c.recv(65536): c.sendall(piece)
    c.close()]]
local p = assert(box:spawn { "python3", "-c", server })
p:read()
local url, err = box:url(8000)
print("url " .. (url or tostring(err)))
assert(box:url(8000) == url or not url)
print("silent " .. tostring(box:url(8001)))
print("odd " .. tostring(select(2, pcall(box.url, box, 70000))))
sg.ask { text = "done?" }
box:close()
print "closed"
sg.ask { text = "over?" }
L
printf 'return require("sandglass.policy").rules { default = "boxed", require("sandglass.policy").allow "it" { kind = "port", host = { "web:8000", "web:8001" } } }\n' >yes.lua
printf 'return require("sandglass.policy").rules { default = "boxed", require("sandglass.policy").deny "no" { kind = "port", say = "No way in." } }\n' >no.lua
cat >echo.py <<'P'
import socket, sys, threading
host, port = sys.argv[1].split("//")[1].split(":")
want = open("any", "rb").read()
def one(out):
    s = socket.create_connection((host, int(port)), 10)
    threading.Thread(target=lambda: (s.sendall(want), s.shutdown(socket.SHUT_WR))).start()
    got = b""
    while piece := s.recv(65536): got += piece
    out.append(got == want)
try:
    out = []
    for _ in range(3): one(out)
    print(out)
except OSError as e:
    print("refused", e.errno)
P
cat >knock.py <<'P'
import os, socket, sys
if len(sys.argv) > 2: os.setuid(int(sys.argv[2]))
host, port = sys.argv[1].split("//")[1].split(":")
try:
    s = socket.socket()
    s.settimeout(20)
    s.connect((host, int(port)))
    s.sendall(b"x")
    print("let in" if s.recv(1) else "turned away")
except OSError:
    print("turned away")
P
run() { # policy
	"$sg" run -d serve.lua ${accept:+--accept reduced} --policy "$1" </dev/null >id 2>"$t/out"
	id=$(cat id)
	wait_for 30 said url
	url=$(words url)
}
words() { "$sg" events "$id" --json | grep -oE "\"text\": ?\"$1 [^\"]*" | sed "s/.*\"$1 //" | head -1; }
said() { [ -n "$(words "$1")" ]; }
asked() { "$sg" state -S "$id" --json | grep -q "$1"; }
answer() { "$sg" answer -S "$id" "$("$sg" state -S "$id" --json | grep -oE '"(action|ask|id)": ?[0-9]+' | head -1 | grep -oE '[0-9]+')" yes >"$t/out" 2>&1; }
run yes.lua
if [ -n "$accept" ]; then
	like "$url" 'isolation level reduced' 'a sandbox without its own network reports this'
	finish
fi
like "$url" '^http://127\.0\.0\.1:[0-9]+$' 'it is an address on this machine'
is "$(python3 echo.py "$url")" '[True, True, True]' 'all bytes arrive in both directions, and both ends close, three times'
closed() { "$sg" events "$id" --json | grep -F '"kind":"port.closed"'; }
closed_times() { [ "$(closed | grep -c "$2")" = "$1" ]; }
wait_for 20 closed_times 3 '"connected":true.*"down_bytes":300000.*"up_bytes":300000\|"up_bytes":300000.*"down_bytes":300000'
is $? 0 'each connection is an event with what went both ways'
if [ "$(id -u)" = 0 ]; then
	is "$(python3 knock.py "$url" 12345)" 'turned away' 'another user of this machine is not let in'
	like "$(closed)" "another user's" 'with the reason'
else
	skip 'only root can be another user'
fi
silent=$(words silent)
cat >leave.py <<'P'
import socket, sys, time
host, port = sys.argv[1].split("//")[1].split(":")
s = socket.create_connection((host, int(port)), 10)
s.sendall(b"x")
s.shutdown(socket.SHUT_WR)
time.sleep(float(sys.argv[2]))   # until he is let in
s.close()
P
left() { closed | grep '"port":8001' | grep -q 'the client closed the connection'; }
for s in 0.5 2 5; do
	python3 leave.py "$silent" $s
	wait_for 5 left && break
done
left
ok $? 'who ends what he sends and then goes is noticed, though the server says nothing'
"$sg" pause -S "$id" >"$t/out" 2>&1
is "$(python3 knock.py "$url")" 'turned away' 'while it is paused nobody is let in'
"$sg" continue -S "$id" >"$t/out" 2>&1
is "$(python3 knock.py "$url")" 'let in' 'and then again'
"$sg" freeze -S "$id" >"$t/out" 2>&1
is "$(python3 knock.py "$url")" 'turned away' 'while the box is frozen nobody is let in'
"$sg" thaw -S "$id" >"$t/out" 2>&1
is "$(python3 knock.py "$url")" 'let in' 'and then again'
like "$(words odd)" 'invalid port: 70000' 'an invalid port'
like "$("$sg" events "$id" --json | grep action.requested)" '"kind":"port".*"host":"web".*"port":8000' 'it is an action of kind port'
wait_for 20 asked 'done?'
answer
wait_for 20 asked 'over?'
is "$(python3 echo.py "$url")" 'refused 111' 'after the sandbox is closed its port refuses connections'
"$sg" stop --now -S "$id" >"$t/out" 2>&1
run no.lua
like "$url" 'denied by rule no: No way in' 'a rule can deny it'
finish
