#!/usr/bin/env python3
"""Drives `sandglass mcp serve --http` (argv: URL, TOKEN) and prints one line per check: "ok NAME" or "not ok NAME"."""
import http.client, json, socket, sys, threading, time, urllib.parse

url, token = urllib.parse.urlparse(sys.argv[1]), sys.argv[2]
META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "modern", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {}}
BOTH = "application/json, text/event-stream"


def check(good, name, got=None):
    print(("ok " if good else "not ok ") + name + ("" if good else "\t" + str(got)[:400]), flush=True)


class Answer:
    """Status, headers, JSON (or the message events of a stream) of one request."""

    def __init__(self, r, conn):
        self.r, self.conn, self.status, self.headers = r, conn, r.status, {k.lower(): v for k, v in r.getheaders()}
        self.ids, self.comments = [], 0

    def text(self):
        return self.r.read().decode()

    def json(self):
        return json.loads(self.text() or "null")

    def events(self):
        data, ident = [], None
        for line in self.r:
            line = line.decode().rstrip("\n")
            if line.startswith(":"):
                self.comments += 1
            elif line.startswith("id: "):
                ident = line[4:]
                self.ids.append(ident)
            elif line.startswith("data: ") and line[6:]:
                data.append(line[6:])
            elif not line and data:
                yield ident, json.loads("\n".join(data))
                data = []

    def close(self):
        self.conn.sock and self.conn.sock.shutdown(socket.SHUT_RDWR)
        self.conn.close()


def ask(method, body=None, headers=None, auth=True):
    conn = http.client.HTTPConnection(url.hostname, url.port, timeout=60)
    h = {"Accept": BOTH, "Content-Type": "application/json"}
    if auth:
        h["Authorization"] = "Bearer " + token
    h.update(headers or {})
    h = {k: v for k, v in h.items() if v is not None}
    conn.request(method, url.path, body if body is None or isinstance(body, (str, bytes)) else json.dumps(body), h)
    return Answer(conn.getresponse(), conn)


