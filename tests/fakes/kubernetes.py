#!/usr/bin/env python3
"""An API server of Kubernetes, as far as kubectl, @kubernetes/client-node and our plugin use one: discovery, pods, network
policies, logs, the way in to ports, exec over a WebSocket (v5.channel.k8s.io and v4), and claims of kubernetes-sigs/agent-sandbox. Pods are boxes whose commands really run."""
import base64, calendar, hashlib, json, os, re, struct, subprocess, sys, threading, time
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import fake
from fake import Refused

POLICIES, CLAIMS = {}, {}
EXTENSIONS, AGENTS = "extensions.agents.x-k8s.io", "agents.x-k8s.io"
NAMES = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$")
LABEL = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$")
RESOURCES = {
    "/api/v1": ("v1", [("pods", "Pod", ["create", "delete", "get", "list", "watch"])]),
    "/apis/networking.k8s.io/v1": ("networking.k8s.io/v1", [("networkpolicies", "NetworkPolicy", ["create", "delete", "get", "list"])]),
    f"/apis/{EXTENSIONS}/v1beta1": (f"{EXTENSIONS}/v1beta1", [("sandboxclaims", "SandboxClaim", ["create", "delete", "get", "list", "patch"])]),
    f"/apis/{AGENTS}/v1beta1": (f"{AGENTS}/v1beta1", [("sandboxes", "Sandbox", ["get"])]),
}


def status(code, reason, message):
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message, "reason": reason, "code": code}


