#!/usr/bin/env python3
"""chatgpt.py DIR MODEL_URL: the vendor's server for the ChatGPT login of a real Codex, in front of the scripted model (model.py). DIR/valid is the
token that counts; each request is a line of DIR/requests. Prints its port."""
import http.server, json, os, subprocess, sys, urllib.request
dir, model = sys.argv[1], sys.argv[2]


def valid():
    return open(os.path.join(dir, "valid")).read().strip()


class H(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def note(self, **more):
        good = self.headers.get("authorization") == "Bearer " + valid()
        with open(os.path.join(dir, "requests"), "a") as f:
            f.write(json.dumps(dict(method=self.command, path=self.path, good=good, **more)) + "\n")

    def give(self, status, body, type="application/json"):
        self.send_response(status)
        self.send_header("content-type", type)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.note(account=self.headers.get("chatgpt-account-id"))
        if "accounts/check" in self.path:
            a = {"id": "acc-1", "workspace_backend_origin": "NO_CONSTRAINT", "account_routing_override": "NO_CONSTRAINT", "structure": "personal"}
            return self.give(200, json.dumps({"accounts": [a], "account_ordering": ["acc-1"], "default_account_id": "acc-1"}).encode())
        self.give(200, b"{}")

    def do_POST(self):
        raw = self.rfile.read(int(self.headers.get("content-length", 0)))
        self.note(coding=self.headers.get("content-encoding"))
        if not self.path.endswith("/responses"):
            return self.give(200, b"{}")
        if self.headers.get("content-encoding") == "zstd":
            raw = subprocess.run(["zstd", "-dqc"], input=raw, stdout=subprocess.PIPE, check=True).stdout
        body = json.loads(raw)
        for item in body["input"]:  # where this program's tools travel, in groups; a side question of the program offers one group only
            if item.get("type") == "additional_tools" and not body.get("tools") and len(item["tools"]) > 1:
                body["tools"] = [tool for group in item["tools"] for tool in group.get("tools", [group])]
        headers = {"authorization": "Bearer sk-REAL-7731", "content-type": "application/json"}
        with urllib.request.urlopen(urllib.request.Request(model + "/v1/responses", json.dumps(body).encode(), headers)) as a:
            self.give(200, a.read(), a.headers.get("content-type"))


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), H)
print(server.server_port, flush=True)
server.serve_forever()
