#!/usr/bin/env python3
"""An MCP server over HTTP that fails in the middle of things; the path says how. Prints its port.

argv[1]: a file that gets a line for each initialize ("init PATH"), each call ("call PATH TEXT") and each GET ("get PATH ID").
"""
import json, os, sys, threading, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

lock, sessions, calls, waiting = threading.Lock(), {}, {}, {}


def note(text):
    with lock, open(sys.argv[1], "a") as f:
        f.write(text + "\n")


def result(i, text):
    return {"jsonrpc": "2.0", "id": i, "result": {"content": [{"type": "text", "text": text}]}}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def give(self, status, body=b"", kind="application/json", **headers):
        body = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for k, v in headers.items():
            self.send_header(k.replace("_", "-"), v)
        self.end_headers()
        self.wfile.write(body)

    def begin(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True

    def event(self, text, ident=None):
        self.wfile.write((("id: %s\n" % ident if ident else "") + "data: " + text + "\n\n").encode())
        self.wfile.flush()

    def do_GET(self):
        how, ident = self.path.strip("/"), self.headers.get("Last-Event-ID", "")
        note("get %s %s" % (how, ident))
        if not ident:
            self.give(405)
            return
        i, n = waiting[how], int(ident) + 1
        self.begin()
        if n < 25:   # gets on by one event each time, then breaks off
            self.event(json.dumps({"jsonrpc": "2.0", "method": "notifications/progress",
                                   "params": {"progressToken": i, "progress": n}}), n)
            self.wfile.write(b"id: 9")   # in the middle of an id
        else:
            self.event(json.dumps(result(i, "at last")), n)

    def do_DELETE(self):
        self.give(200)

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        how, m = self.path.strip("/"), json.loads(body)
        i, method, session = m.get("id"), m.get("method"), self.headers.get("Mcp-Session-Id")
        if how == "html":
            self.give(200, b"<!DOCTYPE html><html><body>Welcome to the hotel</body></html>", "text/html; charset=utf-8")
        elif how == "gateway":
            self.give(502, b"<html><body>Bad gateway</body></html>", "text/html")
        elif how == "key" and self.headers.get("Authorization") != "Bearer " + os.environ.get("WANTED", "?"):
            self.give(401, b"a token is wanted")
        elif how == "silent":
            time.sleep(20)
        elif method == "initialize":
            note("init " + how)
            with lock:
                sessions[how] = sessions.get(how, 0) + 1
            self.give(200, {"jsonrpc": "2.0", "id": i, "result": {
                "protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": how, "version": "1"}}},
                Mcp_Session_Id="%s-%d" % (how, sessions[how]))
        elif i is None:
            self.give(202)
        elif session != "%s-%d" % (how, sessions.get(how, 0)):
            self.give(400, {"jsonrpc": "2.0", "id": i, "error": {"code": -32601, "message": "no such method"}})
        elif method == "tools/list":
            self.give(200, {"jsonrpc": "2.0", "id": i, "result": {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}})
        elif method == "tools/call":
            self.call(how, i, m["params"].get("arguments", {}).get("text", ""))
        else:
            self.give(400, {"jsonrpc": "2.0", "id": i, "error": {"code": -32601, "message": "no such method"}})

    def call(self, how, i, text):
        with lock:
            calls[how] = n = calls.get(how, 0) + 1
        if how == "forget" and n == 2:   # a new start: it knows no session
            with lock:
                sessions[how] += 100
            self.give(404, {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "no such session"}})
            return
        note("call %s %s" % (how, text))
        answer = json.dumps(result(i, "you said " + text)).encode()
        if how == "cut" and n == 2:
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer[:20])
            self.close_connection = True
        elif how == "stream" and n == 2:     # a stream without ids that ends early: nothing can be taken up
            self.begin()
            self.wfile.write(b"data: " + answer[:20])
        elif how == "resume":
            waiting[how] = i
            self.begin()
            self.wfile.write(b"id: 0\nretry: 20\ndata: \n\n")
        elif how == "trickle" and n == 2:
            self.begin()
            for c in answer.decode():
                self.wfile.write(b": still here\n" if c == "{" else b":")
                self.wfile.flush()
                time.sleep(0.2)
        elif how == "long" and n == 2:
            self.begin()
            self.wfile.write(b"data: ")
            for _ in range(100):
                self.wfile.write(b"x" * (1 << 20))
            self.wfile.write(b"\n\n")
        elif how == "body" and n == 2:
            self.give(200, b'{"jsonrpc":"2.0","id":%d,"result":"' % i + b"x" * (100 << 20) + b'"}')
        elif how == "page" and n == 2:
            self.give(200, b"<html><body>You have been logged out</body></html>", "text/html")
        elif how == "twice":
            self.begin()
            self.event(answer.decode())
            self.event(answer.decode())
            self.event(json.dumps(result(i + 1000, "of nobody")))
        else:
            self.give(200, answer)


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        pass


server = Server(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
