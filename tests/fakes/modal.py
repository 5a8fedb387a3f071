#!/usr/bin/env python3
"""Modal's sandboxes, as far as the SDK (modal 0.11, sandboxes of the second kind) and our plugin use them: gRPC, of which
node does HTTP/2 (h2.mjs). Messages are dictionaries by field number; the numbers are those of the SDK.

Beyond fake.py: GET /_expire: credentials are of no use any more; GET /_echo: until /_calm refusals say the credential back;
GET /_timeless: lists do not say when a box was made; GET /_blind: until /_calm lists have no box; GET /_strict: from now on who asks
for the output of what has not begun yet is refused; GET /_images: those that are files of a box."""
import base64, json, os, re, shutil, struct, subprocess, sys, threading, time
from urllib.parse import quote
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import fake
from fake import Refused

CODES = {400: 3, 401: 16, 403: 7, 404: 5, 409: 6, 412: 9, 429: 8, 503: 14, 504: 4}
SUCCESS, FAILURE, TERMINATED = 1, 2, 3
SECRETS = {"github": {"GITHUB_TOKEN": "of-the-vault"}}


class Float(float):
    pass


def varint(n):
    out = b""
    n &= (1 << 64) - 1
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def encode(message):
    out = b""
    for number, values in message.items():
        for v in values if isinstance(values, list) else [values]:
            if v is None:
                continue
            if isinstance(v, Float):
                out += varint(number << 3 | 5) + struct.pack("<f", v)
            elif isinstance(v, float):
                out += varint(number << 3 | 1) + struct.pack("<d", v)
            elif isinstance(v, int):
                out += varint(number << 3) + varint(v)
            else:
                v = encode(v) if isinstance(v, dict) else v.encode() if isinstance(v, str) else v
                out += varint(number << 3 | 2) + varint(len(v)) + v
    return out


class Message(dict):
    """Field number -> list of what stood there."""
    def __init__(self, data):
        at = 0

        def number():
            nonlocal at
            n = shift = 0
            while True:
                n |= (data[at] & 127) << shift
                shift += 7
                at += 1
                if not data[at - 1] & 128:
                    return n
        while at < len(data):
            key = number()
            if key & 7 == 0:
                v = number()
            else:
                n = {1: 8, 5: 4}.get(key & 7) or number()
                v, at = data[at:at + n], at + n
            self.setdefault(key >> 3, []).append(v)

    def text(self, n):
        return self.get(n, [b""])[-1].decode()

    def int(self, n):
        return self.get(n, [0])[-1]

    def bytes(self, n):
        return self.get(n, [b""])[-1]

    def each(self, n):
        return [Message(v) for v in self.get(n, [])]

    def one(self, n):
        return Message(self.bytes(n))

    def pairs(self, n):
        return {m.text(1): m.text(2) for m in self.each(n)}


def jwt(of):
    part = lambda j: base64.urlsafe_b64encode(json.dumps(j).encode()).decode().rstrip("=")
    return ".".join((part({"alg": "none"}), part({"of": of, "exp": int(time.time()) + 3600}), "c2lnbmF0dXJl"))


FS_TOOLS = r"""
import json, os, shutil, sys
(verb, a), = json.loads(sys.argv[1]).items()
kind = lambda s: "symlink" if os.path.stat.S_ISLNK(s.st_mode) else "directory" if os.path.stat.S_ISDIR(s.st_mode) else "file"
def entry(p):
    s = os.lstat(p)
    return {"name": os.path.basename(p), "path": p, "type": kind(s), "size": s.st_size, "mode": s.st_mode & 0o7777,
            "permissions": "", "owner": "root", "group": "root", "modified_time": int(s.st_mtime)}
try:
    p = a["path"]
    if verb == "ReadFile": sys.stdout.buffer.write(open(p, "rb").read())
    elif verb == "WriteFile":
        os.makedirs(os.path.dirname(p), exist_ok=True)
        open(p, "wb").write(sys.stdin.buffer.read())
    elif verb == "ListFiles": print(json.dumps([entry(os.path.join(p, n)) for n in os.listdir(p)]))
    elif verb == "Stat": print(json.dumps(entry(p)))
    elif verb == "MakeDirectory": os.makedirs(p) if a.get("parents") else os.mkdir(p)
    elif verb == "Remove": shutil.rmtree(p) if a.get("recursive") and os.path.isdir(p) else os.remove(p)
except OSError as e:
    print(json.dumps({"error_kind": "NotFound" if e.errno == 2 else "Other", "message": str(e), "detail": ""}), file=sys.stderr)
    sys.exit(1)
"""


