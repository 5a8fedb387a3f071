#!/usr/bin/env python3
"""An OTLP/HTTP collector that takes JSON and says whether it is right. Prints its port. FOLDER/mode says what it does: "ok",
a status such as "503", "partial", "page" (of somebody else), or "hang"; FOLDER/got has a line for each request: status, path, Authorization, body."""
import json, os, sys, threading, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

folder = sys.argv[1]
lock = threading.Lock()


def attributes(o):
    for a in o["attributes"]:
        (kind, value), = a["value"].items()
        assert kind in ("stringValue", "boolValue", "intValue", "arrayValue"), a
        assert kind != "intValue" or isinstance(value, str), a


def resource(r, scopes):
    assert set(r) == {"resource", scopes}, set(r)
    attributes(r["resource"])
    assert "service.name" in {a["key"] for a in r["resource"]["attributes"]}


def traces(doc):
    for r in doc["resourceSpans"]:
        resource(r, "scopeSpans")
        for s in (s for c in r["scopeSpans"] for s in c["spans"]):
            assert len(bytes.fromhex(s["traceId"])) == 16 and len(bytes.fromhex(s["spanId"])) == 8
            assert isinstance(s["kind"], int) and int(s["startTimeUnixNano"]) <= int(s["endTimeUnixNano"])
            attributes(s)


def metrics(doc):
    for r in doc["resourceMetrics"]:
        resource(r, "scopeMetrics")
        for m in (m for c in r["scopeMetrics"] for m in c["metrics"]):
            assert m["name"] and m["unit"] and ("sum" in m) != ("gauge" in m), m
            if "sum" in m:
                assert m["sum"]["aggregationTemporality"] == 2 and isinstance(m["sum"]["isMonotonic"], bool)
            point, = (m.get("sum") or m["gauge"])["dataPoints"]
            assert int(point["asInt"]) >= 0 and isinstance(point["asInt"], str)
            assert int(point["startTimeUnixNano"]) <= int(point["timeUnixNano"])


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        mode = open(os.path.join(folder, "mode")).read().strip()
        if mode == "hang":
            time.sleep(300)
        try:
            assert self.headers["Content-Type"] == "application/json"
            doc = json.loads(body)
            {"/in/v1/traces": traces, "/in/v1/metrics": metrics}[self.path](doc)
            status = int(mode) if mode.isdigit() else 200
        except Exception as e:
            doc, status = "%s: %s" % (type(e).__name__, e), 422
        with lock, open(os.path.join(folder, "got"), "a") as f:
            print(status, self.path, json.dumps(self.headers["Authorization"]), json.dumps(doc), sep="\t", file=f)
        answer = {"partialSuccess": {"rejectedSpans": "1", "errorMessage": "one is too old"}} if mode == "partial" else {}
        data = b"\n<html>log in first</html>" if mode == "page" else json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
print(server.server_address[1], flush=True)
server.serve_forever()
