#!/usr/bin/env python3
"""E2B's control plane and, told apart by path, envd of every box (Connect-RPC as JSON), as far as SDK and plugin use them."""
import base64, json, os, shutil, signal, stat, struct, subprocess, sys, threading, time
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import fake
from fake import Refused


def envelope(j, flags=0):
    body = json.dumps(j).encode()
    return struct.pack(">BI", flags, len(body)) + body


class E2B(fake.Handler):
    def dto(self, b, detail=False):
        d = {"sandboxID": b.id, "templateID": b.asked["templateID"], "clientID": "c", "envdVersion": "0.6.2", "envdAccessToken": "tok-" + b.id,
             "trafficAccessToken": "traffic-" + b.id, "domain": None, "alias": "base"}
        return {**d, "startedAt": "2026-01-01T00:00:00Z", "endAt": "2026-01-01T01:00:00Z", "cpuCount": 2, "memoryMB": 512, "diskSizeMB": 1024,
                "metadata": b.asked.get("metadata", {}), "state": "paused" if b.asleep else "running"} if detail else d

    def box(self, ident):
        if ident not in self.boxes:
            raise Refused(404, {"code": 404, "message": f"sandbox \"{ident}\" doesn't exist or you don't have access to it"})
        return self.boxes[ident]

    def answer(self, method, path, data):
        if self.headers.get("E2b-Sandbox-Port", "49983") != "49983":
            b = self.boxes.get(self.headers.get("E2b-Sandbox-Id"))
            if not b or self.headers.get("e2b-traffic-access-token") != "traffic-" + b.id:
                raise Refused(403, {"message": "this sandbox takes no public traffic", "code": 403})
            return self.lead(self.headers["E2b-Sandbox-Port"], path, data)
        if path.startswith(("/process.", "/filesystem.", "/health")) or path == "/files":
            return self.envd(method, path, data)
        if self.headers.get("X-API-KEY") != "e2b_00":
            raise Refused(401, {"code": 401, "message": "Invalid API key"})
        w = [x for x in path.strip("/").split("/") if x != "v2"]
        if w[0] != "sandboxes":
            raise Refused(404, {"code": 404, "message": "path not found"})
        j = json.loads(data) if data else {}
        if len(w) == 1 and method == "POST":
            b = fake.Box("/home/user")
            b.asked, b.processes_by_pid = j, {}
            b.id = "i%x" % time.time_ns()
            self.boxes[b.id] = b
            return self.say(201, self.dto(b))
        if len(w) == 1:
            want = dict(x.split("=") for x in self.unquoted(self.query.get("metadata", "")).split("&") if x)
            return self.say(200, [self.dto(b, True) for b in self.boxes.values() if all(b.asked.get("metadata", {}).get(k) == v for k, v in want.items())])
        b = self.box(w[1])
        if len(w) == 2 and method == "DELETE":
            self.boxes.pop(b.id).end()
            return self.say(204)
        if len(w) == 2:
            return self.say(200, self.dto(b, True))
        if w[2] == "pause":
            if b.asleep:
                raise Refused(409, {"code": 409, "message": "already paused"})
            b.asleep = True
            return self.say(204)
        if w[2] == "connect":
            was, b.asleep = b.asleep, False
            return self.say(201 if was else 200, self.dto(b))
        if w[2] == "snapshots":
            return self.say(201, {"snapshotID": "snap", "names": []})
        return self.say(204)

    def unquoted(self, s):
        from urllib.parse import unquote
        return unquote(s)

    def envd(self, method, path, data):
        b = self.boxes.get(self.headers.get("E2b-Sandbox-Id"))
        if not b or b.asleep:
            raise Refused(502, {"sandboxId": self.headers.get("E2b-Sandbox-Id"), "message": "The sandbox was not found", "code": 502})
        if path == "/health":
            return self.say(204)
        if self.headers.get("X-Access-Token") != "tok-" + b.id:
            raise Refused(401, {"code": 401, "message": "unauthorized access, please provide a valid access token"})
        if path == "/files":
            return self.files(b, method, data)
        verb = path.split("/")[-1]
        if "connect+json" in self.headers["Content-Type"]:
            return self.start(b, json.loads(data[5:]))
        return self.unary(b, verb, json.loads(data or b"{}"))

    def wrong(self, status, code, message):
        raise Refused(status, {"code": code, "message": message})

    def start(self, b, j):
        pr = j["process"]
        p = b.start([pr["cmd"]] + pr.get("args", []), pr.get("cwd"), pr.get("envs"), stdin=subprocess.PIPE if j.get("stdin", True) else subprocess.DEVNULL)
        b.processes_by_pid[p.pid] = p
        send, lock = self.stream("application/connect+json"), threading.Lock()
        send(envelope({"event": {"start": {"pid": p.pid}}}))
        broken = []

        def pump(f, name):
            while piece := f.read1(32768):
                try:
                    with lock:
                        if not broken:
                            send(envelope({"event": {"data": {name: base64.b64encode(piece).decode()}}}))
                except OSError as e:
                    broken.append(e)
        threads = [threading.Thread(target=pump, args=a, daemon=True) for a in ((p.stdout, "stdout"), (p.stderr, "stderr"))]
        for t in threads:
            t.start()
        for t in threads:
            while t.is_alive() and not broken:
                t.join(0.02)
        if broken:
            raise ConnectionAbortedError
        code = p.wait()
        end = {"exited": code >= 0, "status": f"exit status {code}"}
        if code:
            end["exitCode"] = code
        send(envelope({"event": {"end": end}}))
        send(envelope({}, 2))
        send(None)

    def unary(self, b, verb, j):
        pid = (j.get("process") or {}).get("pid")
        p = b.processes_by_pid.get(pid)
        if verb == "List":
            return self.say(200, {"processes": [{"pid": k, "config": {"cmd": "x", "args": []}} for k, v in b.processes_by_pid.items() if v.poll() is None]})
        if verb in ("SendInput", "CloseStdin", "SendSignal"):
            if not p or p.poll() is not None:
                self.wrong(404, "not_found", "process not found")
            if verb == "SendInput":
                p.stdin.write(base64.b64decode(j["input"]["stdin"]))
                p.stdin.flush()
            elif verb == "CloseStdin":
                p.stdin.close()
            else:
                os.killpg(p.pid, signal.SIGKILL if "KILL" in j["signal"] else signal.SIGTERM)
            return self.say(200, {})
        at = b.host_path(j.get("path", "/"))
        if verb == "MakeDir":
            os.makedirs(at, exist_ok=True)
            return self.say(200, {"entry": self.entry(at, j["path"])})
        if not os.path.lexists(at):
            self.wrong(404, "not_found", "path not found")
        if verb == "Remove":
            shutil.rmtree(at) if os.path.isdir(at) else os.remove(at)
            return self.say(200, {})
        if verb == "ListDir":
            return self.say(200, {"entries": [self.entry(os.path.join(at, n), os.path.join(j["path"], n)) for n in sorted(os.listdir(at))]})
        return self.say(200, {"entry": self.entry(at, j["path"])})

    def entry(self, at, path):
        s = os.lstat(at)
        kind = "DIRECTORY" if stat.S_ISDIR(s.st_mode) else "SYMLINK" if stat.S_ISLNK(s.st_mode) else "FILE"
        return {"name": os.path.basename(path), "type": "FILE_TYPE_" + kind, "path": path, "size": str(s.st_size), "mode": s.st_mode & 0o777,
                "permissions": stat.filemode(s.st_mode), "owner": "user", "group": "user", "modifiedTime": "2026-01-01T00:00:00Z"}

    def files(self, b, method, data):
        path = self.query.get("path")
        if method == "GET":
            at = b.host_path(path)
            if not os.path.isfile(at):
                self.wrong(404, 404, f"path '{path}' does not exist")
            with open(at, "rb") as f:
                return self.say(200, f.read(), "application/octet-stream")
        if "multipart" in self.headers["Content-Type"]:
            boundary = self.headers["Content-Type"].split("boundary=")[1].strip('"').encode()
            head, _, body = data.split(b"--" + boundary)[1][2:].partition(b"\r\n\r\n")
            path, data = path or head.split(b'filename="')[1].split(b'"')[0].decode(), body[:-2]
        at = b.host_path(path)
        os.makedirs(os.path.dirname(at), exist_ok=True)
        with open(at, "wb") as f:
            f.write(data)
        return self.say(200, [{"path": path, "name": os.path.basename(path), "type": "file"}])


fake.run(E2B)
