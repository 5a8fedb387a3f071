#!/usr/bin/env python3
"""Daytona's API (below /api) and its toolbox (below /toolbox), as far as the SDK and our plugin use them."""
import base64, hashlib, json, os, stat, struct, subprocess, sys, threading, time, uuid
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import fake
from fake import Refused


class DaytonaBox(fake.Box):
    def __init__(self, asked):
        super().__init__("/home/daytona")
        self.asked, self.state, self.born, self.sessions = asked, "creating", time.time(), {}
        self.id = str(uuid.uuid4())


class Session:
    def __init__(self, box):
        self.box, self.commands = box, {}


class Command:
    def __init__(self, box, text, session):
        self.id, self.text, self.out, self.err, self.code = uuid.uuid4().hex[:12], text, b"", b"", None
        self.process = box.start(["sh", "-c", text])
        self.lock = threading.Lock()
        self.readers = [threading.Thread(target=self.read, args=(f, n), daemon=True)
                        for f, n in ((self.process.stdout, "out"), (self.process.stderr, "err"))]
        for t in self.readers:
            t.start()
        threading.Thread(target=self.wait, daemon=True).start()

    def read(self, f, name):
        for line in f:  # as the real one: by lines, no NUL, always with an end
            line = line.replace(b"\0", b"")
            with self.lock:
                setattr(self, name, getattr(self, name) + (line if line.endswith(b"\n") else line + b"\n"))

    def wait(self):
        for t in self.readers:
            t.join()
        self.code = self.process.wait()


