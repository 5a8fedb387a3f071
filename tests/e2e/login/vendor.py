#!/usr/bin/env python3
"""vendor.py DIR: a vendor's server with rotating tokens. DIR/valid: the token that counts; DIR/grant: the refresh token that counts (empty: none);
DIR/life: how long a new token lives, in seconds (8 hours without it); each request is a line of DIR/requests. Refresh tokens work once. Prints its port."""
import http.server, json, os, sys, threading
dir, lock = sys.argv[1], threading.Lock()


def read(name):
    return open(os.path.join(dir, name)).read().strip()


def write(name, text):
    with open(os.path.join(dir, name), "w") as f:
        f.write(text)


def life():  # of a token, in seconds
    return float(read("life")) if os.path.exists(os.path.join(dir, "life")) else 28800


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def give(self, status, body, type="application/json", headers={}):
        out = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", type)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(out)))
        self.end_headers()
        self.wfile.write(out)

    def do_GET(self):
        good = self.headers.get("authorization", "") == "Bearer " + read("valid")
        with lock, open(os.path.join(dir, "requests"), "a") as f:
            f.write(json.dumps({"path": self.path, "good": good, "account": self.headers.get("chatgpt-account-id")}) + "\n")
        if good and self.path.endswith("/echo"):  # gives the token back wherever it can
            token = read("valid")
            return self.give(200, {"token": token}, "text/x; token=" + token, {"x-token": token, "location": "/?token=" + token})
        self.give(200 if good else 401, {"accounts": [{"id": self.headers.get("chatgpt-account-id")}]})

    def do_POST(self):
        raw = self.rfile.read(int(self.headers.get("content-length", 0)))
        with lock:
            token = self.headers.get("authorization", "").removeprefix("Bearer ")
            good = token == read("valid")
            with open(os.path.join(dir, "requests"), "a") as f:
                f.write(json.dumps({"path": self.path, "good": good, "beta": self.headers.get("anthropic-beta"), "app": self.headers.get("x-app"),
                                    "account": self.headers.get("chatgpt-account-id"), "coding": self.headers.get("content-encoding"),
                                    "body": raw.decode(errors="replace"), "hex": raw[:4].hex()}) + "\n")
            if self.path == "/v1/oauth/token":
                if json.loads(raw)["refresh_token"] != read("grant") or not read("grant"):
                    return self.give(400, {"error": "invalid_grant"})
                n = int(read("grant").rpartition("-")[2]) + 1
                write("grant", "grant-%d" % n)
                write("valid", "token-REAL-%06d" % n)
                return self.give(200, {"access_token": "token-REAL-%06d" % n, "refresh_token": "grant-%d" % n, "expires_in": life()})
        if self.path == "/backend-api/codex/responses" and good:
            return self.give(200, {"id": "r", "object": "response", "status": "completed", "model": "m-1", "usage": {"input_tokens": 3, "output_tokens": 2},
                                   "output": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "from the plan"}]}]})
        if not good:
            return self.give(401, {"type": "error", "error": {"type": "authentication_error", "message": "not " + token}})
        self.give(200, {"id": "m", "type": "message", "role": "assistant", "model": "m-1", "content": [{"type": "text", "text": "from the plan"}],
                        "stop_reason": "end_turn", "usage": {"input_tokens": 3, "output_tokens": 2}})


s = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(s.server_port, flush=True)
s.serve_forever()
