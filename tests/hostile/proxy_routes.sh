#!/usr/bin/env bash
# Attempts of a sandbox to misuse a credential that it lacks: other spellings of a path, other methods in a header or a
# parameter, and a server that echoes the credential in its head or its body, in pieces or compressed.
. "$(dirname "$0")/../e2e/lib.sh"
sg=$SANDGLASS key=sk-REAL-4405-secret-value
export REAL=$key no_proxy=127.0.0.1,localhost
need_boxes
cd "$t" || exit 1
cat >server.py <<'P'
import gzip, http.server, sys, time
class H(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def any(self):
        key = self.headers.get("authorization", "")
        print(self.command, self.path, "with" if "REAL-4405" in key else "without", self.headers.get("x-http-method-override", "-"), file=log, flush=True)
        body = (key + " is what you sent\n").encode()
        self.send_response(200)
        if "gzip" in self.path:
            body = gzip.compress(body)
            self.send_header("content-encoding", "gzip")
        if "json" in self.path: self.send_header("content-type", "application/json")
        self.send_header("x-echo", key)
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        parts = [body] if "pieces" not in self.path else [body[i:i+3] for i in range(0, len(body), 3)]
        for p in parts:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(p), p)); self.wfile.flush()
            if len(parts) > 1: time.sleep(0.01)
        self.wfile.write(b"0\r\n\r\n")
    do_GET = do_POST = do_DELETE = do_PUT = any
    def log_message(self, *_): pass
log = open("log", "w")
s = http.server.ThreadingHTTPServer(("127.0.0.1", 0), H)
print(s.server_port, flush=True)
s.serve_forever()
P
python3 server.py >port 2>server.err &
server=$!
trap 'kill $server 2>/dev/null; end_all' EXIT
wait_for 30 test -s port
cat >in.lua <<'L'
local sg = require "sandglass"
local a = sg.args { port = "" }
local base, key = "http://127.0.0.1:" .. a.port, sg.secret "REAL"
local px <close> = sg.proxy { name = "out", routes = {
  some = { url = base, header = { authorization = { "Bearer ", key } }, allow = { "GET /open/*", "POST /open/*" } },
  all = { url = base, rewrite = true, header = { authorization = { "Bearer ", key } } },
} }
local box <close> = sg.sandbox { proxies = { px }, env = { SOME = px.urls.some, ALL = px.urls.all } }
local function get(what, words) print(what .. "=" .. assert(box:exec("curl -sS --path-as-is -i --max-time 20 " .. words .. " 2>&1 | tr '\\r\\n' '  '")).out) end
for i, p in ipairs { "/open/../closed", "/open/%2e%2e/closed", "/open/..%2fclosed", "/open/..%5cclosed", "/open/%252e%252e%252fclosed", "/open/..;/closed",
    "/open/..%3b/closed", "/open/..%20/closed", "/%6fpen/../closed", "/open//../../closed", "/open/\\../closed", "/closed" } do
  get("closed" .. i, ("'%s'"):format("$SOME" .. p):gsub("'", '"'))
end
get("plain", '"$SOME/%6fpen/./x"')
get("override", '-X POST -H "X-HTTP-Method-Override: DELETE" "$SOME/open/x"')
get("underscores", '-X POST -H "X_HTTP_Method_Override: DELETE" "$SOME/open/x"')
get("original", '-H "X-Original-URL: /closed" "$SOME/open/x"')
get("parameter", '-X POST "$SOME/open/x?_method=DELETE"')
get("body", '"$ALL/x"')
get("pieces", '"$ALL/pieces"')
get("gzip", '"$ALL/gzip"')
get("json", '"$ALL/json"')
box:exec 'curl -sS -o /dev/null --max-time 60 "$SOME/closed?[1-500]"'
L
printf 'return require "sandglass.policy".rules { default = "allow" }\n' >allow.lua
timeout 100 "$sg" run --no-tui --no-input --policy allow.lua in.lua -- --port "$(cat port)" >out 2>&1 </dev/null
is $? 0 'the script comes to its end'
note() { sed -n "s/.*$1=//p" out | head -1; }
is "$(grep -c closed log)" 0 'no spelling of a path outside the list reaches the server'
for i in {1..12}; do like "$(note "closed$i")" 'HTTP/1.1 403' "spelling $i is refused"; done
"$sg" events "$("$sg" ls --json 2>/dev/null | grep -oE '"s-[a-z0-9]+"' | head -1 | tr -d '"')" --json >events
is "$(python3 -c '
import json
refused = [e["body"] for e in map(json.loads, open("events")) if e["kind"] == "proxy.refused"]
print(sum(b.get("count", 1) for b in refused) >= 510, len(refused) < 60, len(refused) > 20)')" 'True True True' 'a loop of refused requests is counted, in few events'
like "$(note plain)" 'HTTP/1.1 200' 'an odd spelling of a listed path passes'
is "$(grep -c '^GET /open/x with' log)" 1 'and is sent in its one form'
is "$(grep -c 'DELETE' log)" 0 'no other method is asked for'
for w in override underscores original parameter; do like "$(note $w)" 'HTTP/1.1 403' "$w: refused"; done
for w in body pieces json; do
	like "$(note $w)" 'is what you sent' "$w: the answer comes"
	unlike "$(note $w)" 'REAL-4405' 'without the credential, in head and body'
done
unlike "$(note gzip)" 'is what you sent|REAL' 'an answer compressed against the request does not pass'
is "$(grep -c REAL-4405 out)" 0 'the credential is nowhere in what the session shows'
finish
