#!/usr/bin/env python3
"""For the scenarios "tasks-" of the conformance suite: a front of `sandglass mcp serve --http` that has the suite's tools and
calls ours in their place; all else passes unchanged. argv: URL of the server, then a command that ends its session. Prints its port."""
import http.client, json, subprocess, sys, threading, urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

url, end = urllib.parse.urlparse(sys.argv[1]), sys.argv[2:]


def ours(name, args):
    """The tool and arguments of ours for one of the suite."""
    if name == "slow_compute":
        seconds = args.get("seconds", 0)
        return "sandbox_exec", {"cmd": "sleep %d" % (seconds and max(seconds, 2))}
    if name == "failing_job":
        return "sandbox_exec", {"cmd": "sleep 9", "timeout_ms": 2000}
    if name == "protocol_error_job":
        threading.Timer(2, lambda: subprocess.run(end, capture_output=True)).start()
        return "sandbox_exec", {"cmd": "sleep 60"}
    return "sandbox_read", {"path": "greeting-%s" % args.get("name")}


class Front(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def ask(self, body, headers):
        conn = http.client.HTTPConnection(url.hostname, url.port, timeout=60)
        conn.request("POST", url.path, json.dumps(body), headers)
        return conn.getresponse()

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        headers = {k.lower(): v for k, v in self.headers.items() if k.lower() not in ("host", "content-length", "connection", "transfer-encoding")}
        params = body.get("params", {})
        name = params.get("name")
        if body["method"] == "tools/call" and not name.startswith("sandbox_"):
            who = params["arguments"].get("name")
            params["name"], params["arguments"] = ours(name, params["arguments"])
            if headers.get("mcp-name") == name:
                headers["mcp-name"] = params["name"]
            if params["name"] == "sandbox_read":   # one that is never a task
                params["_meta"] = {**params["_meta"], "io.modelcontextprotocol/clientCapabilities": {}}
            if name == "greet" and headers.get("mcp-method") == "tools/call":
                write = {"name": "sandbox_write", "arguments": {"path": "greeting-%s" % who, "content": "Hello, %s!" % who}, "_meta": params["_meta"]}
                self.ask({"jsonrpc": "2.0", "id": 0, "method": "tools/call", "params": write}, {**headers, "mcp-name": "sandbox_write"}).read()
        answer = self.ask(body, headers)
        data = answer.read()
        self.send_response(answer.status)
        for k, v in answer.getheaders():
            if k.lower() not in ("content-length", "transfer-encoding", "connection", "date", "server"):
                self.send_header(k, v)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


server = ThreadingHTTPServer(("127.0.0.1", 0), Front)
server.daemon_threads = True
print(server.server_port, flush=True)
server.serve_forever()