class Daytona(fake.Handler):
    def dto(self, b):
        a = b.asked
        if b.state == "creating" and time.time() - b.born > 0.15:
            b.state = "started"
        return {"id": b.id, "name": a.get("name", b.id), "organizationId": "o", "user": "daytona", "env": a.get("env", {}),
                "labels": a.get("labels", {}), "public": False, "target": a.get("target", "us"), "cpu": a.get("cpu", 1), "gpu": 0,
                "memory": a.get("memory", 1), "disk": a.get("disk", 3), "state": b.state, "autoStopInterval": 15,
                "networkBlockAll": a.get("networkBlockAll", False), "sandboxClass": a.get("sandboxClass") or "container", "toolboxProxyUrl": f"http://127.0.0.1:{self.port}/toolbox",
                "createdAt": "2026-01-01T00:00:00Z", "updatedAt": "2026-01-01T00:00:00Z", "snapshot": "base"}

    def box(self, ident):
        b = self.boxes.get(ident) or next((x for x in self.boxes.values() if x.asked.get("name") == ident), None)
        if not b:
            raise Refused(404, {"statusCode": 404, "message": f"Sandbox with ID or name {ident} not found", "error": "Not Found"})
        return b

    def answer(self, method, path, data):
        if path.startswith("/preview/"):
            _, _, ident, port, rest = (path + "/").split("/", 4)
            if self.headers.get("x-daytona-preview-token") != "preview-" + ident:
                raise Refused(401, {"message": "unauthorized: no preview token"})
            return self.lead(port, "/" + rest.rstrip("/"), data)
        if self.headers.get("Authorization") != "Bearer dtn_test":
            raise Refused(401, {"statusCode": 401, "message": "Invalid credentials", "error": "Unauthorized"})
        if path.startswith("/api/"):
            return self.control(method, path[4:], data)
        if path.startswith("/toolbox/"):
            ident, _, rest = path[9:].partition("/")
            b = self.box(ident)
            if b.state != "started":
                raise Refused(502, {"statusCode": 502, "message": "bad gateway: failed to resolve container IP", "source": "DAYTONA_PROXY"})
            return self.toolbox(b, method, "/" + rest, data)
        raise Refused(404, {"message": "Cannot " + method + " " + path})

    def control(self, method, path, data):
        w = path.strip("/").split("/")
        if w[0] != "sandbox":
            raise Refused(404, {"message": "not found"})
        if len(w) == 1 and method == "POST":
            asked = json.loads(data)
            if len(asked.get("name", "")) > 200:
                raise Refused(400, {"message": "name must be shorter than or equal to 200 characters"})
            b = DaytonaBox(asked)
            self.boxes[b.id] = b
            return self.say(200, self.dto(b))
        if len(w) == 1:
            want = json.loads(self.query.get("labels", "{}"))
            items = [self.dto(b) for b in self.boxes.values() if all(b.asked.get("labels", {}).get(k) == v for k, v in want.items())]
            return self.say(200, {"items": items, "nextCursor": None})
        b = self.box(w[1])
        if len(w) == 2 and method == "DELETE":
            d = self.dto(b)
            self.boxes.pop(b.id).end()
            return self.say(200, {**d, "state": "destroying"})
        if len(w) == 2:
            return self.say(200, self.dto(b))
        verb = w[2]
        if verb in ("stop", "pause", "start"):
            b.state = {"stop": "stopped", "pause": "paused", "start": "started"}[verb]
            return self.say(200, self.dto(b))
        if verb == "toolbox-proxy-url":
            return self.say(200, {"url": f"http://127.0.0.1:{self.port}/toolbox"})
        if verb == "ports":
            return self.say(200, {"sandboxId": b.id, "url": f"http://127.0.0.1:{self.port}/preview/{b.id}/{w[3]}", "token": "preview-" + b.id})
        return self.say(200, {})

    def toolbox(self, b, method, path, data):
        j = json.loads(data) if data[:1] == b"{" and "json" in self.headers.get("Content-Type", "") else {}
        w = path.strip("/").split("/")
        if w[:2] == ["process", "execute"]:
            p = b.start(["sh", "-c", j["command"]], j.get("cwd"), j.get("envs"), merge=True)
            out, _ = p.communicate()
            return self.say(200, {"exitCode": p.returncode, "result": out.decode(errors="replace")})
        if w[:2] == ["process", "session"]:
            return self.session(b, method, w[2:], j)
        if w[0] == "files":
            return self.files(b, method, w[1:], data)
        if w[0] in ("user-home-dir", "work-dir"):
            return self.say(200, {"dir": b.home})
        raise Refused(404, {"message": "no route " + path})

    def session(self, b, method, w, j):
        if not w:
            if method == "GET":
                return self.say(200, [{"sessionId": s, "commands": []} for s in b.sessions])
            if j["sessionId"] in b.sessions:
                raise Refused(409, {"message": "session already exists"})
            b.sessions[j["sessionId"]] = Session(b)
            return self.say(201, {})
        s = b.sessions.get(w[0])
        if not s:
            raise Refused(404, {"message": "session not found", "code": "SESSION_NOT_FOUND", "source": "DAYTONA_DAEMON"})
        if len(w) == 1 and method == "DELETE":
            del b.sessions[w[0]]
            return self.say(204)
        if len(w) == 1:
            return self.say(200, {"sessionId": w[0], "commands": [{"id": c.id, "command": c.text} for c in s.commands.values()]})
        if w[1] == "exec":
            c = Command(b, j["command"], s)
            s.commands[c.id] = c
            if j.get("runAsync") or j.get("async"):
                return self.say(202, {"cmdId": c.id})
            while c.code is None:
                time.sleep(0.005)
            return self.say(200, {"cmdId": c.id, "exitCode": c.code, "output": (c.out + c.err).decode(errors="replace"),
                                  "stdout": c.out.decode(errors="replace"), "stderr": c.err.decode(errors="replace")})
        c = s.commands.get(w[2])
        if not c:
            raise Refused(404, {"message": "command not found"})
        if len(w) == 4 and w[3] == "logs":
            with c.lock:
                out, err = c.out.decode(errors="replace"), c.err.decode(errors="replace")
            return self.say(200, {"output": "\1\1\1" + out + "\2\2\2" + err, "stdout": out, "stderr": err})
        d = {"id": c.id, "command": c.text}
        if c.code is not None:
            d["exitCode"] = c.code
        return self.say(200, d)

    def files(self, b, method, w, data):
        at = b.host_path(self.query.get("path", "/"))
        if w[:1] == ["download"]:
            if not os.path.isfile(at):
                raise Refused(404, {"message": "file not found", "code": "FILE_NOT_FOUND"})
            return self.say(200, open(at, "rb").read(), "application/octet-stream")
        if w[:1] == ["bulk-download"]:
            return self.bulk_download(b, json.loads(data)["paths"])
        if w[:1] in (["upload"], ["upload-v2"], ["bulk-upload"]):
            return self.upload(b, data)
        if w[:1] == ["folder"]:
            os.makedirs(at, exist_ok=True)
            return self.say(201, {})
        if w[:1] == ["info"]:
            return self.say(200, self.info(at))
        if method == "DELETE":
            os.remove(at)
            return self.say(204)
        return self.say(200, [self.info(os.path.join(at, n)) for n in sorted(os.listdir(at))])

    def info(self, at):
        if not os.path.exists(at):
            raise Refused(404, {"message": "file not found", "code": "FILE_NOT_FOUND"})
        s = os.stat(at)
        return {"name": os.path.basename(at), "size": s.st_size, "isDir": stat.S_ISDIR(s.st_mode), "mode": stat.filemode(s.st_mode),
                "modTime": "2026-01-01T00:00:00Z", "permissions": oct(s.st_mode & 0o777)[2:].zfill(4), "owner": "daytona", "group": "daytona"}

    def parts(self, data):
        boundary = self.headers["Content-Type"].split("boundary=")[1].strip('"').encode()
        for part in data.split(b"--" + boundary)[1:-1]:
            head, _, body = part[2:].partition(b"\r\n\r\n")
            name = head.split(b'name="')[1].split(b'"')[0].decode()
            yield name, body[:-2]

    def upload(self, b, data):
        path = self.query.get("path")
        for name, body in self.parts(data):
            if name.endswith("path"):
                path = body.decode()
            else:
                at = b.host_path(path)
                os.makedirs(os.path.dirname(at), exist_ok=True)
                open(at, "wb").write(body)
        return self.say(200, {})

    def bulk_download(self, b, paths):
        out = b""
        for p in paths:
            at = b.host_path(p)
            good = os.path.isfile(at)
            body = open(at, "rb").read() if good else json.dumps({"message": "file not found"}).encode()
            out += (b'--DAYTONA-FILE-BOUNDARY\r\nContent-Disposition: form-data; name="%s"; filename="%s"\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n'
                    % (b"file" if good else b"error", p.encode(), b"application/octet-stream" if good else b"application/json", len(body))) + body + b"\r\n"
        return self.say(200, out + b"--DAYTONA-FILE-BOUNDARY--\r\n", "multipart/form-data; boundary=DAYTONA-FILE-BOUNDARY")


fake.run(Daytona)