class Kubernetes(fake.Handler):
    def refuse(self, code, reason, message):
        raise Refused(code, status(code, reason, message))

    def answer(self, method, path, data):
        # without a token it is as behind `kubectl proxy`: kubectl and client-node send none over plain HTTP
        if self.headers.get("Authorization", "Bearer good-token") != "Bearer good-token":
            self.refuse(401, "Unauthorized", "Unauthorized")
        if method == "GET" and self.discovery(path):
            return
        j = json.loads(data) if data and data[:1] == b"{" else {}
        if m := re.match(r"/apis/networking.k8s.io/v1/namespaces/([^/]+)/networkpolicies$", path):
            return self.policy(method, m[1], j)
        if m := re.match(rf"/apis/{EXTENSIONS}/v1beta1(?:/namespaces/([^/]+))?/sandboxclaims(?:/([^/]+))?$", path):
            return self.claims(method, m[1], m[2], j)
        if m := re.match(rf"/apis/{AGENTS}/v1beta1/namespaces/([^/]+)/sandboxes/([^/]+)$", path):
            return self.sandbox(m[1], m[2])
        if path == "/api/v1/pods":
            return self.listed(None)
        if m := re.match(r"/api/v1/namespaces/([^/]+)/pods$", path):
            return self.create(m[1], j) if method == "POST" else self.listed(m[1])
        if m := re.match(r"/api/v1/namespaces/([^/]+)/pods/([^/]+)(/exec|/log)?$", path):
            return self.pod(method, self.box(m[1], m[2]), m[3])
        if m := re.match(r"/api/v1/namespaces/([^/]+)/pods/([^/:]+):([0-9]+)/proxy(/.*)?$", path):
            self.box(m[1], m[2])
            del self.headers["Authorization"]   # the server in the pod never sees who asks
            return self.lead(m[3], m[4], data)
        self.refuse(404, "NotFound", "the server could not find the requested resource")

    def discovery(self, path):
        if path == "/api":
            self.say(200, {"kind": "APIVersions", "versions": ["v1"]})
        elif path == "/apis":
            groups = [{"groupVersion": path[6:], "version": path.rsplit("/")[-1]} for path in RESOURCES if path.startswith("/apis/")]
            self.say(200, {"kind": "APIGroupList", "apiVersion": "v1", "groups": [
                {"name": v["groupVersion"].split("/")[0], "versions": [v], "preferredVersion": v} for v in groups]})
        elif path in RESOURCES:
            version, list_ = RESOURCES[path]
            self.say(200, {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": version, "resources": [
                {"name": n, "singularName": "", "namespaced": True, "kind": k, "verbs": v, "shortNames": ["po"] if n == "pods" else []} for n, k, v in list_]})
        elif path == "/version":
            self.say(200, {"major": "1", "minor": "30", "gitVersion": "v1.30.0"})
        else:
            return False
        return True

    def policy(self, method, namespace, j):
        name = j.get("metadata", {}).get("name")
        if (namespace, name) in POLICIES:
            self.refuse(409, "AlreadyExists", f'networkpolicies.networking.k8s.io "{name}" already exists')
        POLICIES[(namespace, name)] = j
        return self.say(201, j)

    def box(self, namespace, name):
        b = self.boxes.get(name)
        if not b or b.pod["metadata"]["namespace"] != namespace:
            self.refuse(404, "NotFound", f'pods "{name}" not found')
        return b

    def create(self, namespace, j):
        meta, spec = j.get("metadata", {}), j.get("spec", {})
        name = meta.get("name") or meta.get("generateName", "") + "%x" % time.time_ns()
        if not NAMES.match(name):
            self.refuse(422, "Invalid", f'Pod "{name}" is invalid: metadata.name: a lowercase RFC 1123 subdomain is wanted')
        for k, v in meta.get("labels", {}).items():
            if not LABEL.match(v):
                self.refuse(422, "Invalid", f'Pod "{name}" is invalid: metadata.labels: Invalid value: "{v}"')
        if not spec.get("containers") or not all(c.get("image") and c.get("name") for c in spec["containers"]):
            self.refuse(422, "Invalid", f'Pod "{name}" is invalid: spec.containers: Required value')
        if name in self.boxes:
            self.refuse(409, "AlreadyExists", f'pods "{name}" already exists')
        b = fake.Box("/home/user")
        b.id, b.asks = name, 0
        b.pod = {"kind": "Pod", "apiVersion": "v1", "spec": spec, "metadata": {**meta, "name": name, "namespace": namespace, "uid": name,
                 "resourceVersion": "1", "creationTimestamp": "2026-01-01T00:00:00Z"}}
        self.boxes[name] = b
        return self.say(201, self.dto(b))

    def dto(self, b):
        b.asks += 1
        c = b.pod["spec"]["containers"][0]
        s = {"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "True"}]}
        state = {"waiting": {"reason": "ContainerCreating"}}
        if c["image"].startswith("nowhere/"):
            state = {"waiting": {"reason": "ImagePullBackOff", "message": f'Back-off pulling image "{c["image"]}"'}} if b.asks > 2 else state
        elif "nvidia.com/gpu" in c.get("resources", {}).get("limits", {}):
            s["conditions"] = [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes are available: 1 Insufficient nvidia.com/gpu."}]
        elif b.pod["spec"].get("nodeSelector"):
            s["conditions"] = [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector."}]
        elif b.asks > 2:
            s["phase"], state = "Running", {"running": {"startedAt": "2026-01-01T00:00:00Z"}}
            s["conditions"].append({"type": "Ready", "status": "True"})
        ready = s["phase"] == "Running"
        s["containerStatuses"] = [{"name": c["name"], "image": c["image"], "imageID": "", "ready": ready, "restartCount": 0, "state": state}]
        return {**b.pod, "status": s}

    def listed(self, namespace):
        want = dict(x.split("=") for x in self.query.get("labelSelector", "").split(",") if x)
        items = [self.dto(b) for b in list(self.boxes.values()) if namespace in (None, b.pod["metadata"]["namespace"])
                 and all(b.pod["metadata"].get("labels", {}).get(k) == v for k, v in want.items())]
        return self.say(200, {"kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": items})

    # --- claims ---

    def claims(self, method, namespace, name, j):
        if os.path.exists(sys.argv[1] + ".plain"):   # a group that it does not know
            raise Refused(404, b"404 page not found\n")
        if method == "POST":
            meta, spec = j["metadata"], j["spec"]
            if not spec.get("warmPoolRef", {}).get("name"):
                self.refuse(422, "Invalid", "spec.warmPoolRef.name: Required value")
            if meta["name"] in CLAIMS:
                self.refuse(409, "AlreadyExists", f'sandboxclaims "{meta["name"]}" already exists')
            c = {"kind": "SandboxClaim", "apiVersion": j["apiVersion"], "spec": spec, "metadata": {**meta, "namespace": namespace, "uid": meta["name"],
                 "resourceVersion": "1", "creationTimestamp": "2026-01-01T00:00:00Z"}}
            CLAIMS[meta["name"]] = c
            if until := spec.get("lifecycle", {}).get("shutdownTime"):
                c["lives"] = calendar.timegm(time.strptime(until, "%Y-%m-%dT%H:%M:%SZ")) - time.time() - self.ahead
                fake.SEEN.append(f"LIVES {c['lives']:.0f}")
            if spec["warmPoolRef"]["name"] == "pool":   # a pod that stood ready is its own from now on
                b = fake.Box("/home/user")
                b.id, b.asks, b.claim = "pool-" + meta["name"], 3, meta["name"]
                b.pod = {"kind": "Pod", "apiVersion": "v1", "spec": {"containers": [{"name": "runtime", "image": "the-pool's", "env": spec.get("env") or []}]}, "metadata": {
                    "name": b.id, "namespace": namespace, "uid": b.id, "resourceVersion": "1", "creationTimestamp": "2026-01-01T00:00:00Z",
                    "labels": spec.get("additionalPodMetadata", {}).get("labels", {})}}
                self.boxes[b.id] = b
            return self.say(201, c)
        if not name:
            want = dict(x.split("=") for x in self.query.get("labelSelector", "").split(",") if x)
            items = [self.claim(c) for c in list(CLAIMS.values()) if all(c["metadata"].get("labels", {}).get(k) == v for k, v in want.items())]
            return self.say(200, {"kind": "SandboxClaimList", "apiVersion": EXTENSIONS + "/v1beta1", "metadata": {"resourceVersion": "1"}, "items": items})
        c = CLAIMS.get(name)
        if not c or c["metadata"]["namespace"] != namespace:
            self.refuse(404, "NotFound", f'sandboxclaims "{name}" not found')
        if method == "PATCH":
            if self.headers["Content-Type"] != "application/merge-patch+json":
                self.refuse(415, "UnsupportedMediaType", "a merge patch is wanted")
            c["spec"].setdefault("lifecycle", {}).update(j["spec"]["lifecycle"])
            if until := j["spec"]["lifecycle"].get("shutdownTime"):
                fake.SEEN.append(f"LIVES ON {calendar.timegm(time.strptime(until, '%Y-%m-%dT%H:%M:%SZ')) - time.time() - self.ahead:.0f}")
        if method == "DELETE":
            del CLAIMS[name]
            if b := self.boxes.pop("pool-" + name, None):
                b.end()
        return self.say(200, self.claim(c))

    def claim(self, c):
        pool, name = c["spec"]["warmPoolRef"]["name"], c["metadata"]["name"]
        ready = {"type": "Ready", "status": "False", "reason": "SandboxNotReady", "message": "the sandbox is being made"}
        s = {"conditions": [ready]}
        if pool != "pool":
            ready.update(reason="WarmPoolNotFound", message=f'SandboxWarmPool "{pool}" not found')
        elif c.get("lives", 1) <= 0:
            ready.update(reason="ClaimExpired", message="shutdownTime has passed")
        elif c.setdefault("asked", 0) > 1:
            ready.update(status="True", reason="DependenciesReady", message="")
            s["sandbox"] = {"name": "sandbox-" + name}
        c["asked"] = c.get("asked", 0) + 1
        return {**{k: v for k, v in c.items() if k not in ("asked", "lives")}, "status": s}

    def sandbox(self, namespace, name):
        if name[len("sandbox-"):] not in CLAIMS:
            self.refuse(404, "NotFound", f'sandboxes "{name}" not found')
        return self.say(200, {"kind": "Sandbox", "apiVersion": AGENTS + "/v1beta1", "metadata": {"name": name, "namespace": namespace,
                        "annotations": {AGENTS + "/pod-name": "pool-" + name[len("sandbox-"):]}}, "spec": {}})

    def pod(self, method, b, tail):
        if tail == "/exec":
            return self.exec(b)
        if tail == "/log":
            return self.say(200, b"the log of " + b.id.encode() + b"\n", "text/plain")
        if method == "DELETE":
            self.boxes.pop(b.id).end()
            return self.say(200, self.dto(b))
        return self.say(200, self.dto(b))

    # --- exec ---

    def exec(self, b):
        if self.headers.get("Upgrade", "").lower() != "websocket":
            self.refuse(400, "BadRequest", "you must use a WebSocket: this API server knows no SPDY")
        offered = [x.strip() for x in self.headers.get("Sec-WebSocket-Protocol", "").split(",")]
        self.version = next((v for v in ("v5.channel.k8s.io", "v4.channel.k8s.io") if v in offered), None)
        if os.path.exists(sys.argv[1] + ".v4") and "v4.channel.k8s.io" in offered:
            self.version = "v4.channel.k8s.io"
        if not self.version:
            self.refuse(400, "BadRequest", "none of the protocols is known")
        from urllib.parse import parse_qs, urlsplit
        q = parse_qs(urlsplit(self.path).query)
        if q.get("container", [""])[0] not in ("", *(c["name"] for c in b.pod["spec"]["containers"])):
            self.refuse(400, "BadRequest", f'container {q["container"][0]} is not valid for pod {b.id}')
        accept = base64.b64encode(hashlib.sha1((self.headers["Sec-WebSocket-Key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest())
        self.wfile.write(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: " + accept
                         + b"\r\nSec-WebSocket-Protocol: " + self.version.encode() + b"\r\n\r\n")
        self.close_connection = True
        self.lock, self.sent = threading.Lock(), 0
        try:
            c = b.pod["spec"]["containers"][0]
            p = b.start(q["command"], c.get("workingDir"), {e["name"]: e.get("value", "") for e in c.get("env") or []}, stdin=subprocess.PIPE if q.get("stdin") == ["true"] else subprocess.DEVNULL)
        except OSError as e:
            return self.bye(status(500, "InternalError", str(e)))
        for channel in (1, 2, 3):
            self.frame(bytes([channel]))
        pumps = [threading.Thread(target=self.pump, args=a, daemon=True) for a in ((p.stdout, 1), (p.stderr, 2))]
        threading.Thread(target=self.take, args=(p,), daemon=True).start()
        for t in pumps:
            t.start()
        p.wait()
        for t in pumps:
            t.join(0.5)   # what the command left running may hold them
        if p.returncode == 0:
            return self.bye({"metadata": {}, "status": "Success"})
        self.bye({**status(500, "NonZeroExitCode", f"command terminated with non-zero exit code: exit status {p.returncode}"),
                  "details": {"causes": [{"reason": "ExitCode", "message": str(p.returncode & 255)}]}})

    def frame(self, payload, op=2):
        n = len(payload)
        head = bytes([128 | op]) + (bytes([n]) if n < 126 else b"\x7e" + struct.pack(">H", n) if n < 65536 else b"\x7f" + struct.pack(">Q", n))
        with self.lock:
            self.sent += 1
            if self.fault == "lost" or (self.fault == "cut" and self.sent > 4):
                self.connection.shutdown(2)
                raise ConnectionAbortedError
            self.wfile.write(head + payload)

    def bye(self, s):
        self.frame(b"\x03" + json.dumps(s).encode())
        self.frame(struct.pack(">H", 1000), 8)

    def pump(self, f, channel):
        try:
            while piece := f.read1(32768):
                self.frame(bytes([channel]) + piece)
        except (OSError, ValueError):
            pass

    def read_exactly(self, n):
        out = self.rfile.read(n)
        if len(out) < n:
            raise EOFError
        return out

    def take(self, p):
        try:
            while True:
                head = self.read_exactly(2)
                n = head[1] & 127
                n = struct.unpack(">H", self.read_exactly(2))[0] if n == 126 else struct.unpack(">Q", self.read_exactly(8))[0] if n == 127 else n
                if not head[1] & 128:
                    raise EOFError   # a client must mask
                mask, body = self.read_exactly(4), self.read_exactly(n)
                body = bytes(c ^ mask[i % 4] for i, c in enumerate(body)) if n < 4096 else self.unmask(body, mask)
                op = head[0] & 15
                if op == 8:
                    return
                if op == 9:
                    self.frame(body, 10)
                elif op in (1, 2) and body[:1] == b"\x00" and p.stdin:
                    p.stdin.write(body[1:])
                    p.stdin.flush()
                elif op in (1, 2) and body == b"\xff\x00" and self.version.startswith("v5") and p.stdin:
                    p.stdin.close()
        except (OSError, ValueError, EOFError):
            pass

    def unmask(self, body, mask):
        n = len(body)
        key = (mask * (n // 4 + 1))[:n]
        return (int.from_bytes(body, "big") ^ int.from_bytes(key, "big")).to_bytes(n, "big")


fake.run(Kubernetes)
