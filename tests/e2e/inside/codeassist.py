#!/usr/bin/env python3
"""codeassist.py DIR MODEL_URL: the vendor's server for the login of a real Gemini CLI, in front of the scripted model (model.py), whose requests and
answers it has in an envelope. DIR/valid is the token that counts; each request is a line of DIR/requests. Prints its port."""
import http.server, json, os, sys, urllib.request
dir, model = sys.argv[1], sys.argv[2]
TIER = {"id": "standard-tier", "name": "standard", "description": "", "isDefault": True}
ANSWERS = {"loadCodeAssist": {"currentTier": TIER, "allowedTiers": [TIER], "cloudaicompanionProject": "project"},
           "onboardUser": {"done": True, "response": {"cloudaicompanionProject": {"id": "project"}}}}


class H(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def give(self, status, body, type="application/json"):
        self.send_response(status)
        self.send_header("content-type", type)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.do_POST()

    def do_POST(self):
        raw = self.rfile.read(int(self.headers.get("content-length", 0)))
        good = self.headers.get("authorization") == "Bearer " + open(os.path.join(dir, "valid")).read().strip()
        with open(os.path.join(dir, "requests"), "a") as f:
            f.write(json.dumps({"method": self.command, "path": self.path, "good": good}) + "\n")
        verb = self.path.partition(":")[2].partition("?")[0]
        if verb not in ("generateContent", "streamGenerateContent"):
            return self.give(200, json.dumps(ANSWERS.get(verb, {})).encode())
        body = json.loads(raw)
        url = "%s/v1beta/models/%s:%s" % (model, body["model"], self.path.partition(":")[2])
        rq = urllib.request.Request(url, json.dumps(body["request"]).encode(), {"x-goog-api-key": "sk-REAL-7731", "content-type": "application/json"})
        with urllib.request.urlopen(rq) as a:
            text, type = a.read().decode(), a.headers.get("content-type")
        if verb == "generateContent":
            return self.give(200, json.dumps({"response": json.loads(text)}).encode())
        events = [line[6:] for line in text.splitlines() if line.startswith("data: ")]
        self.give(200, "".join("data: %s\r\n\r\n" % json.dumps({"response": json.loads(e), "traceId": "t"}) for e in events).encode(), type)


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), H)
print(server.server_port, flush=True)
server.serve_forever()
