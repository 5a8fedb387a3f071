#!/usr/bin/env python3
"""mcp_bridge.py FILE PROGRAM...: an MCP server that speaks on its standard input and output, offered over streamable HTTP
(one session, answers as events). The port goes into FILE when it listens."""
import json, os, subprocess, sys, threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

child = subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
waiting, lock = {}, threading.Lock()


def pump():
    for line in child.stdout:
        v = json.loads(line)
        with lock:
            box = waiting.pop(v.get("id"), None)
        if box:
            box.append(v)
            box[0].set()
    os._exit(1)   # it has ended, and so have we


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def say(self, status, body=b"", kind="application/json"):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Mcp-Session-Id", "one")
        self.end_headers()
        self.wfile.write(body)

    def do_DELETE(self):
        self.say(405)

    def do_POST(self):
        v = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        box = [threading.Event()]
        with lock:
            if "id" in v:
                waiting[v["id"]] = box
            child.stdin.write(json.dumps(v) + "\n")
            child.stdin.flush()
        if "id" not in v:
            return self.say(202)
        if not box[0].wait(60) or len(box) < 2:
            return self.say(504)
        self.say(200, b"event: message\ndata: " + json.dumps(box[1]).encode() + b"\n\n", "text/event-stream")


threading.Thread(target=pump, daemon=True).start()
server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
with open(sys.argv[1] + ".new", "w") as f:
    f.write(str(server.server_address[1]))
os.rename(sys.argv[1] + ".new", sys.argv[1])
server.serve_forever()
