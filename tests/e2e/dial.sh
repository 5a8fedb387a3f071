#!/usr/bin/env bash
# The way in to a server in a sandbox. Both directions are recorded. A starting server is waited for, a missing one is
# an error, and a closing sandbox ends the connection. Rules apply to it, and it opens no way out.
. "$(dirname "$0")/lib.sh"
need_boxes
need python3
sg=$SANDGLASS
cd "$t" || exit 1
cat >dial.lua <<'L'
local sg = require "sandglass"
local http = require "sandglass.inside.http"
local box = sg.sandbox { name = "b" }
local py = [[
import http.server, time
class H(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *a): pass
    def do_POST(self):
        got = self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200); self.send_header("transfer-encoding", "chunked"); self.end_headers()
        for i in range(0, len(got), 3): self.wfile.write(b"%x\r\n%s\r\n" % (len(got[i:i+3]), got[i:i+3]))
        self.wfile.write(b"0\r\n\r\n")
    def do_GET(self):
        if self.path == "/gone":
            self.close_connection = True
            return
        self.send_response(200 if self.path == "/events" else 404); self.send_header("content-type", "text/event-stream"); self.send_header("connection", "close"); self.end_headers()
        for b in (b": hello\r\n\r\n", b"id: 7\nda", b"ta: one\n\ndata: two\r", b"\ndata: lines\r\n\r\n", b"event: x\rdata\r\r", b"data: never"): self.wfile.write(b); self.wfile.flush(); time.sleep(0.02)
time.sleep(0.3)
http.server.ThreadingHTTPServer(("127.0.0.1", 8123), H).serve_forever()
]]
local server = assert(box:spawn { "python3", "-u", "-c", py })
local c = http.new(box, 8123, { ["x-a"] = "b" })
c.wait = 20
local a = assert(c.ask("POST", "/echo", { text = ("long "):rep(2000) }))
print("ECHO", a.status, #a.json.text)
print("AGAIN", assert(c.ask("POST", "/echo", { n = 1 })).json.n)
local next_event = assert(c.events "/events")
for ev in next_event do print("EVENT", ev.id, ev.event, (ev.data:gsub("\n", "/"))) end
print("STATUS", select(2, c.events "/nothing"))
print("GONE", select(2, c.ask("GET", "/gone")))
c.close()
local n = assert(box:dial(81))
print("NOBODY", n:read(), select(2, n:wait()))
local open = assert(box:dial(8123))
open:write "GET"
local late = assert(box:dial(82, { wait = "60s" }))
sg.sleep(0.1)
box:close()
print("CLOSED", open:read())
print("LATE", late:read())
L
"$sg" run --no-tui --no-input dial.lua >"$t/out" 2>&1 </dev/null
is $? 0 "it runs to its end"
file=$(ls -t "$HOME"/.local/share/sandglass/sessions/*.glass | head -1)
out=$("$sg" events "$file" --json | python3 -c 'import json, sys
for e in map(json.loads, sys.stdin):
    if e["kind"] == "note": print(e["body"].get("text").replace("\t", " "))')
like "$out" '^ECHO 200 10000' "a server that is about to start is waited for; what was said comes back, in pieces"
like "$out" '^AGAIN 1' "on the same connection again"
events=$("$sg" events "$file" --json)
is "$(grep -c '"tool":"dial"' <<<"$events")" 6 "each connection is an action"
is "$(grep '^EVENT' <<<"$out" | tr '\n' '|')" 'EVENT 7 message one|EVENT 7 message two/lines|EVENT 7 x |' "server-sent events, however they are cut"
like "$out" '^STATUS .*answers 404 to /nothing' "no stream of events: an error that says so"
like "$out" '^GONE .*closed the connection' "one that closes instead of answering"
like "$out" '^NOBODY nil .*port 81.*refused' "nobody listens there"
like "$out" '^CLOSED nil' "a box that closes ends it"
like "$out" '^LATE nil' "and one that is tried again and again"
is "$(grep -c '"kind":"box.closed"' <<<"$events")" 1 "it closes once"
"$sg" verify "$file" >"$t/out" 2>&1
ok $? "the record verifies"
printf 'return require("sandglass.policy").rules { default = "boxed", require("sandglass.policy").deny "in" { kind = "connect", where = "box" } }\n' >no.lua
printf 'local b <close> = require("sandglass").sandbox {}\nlocal c = b:dial(80)\nprint("RULE", select(2, c:wait()))\n' >try.lua
"$sg" run --no-tui --no-input --policy no.lua try.lua >"$t/out" 2>&1 </dev/null
like "$(cat "$t/out")" 'connect DENIED by in: sandbox:80' "a rule can forbid it"
cat >frozen.lua <<'L'
local sg = require "sandglass"
for i = 1, 4 do
	local box = sg.sandbox { name = "f" .. i }
	assert(box:spawn { "sh", "-c", "while :; do date >> f; done" })
	local d = assert(box:dial(81, { wait = "60s" }))
	if i % 2 == 0 then box:freeze() end
	box:close()
	assert(not d:read())
end
L
timeout 60 "$sg" run --no-tui --no-input frozen.lua >"$t/out" 2>&1 </dev/null
is $? 0 "a frozen sandbox closes while a connection to it is being opened"
finish
