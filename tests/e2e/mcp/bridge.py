#!/usr/bin/env python3
"""HTTP to pipes, for a suite that speaks HTTP only: argv is a server; prints its port. One child, requests one by one."""
import http.server, json, subprocess, sys, threading

child = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
lock = threading.Lock()


class Bridge(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *a):
        pass

    def reply(self, status, body=b""):
        self.send_response(status)
        if body:
            self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.reply(405)

    do_DELETE = do_GET

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        host, origin = self.headers.get("Host", ""), self.headers.get("Origin")
        local = ("localhost", "127.0.0.1")
        if host.split(":")[0] not in local or (origin and origin.split("//")[-1].split(":")[0] not in local):
            return self.reply(403)
        with lock:
            m = json.loads(body)
            child.stdin.write(json.dumps(m) + "\n")
            child.stdin.flush()
            if "id" not in m:
                return self.reply(202)
            while True:
                line = child.stdout.readline()
                a = json.loads(line)
                if a.get("id") == m["id"]:
                    break
        code = a.get("error", {}).get("code")
        modern = "io.modelcontextprotocol/protocolVersion" in m.get("params", {}).get("_meta", {})
        self.reply(200 if code is None or not modern else 404 if code == -32601 else 400, line.encode())


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Bridge)
print(server.server_port, flush=True)
server.serve_forever()