class Client:
    def __init__(self, name, version="2025-11-25"):
        r = ask("POST", {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": version, "capabilities": {}, "clientInfo": {"name": name, "version": "1"}}})
        self.session, self.first, self.nr = r.headers.get("mcp-session-id"), r.json(), 0
        self.h = {"Mcp-Session-Id": self.session, "MCP-Protocol-Version": version}
        self.note("notifications/initialized")

    def note(self, method, params=None):
        return ask("POST", {"jsonrpc": "2.0", "method": method, "params": params or {}}, self.h).status

    def post(self, method, params=None, ident=None, **headers):
        self.nr += 1
        return ask("POST", {"jsonrpc": "2.0", "id": self.nr if ident is None else ident, "method": method, "params": params or {}},
                   dict(self.h, **headers))

    def tool(self, which, **args):
        r = self.post("tools/call", {"name": which, "arguments": args})
        if r.headers["content-type"] == "application/json":
            return r.json()["result"]
        return [m for _, m in r.events()][-1]["result"]


def modern(method, params=None, ident=1, headers=None, **meta):
    p = dict(params or {}, _meta=dict(META, **meta))
    h = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method}
    if "name" in p:
        h["Mcp-Name"] = p["name"]
    h.update(headers or {})
    return ask("POST", {"jsonrpc": "2.0", "id": ident, "method": method, "params": p}, h)


def raw(*pieces, pause=0.05):
    s = socket.create_connection((url.hostname, url.port), timeout=20)
    for p in pieces:
        s.sendall(p if isinstance(p, bytes) else p.encode())
        time.sleep(pause)
    got = b""
    s.settimeout(0.7)
    try:
        while True:
            more = s.recv(65536)
            if not more:
                break
            got += more
    except socket.timeout:
        got += b" (open)"
    except ConnectionResetError:
        pass
    s.close()
    return got.decode(errors="replace")


# --- who may ask ---
ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
r = ask("POST", ping, auth=False)
check(r.status == 401 and "bearer" in r.headers["www-authenticate"].lower(), "without the token: 401", r.status)
for bad in ("Bearer " + token + "x", "Bearer " + token[:-1], "Bearer", "Basic " + token, token):
    r = ask("POST", ping, {"Authorization": bad})
    check(r.status == 401, "nor with " + bad.replace(token, "T").replace(token[:-1], "t"), r.status)
r = ask("POST", ping, {"Origin": "http://evil.example"})
check(r.status == 403, "a page of another origin: 403", r.status)
check(ask("POST", ping, {"Origin": "null"}).status == 403, "a page without an origin: 403")
check(ask("POST", ping, {"Origin": "http://localhost.evil.example"}).status == 403, "one that only begins like ours: 403")
check(ask("POST", ping, {"Origin": "http://localhost:3000"}).status == 400, "one of this machine is let in")
check(ask("POST", ping, {"Host": "evil.example:80"}).status == 403, "another name that leads here: 403")

# --- what is no request of ours ---
head = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\n" % token
check(ask("PUT", "{}").status == 405, "another method: 405")
check(ask("GET").status == 405, "GET without a session: 405")
check(ask("POST", "{}", {"Content-Type": "text/plain"}).status == 415, "no JSON by its name: 415")
check(ask("POST", "{}", {"Accept": "text/html"}).status == 406, "who takes no JSON: 406")
for name, body in (("no JSON", "{"), ("a batch", "[" + json.dumps(ping) + "]"), ("no message", '{"id":1}'), ("nothing", "")):
    r = ask("POST", body)
    check(r.status == 400 and r.json()["error"]["code"] in (-32700, -32600), name + ": 400 and a JSON-RPC error", r.status)
r = raw(head + "Content-Length: 5000000\r\n\r\n")
check(r.startswith("HTTP/1.1 413 "), "a body that is too long: 413, before it comes", r)
r = raw(head + "Transfer-Encoding: chunked\r\n\r\n", *["80000\r\n" + "x" * 0x80000 + "\r\n"] * 9)
check(r.startswith("HTTP/1.1 413 ") or not r, "nor in chunks", r[:100])
check(raw(head + "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}").startswith("HTTP/1.1 400 "), "two lengths: 400")
check(raw("GET / HTTP/1.1\r\n\r\n").startswith("HTTP/1.1 400 "), "no Host: 400")
check(raw("\x16\x03\x01\x02\x00\x01\r\n\r\n").startswith("HTTP/1.1 400 "), "TLS: 400")
check(raw("GET /" + "x" * 40000 + " HTTP/1.1\r\n\r\n").startswith("HTTP/1.1 431 "), "a head without an end: 431")
body = json.dumps(ping)
two = (head + "Content-Length: %d\r\n\r\n%s" % (len(body), body)) * 2
check(raw(two).count("HTTP/1.1 400 ") == 2, "two at once on one connection are answered one after the other")
r = raw(*(head + "Content-Length: %d\r\n\r\n%s" % (len(body), body)), pause=0.0005)
check(r.count("HTTP/1.1 400 ") == 1, "byte by byte", r)
r = raw(head + "Transfer-Encoding: chunked\r\n\r\n", *["1\r\n%s\r\n" % c for c in body], "0\r\n\r\n", pause=0.001)
check(r.count("HTTP/1.1 400 ") == 1 and "Mcp-Session-Id" in r, "in chunks", r)

# --- sessions ---
a = Client("first")
check(a.first["result"]["protocolVersion"] == "2025-11-25" and len(a.session) == 32, "initialize gives a session", a.first)
check(ask("POST", ping).status == 400, "without the session: 400")
check(ask("POST", ping, {"Mcp-Session-Id": "0" * 32}).status == 404, "with another: 404")
check(a.post("ping").json()["result"] == {}, "ping")
check(ask("POST", ping, dict(a.h, **{"MCP-Protocol-Version": "1999-01-01"})).status == 400, "a version that is not known: 400")
check(a.post("nope").json()["error"]["code"] == -32601, "no such method")
r = a.tool("sandbox_exec", cmd="echo one > f; expr 6 \\* 7")
check("42" in r["structuredContent"]["stdout"], "a tool", r)
b = Client("second", "2025-06-18")
check(b.first["result"]["protocolVersion"] == "2025-06-18", "another client, another version")
r = b.tool("sandbox_exec", cmd="cat f")
check(r["structuredContent"]["exit_code"] == 1, "has a sandbox of its own", r)
r = b.tool("sandbox_exec", cmd="true", sandbox_id=a.tool("sandbox_list")["structuredContent"]["sandboxes"][0])
c = b.tool("sandbox_list")["structuredContent"]["sandboxes"]
check(c == ["default-2"], "and sees no other", c)
o = b.tool("sandbox_create", name="mine")["structuredContent"]["sandbox_id"]
r = a.tool("sandbox_exec", cmd="true", sandbox_id=o)
check(r["isError"] and "sandbox not found" in r["content"][0]["text"], "nobody uses that of another", r)

# --- streams ---
r = a.post("tools/call", {"name": "sandbox_exec", "arguments": {"cmd": "sleep 2.5; echo late"}})
check(r.headers["content-type"] == "text/event-stream", "what takes longer comes as events", r.headers)
got = list(r.events())
check(got[-1][1]["result"]["structuredContent"]["stdout"] == "late\n", "and then its answer", got)
check(r.ids[0].endswith("-0") and r.ids[-1].endswith("-1"), "with ids", r.ids)

r = a.post("tools/call", {"name": "sandbox_exec", "arguments": {"cmd": "sleep 4; echo again"}}, ident="s1")
first = r.r.readline().decode().strip()
r.close()
check(first.startswith("id: "), "a stream that breaks off had an id", first)
check(a.post("ping", ident="s1").status == 400, "its request is still open: the id cannot be used again")
r = ask("GET", None, dict(a.h, **{"Last-Event-ID": first[4:]}))
got = list(r.events())
check(r.status == 200 and got[-1][1]["id"] == "s1" and got[-1][1]["result"]["structuredContent"]["stdout"] == "again\n",
      "GET takes it up again", got)
r = ask("GET", None, dict(a.h, **{"Last-Event-ID": first[4:]}))
got = list(r.events())
check(len(got) == 1 and got[0][1]["id"] == "s1", "and again, after its end", got)
check(ask("GET", None, dict(b.h, **{"Last-Event-ID": first[4:]})).status == 404, "but not from another session")
for bad in ("x", first[4:] + "9", "0123456789abcdef-0", "-1", "%s-99999999999999999999999" % first[4:20]):
    check(ask("GET", None, dict(a.h, **{"Last-Event-ID": bad})).status == 404, "nor an event that there is not: " + bad[-12:])

listen = ask("GET", None, a.h)
check(listen.status == 200 and listen.headers["content-type"] == "text/event-stream", "GET without an event listens")
check(ask("GET", None, a.h).status == 409, "once per session")
listen.close()

done = {}


def run(key, fn):
    t = threading.Thread(target=lambda: done.__setitem__(key, fn()))
    t.start()
    return t


t = run("c", lambda: a.post("tools/call", {"name": "sandbox_exec", "arguments": {"cmd": "sleep 50"}}, ident=777))
time.sleep(0.7)
check(a.note("notifications/cancelled", {"requestId": 777}) == 202, "a cancellation")
t.join(5)
check("c" in done and done["c"].status == 202, "ends the request without an answer", done)
many = [run(i, lambda i=i: a.tool("sandbox_exec", cmd="echo %d" % i)) for i in range(20)]
for t in many:
    t.join(60)
check([done[i]["structuredContent"]["stdout"] for i in range(20)] == ["%d\n" % i for i in range(20)], "twenty at once")

r = ask("DELETE", None, b.h)
check(r.status == 200, "DELETE ends a session", r.status)
check(b.post("ping").status == 404, "then it is not there any more: 404")
check(a.post("ping").status == 200, "the other one is")

# --- the new era ---
r = modern("server/discover")
check(r.status == 200 and "mcp-session-id" not in r.headers and "2026-07-28" in r.json()["result"]["supportedVersions"], "discover")
r = modern("tools/call", {"name": "sandbox_exec", "arguments": {"cmd": "echo new"}}).json()
check(r["result"]["structuredContent"]["stdout"] == "new\n" and r["result"]["resultType"] == "complete", "a tool, without a session", r)
check(modern("nope").status == 404, "no such method: 404")
for name, h in (("another version", {"MCP-Protocol-Version": "2025-11-25"}), ("no version", {"MCP-Protocol-Version": None}),
                ("another method", {"Mcp-Method": "tools/call"}), ("no method", {"Mcp-Method": None})):
    r = modern("tools/list", headers=h)
    check(r.status == 400 and r.json()["error"]["code"] == -32020, "headers that say something else: " + name, r.status)
for name, value in (("other", "sandbox_read"), ("none", None), ("broken", "=?base64?!!?=")):
    r = modern("tools/call", {"name": "sandbox_exec", "arguments": {"cmd": "true"}}, headers={"Mcp-Name": value})
    check(r.status == 400, "a name that is another: " + name, r.status)
r = modern("tools/call", {"name": "sandbox_exec", "arguments": {"cmd": "true"}}, headers={"Mcp-Name": "=?base64?c2FuZGJveF9leGVj?="})
check(r.status == 200, "a name in base64", r.status)
s = modern("subscriptions/listen", {"notifications": {"toolsListChanged": True}}, ident="sub")
kind = next(iter(s.events()))[1]["method"]
check(kind == "notifications/subscriptions/acknowledged", "subscriptions/listen", kind)
s.close()
conn = http.client.HTTPConnection(url.hostname, url.port, timeout=20)
p = {"name": "sandbox_exec", "arguments": {"cmd": "sleep 33"}, "_meta": META}
conn.request("POST", url.path, json.dumps({"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": p}), {
    "Authorization": "Bearer " + token, "Accept": BOTH, "Content-Type": "application/json",
    "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "sandbox_exec"})
time.sleep(0.7)
conn.sock.shutdown(socket.SHUT_RDWR)
conn.close()
time.sleep(0.7)
r = modern("tools/call", {"name": "sandbox_exec", "arguments": {"cmd": "pgrep -x -f 'sleep 33' || echo gone"}}).json()
check(r["result"]["structuredContent"]["stdout"] == "gone\n", "who hangs up has cancelled", r)

# --- a person ---
r = modern("tools/call", {"name": "sandbox_exec", "arguments": {"cmd": "echo HOLDME"}}, progressToken="p")
got = [m for _, m in r.events()]
said = [m["params"]["message"] for m in got if m.get("method") == "notifications/progress"]
check(any("pending approval" in m for m in said) and got[-1]["result"]["structuredContent"]["stdout"] == "HOLDME\n",
      "what is held says so, and runs when it is approved", got)

# --- bad company ---
idle = [socket.create_connection((url.hostname, url.port)) for _ in range(300)]
time.sleep(0.5)
for s in idle:
    s.close()
time.sleep(0.5)
check(a.post("ping").status == 200, "three hundred that say nothing")
slow = ask("POST", {"jsonrpc": "2.0", "id": 31, "method": "tools/call", "params": {
    "name": "sandbox_exec", "arguments": {"cmd": "head -c 30000000 /dev/zero | tr '\\0' x"}}}, a.h)
check(a.post("ping").status == 200, "one that does not read holds up nobody")
slow.close()
check(a.tool("sandbox_exec", cmd="echo still here")["structuredContent"]["stdout"] == "still here\n", "it is still here")