class Execution:
    """Its output is kept, so that it can be read again from any offset."""
    def __init__(self, box, id_, argv, cwd, env, merge, pipe):
        if argv[0] == "/__modal/.bin/modal-sandbox-fs-tools":
            argv = ["python3", "-c", FS_TOOLS] + argv[1:]
        self.files = [os.path.join(box.dir, "exec-%s.%d" % (re.sub("[^0-9a-f-]", "", id_), fd)) for fd in (0, 1)]
        self.taken, self.shut, self.lock = 0, False, threading.Lock()
        out, err = (open(f, "wb") for f in self.files)
        self.process = subprocess.Popen(box.words(argv, cwd, {**box.env, **env}), stdin=subprocess.PIPE, start_new_session=True,
                                        stdout=out if pipe else subprocess.DEVNULL, stderr=out if merge else err,
                                        env={"PATH": os.environ["PATH"]})
        box.processes.append(self.process)
        out.close()
        err.close()

    def take(self, offset, data, eof):
        with self.lock:
            data = data[max(0, self.taken - offset):]
            self.taken += len(data)
            try:
                self.process.stdin.write(data)
                self.process.stdin.flush()
                if eof and not self.shut:
                    self.shut = True
                    self.process.stdin.close()
            except OSError:
                pass


class Modal(fake.Handler):
    port, access, lock = 0, {}, threading.Lock()
    images, secrets, strict, echo, timeless, blind = {}, dict(SECRETS), False, False, False, False

    @classmethod
    def front(cls, port):
        pem = sys.argv[1] + ".pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                        "-subj", "/CN=fake", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", pem, "-out", pem + ".crt"],
                       check=True, stderr=subprocess.DEVNULL)
        with open(pem, "a") as key, open(pem + ".crt") as certificate:
            key.write(certificate.read())
        cls.bridge = subprocess.Popen(["node", os.path.join(os.path.dirname(os.path.abspath(__file__)), "h2.mjs"), str(port), pem],
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        cls.behind = port
        return int(cls.bridge.stdout.readline())

    def own(self, path):
        if path == "/_expire":
            for b in self.boxes.values():
                b.jwt = jwt("another")
            self.access.clear()
            return "ok\n"
        if path in ("/_echo", "/_calm"):
            Modal.echo = path == "/_echo"
            Modal.blind = False
        if path == "/_blind":
            Modal.blind = True
            return "ok\n"
        if path == "/_timeless":
            Modal.timeless = True
            return "ok\n"
        if path == "/_strict":
            Modal.strict = True
            return "ok\n"
        if path == "/_images":
            return "".join(i + "\n" for i, at in self.images.items() if isinstance(at, str))
        return "ok\n" if path == "/_echo" else super().own(path)

    # --- frames ---

    def say(self, status, body=b"", kind="application/json", headers=None):
        """Refusals become those of gRPC."""
        if self.path.startswith("/_") or status < 400:
            return super().say(status, body, kind, headers)
        message = body.get("message", "") if isinstance(body, dict) else str(body)
        self.send_response(200)
        self.send_header("Content-Type", "application/grpc")
        self.send_header("Content-Length", "0")
        self.send_header("grpc-status", str(CODES.get(status, 13)))
        self.send_header("grpc-message", quote(message))
        if status == 429:
            policy = encode({1: "type.googleapis.com/modal.client.RPCRetryPolicy", 2: encode({1: Float(0.05)})})
            self.send_header("grpc-status-details-bin", base64.b64encode(encode({1: 8, 2: message, 3: policy})).decode())
        self.end_headers()

    def begin(self):
        if self.fault == "lost":
            raise ConnectionAbortedError
        piece = self.stream("application/grpc")

        def send(message, status=0):
            if message is not None:
                data = encode(message)
                piece(b"\0" + struct.pack(">I", len(data)) + data)
            else:
                self.wfile.write(b"0\r\ngrpc-status: %d\r\n\r\n" % status)
        return send

    def reply(self, message):
        send = self.begin()
        send(message)
        send(None)

    def connect(self, path, data):
        _, _, id_, port, rest = path.split("/", 4)
        token = self.boxes[id_].connect.get(port)
        if not token or self.headers["Authorization"] != "Bearer " + token:
            return super().say(401, {"message": "the port wants its token"})
        self.lead(port, "/" + rest, data)

    def answer(self, method, path, data):
        if path.startswith("/connect/"):
            return self.connect(path, data)
        _, service, rpc = path.split("/")
        router = service.endswith("TaskCommandRouter")
        do = getattr(self, rpc, None)
        if not do or method != "POST" or self.headers["Content-Type"] not in ("application/grpc", "application/grpc+proto") or self.headers["TE"] != "trailers":
            raise Refused(501, {"message": "no such method: " + path})
        frames = []
        while data:
            n = struct.unpack(">I", data[1:5])[0]
            frames.append(Message(data[5:5 + n]))
            data = data[5 + n:]
        m = frames[0]
        if router:
            first = m.one(1) if rpc == "TaskExecStdinWriteStream" else m
            b = self.of_task(first.text(1))
            if self.headers["Authorization"] != "Bearer " + b.jwt:
                raise Refused(401, {"message": "token is invalid or has expired"})
            do(b, frames if first is not m else m)
            return
        if (self.headers["x-modal-token-id"], self.headers["x-modal-token-secret"]) != ("ak-test", "as-test"):
            raise Refused(401, {"message": "Token ID is malformed or unknown"})
        # only who has fetched a token says it (the SDK of Python does not), and then it must be the right one
        if rpc != "AuthTokenGet" and self.headers.get("x-modal-auth-token", self.access.get("token")) != self.access.get("token"):
            raise Refused(401, {"message": "no auth token"})
        do(m)

    def of_task(self, id_):
        for b in self.boxes.values():
            if b.task == id_:
                return b
        raise Refused(404, {"message": "task %s not found" % id_})

    def box(self, m):
        b = self.boxes.get(m.text(1))
        if not b:
            raise Refused(404, {"message": "Sandbox with ID %s not found" % m.text(1)})
        return b

    # --- the control plane ---

    def AuthTokenGet(self, m):
        with self.lock:
            self.access.setdefault("token", jwt("client %d" % time.time_ns()))
        self.reply({1: self.access["token"]})

    def AppGetOrCreate(self, m):
        if self.echo:
            raise Refused(400, {"message": "bad auth " + self.headers["x-modal-auth-token"]})
        self.reply({1: "ap-" + re.sub("[^A-Za-z0-9]", "", m.text(1))})

    AppGetByDeploymentName = AppGetOrCreate

    def EnvironmentGetOrCreate(self, m):
        self.reply({1: "en-1", 2: {1: "main", 2: {1: "2025.06"}}})

    def ImageGetOrCreate(self, m):
        lines = [c.decode() for c in m.one(2).get(6, [])]
        lines += ["ARG %s=%s" % a for a in m.one(2).pairs(22).items()]
        id_ = "im-%x" % (hash("\n".join(lines)) & (1 << 60) - 1)
        fresh = id_ not in self.images
        self.images.setdefault(id_, lines)
        self.reply({1: id_} if fresh else {1: id_, 2: self.built(id_)})

    def built(self, id_):
        lines = self.images[id_]
        bad = isinstance(lines, list) and [x for x in lines if x.startswith("FROM ") and "missing" in x]
        if isinstance(lines, list) and "ARG which=this" in lines and "RUN fail" in lines:
            return {1: FAILURE, 2: "step 2 failed, with " + lines[-1]}
        return {1: FAILURE, 2: "no such image: " + bad[0][5:]} if bad else {1: SUCCESS}

    def ImageJoinStreaming(self, m):
        send = self.begin()
        send({2: {1: "Step 1/1\n"}, 3: "1-0"})
        send({1: self.built(m.text(1)), 3: "2-0", 4: 1})
        send(None)

    def ImageDelete(self, m):
        at = self.images.pop(m.text(1), None)
        if at is None:
            raise Refused(404, {"message": "no such image"})
        if isinstance(at, str):
            shutil.rmtree(at, ignore_errors=True)
        self.reply({})

    def ImageFromId(self, m):
        self.reply({1: m.text(1)})

    def SecretGetOrCreate(self, m):
        name = m.text(1)
        if m.int(4) == 5:
            name = "ephemeral-%d" % time.time_ns()
            self.secrets[name] = m.pairs(5)
        lacks = [k.decode() for k in m.get(7, []) if k.decode() not in self.secrets.get(name, {})]
        if name not in self.secrets:
            raise Refused(404, {"message": "Secret '%s' not found in environment 'main'" % name})
        if lacks:
            raise Refused(412, {"message": "Secret '%s' is missing key(s): %s" % (name, ", ".join(lacks))})
        self.reply({1: "st-" + name})

    def env_of(self, sources):
        env = {}
        for s in sources:
            env.update(self.secrets[s.text(1)[3:]] if 1 in s else s.one(2).pairs(1))
        return env

    def router(self, b):
        asked = self.headers.get("Host", "").partition(":")[2]   # a relay in front of it has another port
        return {1: b.jwt, 2: "https://127.0.0.1:%d" % (int(asked) if asked.isdigit() else self.port)}

    def SandboxCreateV2(self, m):
        d = m.one(2)
        name, image = d.text(30), self.images.get(d.text(3))
        if image is None:
            raise Refused(404, {"message": "Image with ID %s not found" % d.text(3)})
        if d.int(7) < 1 or d.int(7) > 86400:
            raise Refused(400, {"message": "timeout must be between 1 and 86400 seconds"})
        network = d.one(22).int(1)
        if network == 2 and 20 in d and d.one(20).get(1):
            raise Refused(400, {"message": "open ports need a network"})
        with self.lock:
            if name and any(b.name == name for b in self.boxes.values()):
                raise Refused(409, {"message": "Sandbox with name '%s' already exists" % name})
            b = fake.Box("/root")
            b.id = "sb-v2%x" % time.time_ns()
            b.task, b.name, b.app, b.made, b.runs, b.network = "ta-" + b.id[3:], name, m.text(1), time.time(), {}, network
            self.boxes[b.id] = b
        if isinstance(image, str):
            for part in ("workspace", "tmp", "home"):
                subprocess.run(["cp", "-a", image + "/" + part + "/.", b.dir + "/" + part], check=True)
        b.tags = m.pairs(4)
        b.connect = {}
        b.env, b.jwt = self.env_of(m.each(6)), jwt(b.id)
        b.ports = [p.int(1) for p in d.one(20).each(1)]
        self.reply({1: b.id, 2: [self.tunnel(b, p) for p in b.ports], 3: b.task, 5: self.router(b), 6: "st-" + b.jwt})

    def tunnel(self, b, port):
        return {1: "%s-%d.w.modal.host" % (b.task, port), 2: 443, 5: port}

    def SandboxGetTunnelsV2(self, m):
        b = self.box(m)
        self.reply({1: {1: SUCCESS}, 2: [self.tunnel(b, p) for p in b.ports]})

    def SandboxGetTaskIdV2(self, m):
        self.reply({1: self.box(m).task})

    def SandboxGetCommandRouterAccess(self, m):
        self.reply(self.router(self.box(m)))

    def SandboxCreateConnectTokenV2(self, m):
        b, port = self.box(m), m.int(3)
        b.connect[str(port)] = jwt("port %d" % port)
        self.reply({1: "http://127.0.0.1:%d/connect/%s/%d" % (self.behind, b.id, port), 2: b.connect[str(port)]})

    def SandboxWaitV2(self, m):
        end = time.time() + struct.unpack("<f", m.get(2, [b"\0\0\0\0"])[0])[0]
        while m.text(1) in self.boxes and time.time() < end:
            time.sleep(0.02)
        if m.text(1) in self.boxes:
            return self.reply({})
        self.reply({1: {1: TERMINATED, 3: 137}})

    def SandboxTerminateV2(self, m):
        b = self.boxes.pop(m.text(1), None)
        if b:
            b.end()
        self.reply({})

    def SandboxListV2(self, m):
        tags, before = m.pairs(5), struct.unpack("<d", m.get(2, [struct.pack("<d", 0)])[0])[0] or time.time() + 9
        found = [b for b in self.boxes.values() if b.app == m.text(1) and b.made < before and tags.items() <= b.tags.items()]
        found = [] if self.blind else sorted(found, key=lambda b: -b.made)[:2]
        self.reply({1: [{1: b.id, 3: None if self.timeless else b.made, 5: b.app, 6: [{1: k, 2: v} for k, v in b.tags.items()], 7: b.name} for b in found]})

    def SandboxTagsSetV2(self, m):
        self.boxes[m.text(2)].tags = m.pairs(3)
        self.reply({})

    def SandboxTagsGetV2(self, m):
        b = self.boxes[m.text(2)]
        self.reply({1: [{1: k, 2: v} for k, v in b.tags.items()]})

    def SandboxGetFromNameV2(self, m):
        for b in self.boxes.values():
            if b.name == m.text(1):
                return self.reply({1: b.id})
        raise Refused(404, {"message": "no such sandbox"})

    # --- the router ---

    def run_of(self, b, m):
        end = time.time() + (0 if self.strict else 1)
        while m.text(2) not in b.runs and time.time() < end:
            time.sleep(0.002)
        if m.text(2) not in b.runs:
            raise Refused(404, {"message": "exec %s not found" % m.text(2)})
        return b.runs[m.text(2)]

    def TaskExecStart(self, b, m):
        argv = [w.decode() for w in m.get(3, [])]
        if sum(map(len, argv)) > 1 << 16:
            raise Refused(400, {"message": "arguments are too long"})
        with self.lock:
            if m.text(2) not in b.runs:
                b.runs[m.text(2)] = Execution(b, m.text(2), argv, m.text(7), self.env_of(m.each(13)), m.int(5) == 2,
                                              m.int(4) == 1)
        self.reply({})

    def deadline(self):
        t = self.headers.get("grpc-timeout")
        return time.time() + int(t[:-1]) * {"S": 1, "m": 1e-3, "M": 60, "H": 3600, "u": 1e-6, "n": 1e-9}[t[-1]] if t else 1e18

    def TaskExecStdioRead(self, b, m):
        x, end = self.run_of(b, m), self.deadline()
        send = self.begin()
        with open(x.files[m.int(4)], "rb") as f:
            f.seek(m.int(3))
            while True:
                over = x.process.poll() is not None
                while piece := f.read(1 << 16):
                    send({1: piece})
                if over:
                    return send(None)
                if time.time() > end:
                    return send(None, 4)
                time.sleep(0.004)

    def ended(self, x):
        code = x.process.returncode
        return {} if code is None else {1: code} if code >= 0 else {2: -code}

    def TaskExecWait(self, b, m):
        x, end = self.run_of(b, m), self.deadline()
        while x.process.poll() is None:
            if time.time() > end:
                raise Refused(503, {"message": "deadline"})
            time.sleep(0.004)
        self.reply(self.ended(x))

    def TaskExecPoll(self, b, m):
        x = self.run_of(b, m)
        x.process.poll()
        self.reply(self.ended(x))

    def TaskExecStdinWrite(self, b, m):
        self.run_of(b, m).take(m.int(3), m.bytes(4), m.int(5))
        self.reply({})

    def TaskExecStdinWriteStream(self, b, frames):
        start = frames[0].one(1)
        x, at = self.run_of(b, start), start.int(3)
        for m in frames[1:]:
            x.take(at, m.bytes(2), 3 in m)
            at += len(m.bytes(2))
        self.reply({})

    def TaskExecStdinStatus(self, b, m):
        x = self.run_of(b, m)
        self.reply({1: x.taken, 2: int(x.shut)})

    def TaskSnapshotFilesystem(self, b, m):
        id_ = "im-" + m.text(2).replace("-", "")[:22]
        at = b.dir + ".snapshot-" + id_
        with self.lock:
            if id_ not in self.images:
                subprocess.run(["cp", "-a", b.dir, at], check=True)
                self.images[id_] = at
        self.reply({1: id_})


fake.run(Modal)
for at in Modal.images.values():
    if isinstance(at, str):
        shutil.rmtree(at, ignore_errors=True)
