#!/usr/bin/env python3
"""Runloop's devboxes, as far as the SDK (http2: false) and our plugin use them."""
import json, os, sys, threading, time
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import fake
from fake import Refused


class Execution:
    def __init__(self, box, j):
        self.id, self.out, self.err, self.code = j.get("command_id") or "ex-%d" % time.time_ns(), b"", b"", None
        self.process = box.start(["bash", "-c", j["command"]])
        self.readers = [threading.Thread(target=self.read, args=(f, n), daemon=True)
                        for f, n in ((self.process.stdout, "out"), (self.process.stderr, "err"))]
        for t in self.readers:
            t.start()
        self.ended = threading.Event()
        threading.Thread(target=self.wait, daemon=True).start()

    def read(self, f, name):
        while piece := f.read1(65536):
            setattr(self, name, getattr(self, name) + piece)

    def wait(self):
        for t in self.readers:
            t.join()
        self.code = self.process.wait()
        self.ended.set()


class Runloop(fake.Handler):
    def view(self, b):
        if b.status == "provisioning" and time.time() - b.born > 0.1:
            b.status = "running"
        return {"id": b.id, "status": b.status, "name": b.asked.get("name"), "metadata": b.asked.get("metadata") or {}, "create_time_ms": int(b.born * 1000),
                "end_time_ms": None, "launch_parameters": b.asked.get("launch_parameters") or {}, "capabilities": [], "state_transitions": []}

    def execution(self, b, e):
        lines = int(self.query.get("last_n", 100))
        out = e.out.decode(errors="replace").split("\n")
        v = {"devbox_id": b.id, "execution_id": e.id, "status": "running" if e.code is None else "completed"}
        if e.code is not None:
            v.update(exit_status=e.code, stdout="\n".join(out[-lines - 1:]), stderr=e.err.decode(errors="replace"), stdout_truncated=len(out) > lines + 1)
        return v

    def answer(self, method, path, data):
        if path.startswith("/tunnel/"):
            where, _, rest = path[8:].partition("/")
            port, _, ident = where.partition("-k")
            if self.headers.get("X-Runloop-Tunnel-Authorization") != "Bearer tunnel-secret-" + ident:
                raise Refused(401, {"message": "the tunnel wants its token"})
            return self.lead(port, "/" + rest, data)
        if self.headers.get("Authorization") != "Bearer ak_test":
            raise Refused(401, {"message": "Invalid API key"})
        w = path.strip("/").split("/")
        if w[:2] != ["v1", "devboxes"]:
            raise Refused(404, {"message": "no such route"})
        j = json.loads(data) if data[:1] == b"{" else {}
        if len(w) == 2 and method == "POST" or w[2:] == ["create_and_await_running"]:
            if len(j.get("name") or "") > 200:
                raise Refused(400, {"message": "name is too long"})
            same = self.headers.get("x-request-id")
            b = next((x for x in self.boxes.values() if x.request == same and same), None)
            if not b:
                b = fake.Box("/home/user")
                b.asked, b.born, b.status, b.executions, b.request = j, time.time(), "provisioning", {}, same
                b.id = "dbx_%d" % time.time_ns()
                self.boxes[b.id] = b
            return self.say(200, self.view(b))
        if len(w) == 2:
            return self.say(200, {"devboxes": [self.view(b) for b in self.boxes.values()], "has_more": False, "total_count": len(self.boxes)})
        b = self.boxes.get(w[2])
        if not b:
            raise Refused(404, {"message": "Devbox not found"})
        if len(w) == 3:
            return self.say(200, self.view(b))
        return getattr(self, w[3])(b, j, data, w[4:])

    def wait_for_status(self, b, j, *_):
        for _ in range(200):
            if self.view(b)["status"] in j["statuses"]:
                return self.say(200, self.view(b))
            time.sleep(0.01)
        raise Refused(408, {"message": "nothing happened"})

    def awake(self, b):
        if self.view(b)["status"] != "running":
            raise Refused(400, {"message": "devbox is " + b.status})

    def execute(self, b, j, *_):
        self.awake(b)
        e = b.executions.get(j.get("command_id"))
        if not e:
            e = Execution(b, j)
            b.executions[e.id] = e
        e.ended.wait(min(j.get("optimistic_timeout", 25), 3))
        self.say(200, self.execution(b, e))

    def execute_async(self, b, j, *_):
        self.awake(b)
        e = Execution(b, j)
        b.executions[e.id] = e
        self.say(200, self.execution(b, e))

    def executions(self, b, j, data, w):
        e = b.executions.get(w[0])
        if not e:
            raise Refused(404, {"message": "Execution not found"})
        if w[1:] == ["wait_for_status"] and not e.ended.wait(min(j.get("timeout_seconds", 25), 3)):
            raise Refused(408, {"message": "nothing happened"})
        if w[1:] and w[1].startswith("stream_"):
            return self.updates(e, "out" if "stdout" in w[1] else "err")
        self.say(200, self.execution(b, e))

    def updates(self, e, name):
        send, at = self.stream("text/event-stream"), int(self.query.get("offset", 0))
        while True:
            over = e.ended.is_set()
            piece = getattr(e, name)[at:]
            if piece:
                send(b"data: " + json.dumps({"output": piece.decode(errors="replace"), "offset": at}).encode() + b"\n\n")
                at += len(piece)
            elif over:
                return send(None)
            time.sleep(0.01)

    def upload_file(self, b, j, data, *_):
        boundary = self.headers["Content-Type"].split("boundary=")[1].strip('"').encode()
        parts = {}
        for part in data.split(b"--" + boundary)[1:-1]:
            head, _, body = part[2:].partition(b"\r\n\r\n")
            parts[head.split(b'name="')[1].split(b'"')[0]] = body[:-2]
        self.put(b, parts[b"path"].decode(), parts[b"file"])

    def put(self, b, path, bytes_):
        at = b.host_path(path)
        os.makedirs(os.path.dirname(at), exist_ok=True)
        with open(at, "wb") as f:
            f.write(bytes_)
        self.say(200, {})

    def write_file_contents(self, b, j, *_):
        self.put(b, j["file_path"], j["contents"].encode())

    def read_file_contents(self, b, j, *_):
        self.fetch(b, j["file_path"], "text/plain")

    def download_file(self, b, j, *_):
        self.fetch(b, j["path"], "application/octet-stream")

    def fetch(self, b, path, kind):
        at = b.host_path(path)
        if not os.path.isfile(at):
            raise Refused(404, {"message": "file not found"})
        with open(at, "rb") as f:
            self.say(200, f.read(), kind)

    def shutdown(self, b, *_):
        v = self.view(b)
        self.boxes.pop(b.id).end()
        self.say(200, {**v, "status": "shutdown"})

    def suspend(self, b, *_):
        b.status = "suspended"
        self.say(200, self.view(b))

    def resume(self, b, *_):
        b.status = "running"
        self.say(200, self.view(b))

    def keep_alive(self, b, *_):
        self.say(200, {})

    def enable_tunnel(self, b, j, *_):
        self.say(200, {"tunnel_key": "k" + b.id, "auth_mode": j.get("auth_mode", "open"), "auth_token": "tunnel-secret-" + b.id})

    def snapshot_disk(self, b, *_):
        self.say(200, {"id": "snp_1", "source_devbox_id": b.id, "create_time_ms": 1, "metadata": {}})


fake.run(Runloop)
