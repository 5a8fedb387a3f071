#!/usr/bin/env python3
"""acp_agent.py behind HTTP, as sandbox-agent serves one: each message is a POST, what the agent says comes as server-sent events
(from the one that last-event-id names on) and the answer to a request in its POST, too. Arguments: port, token."""
import json, os, subprocess, sys, threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

agent = subprocess.Popen([sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), "acp_agent.py")],
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
said, more = [], threading.Condition()


def listen():
    for line in agent.stdout:
        with more:
            said.append(json.loads(line))
            more.notify_all()
    os._exit(1)


class Handler(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def refused(self):
        if self.path.split("?")[0] == "/v1/acp/sandglass" and self.headers.get("authorization") == "Bearer " + sys.argv[2]:
            return False
        self.send_error(401)
        return True

    def do_POST(self):
        m = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.refused():
            return
        answer = b""
        with more:
            agent.stdin.write(json.dumps(m) + "\n")
            while "method" in m and "id" in m and not answer:
                answer = b"".join(json.dumps(a).encode() for a in said if "method" not in a and a.get("id") == m["id"])
                answer or more.wait()
        self.send_response(200 if answer else 202)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def do_GET(self):
        if self.refused():
            return
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        n = int(self.headers.get("last-event-id") or 0)
        while True:
            with more:
                while len(said) <= n:
                    more.wait()
            n += 1
            self.wfile.write(("id: %d\ndata: %s\n\n" % (n, json.dumps(said[n - 1]))).encode())
            self.wfile.flush()


threading.Thread(target=listen, daemon=True).start()
ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
