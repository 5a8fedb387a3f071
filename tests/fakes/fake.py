"""What the fakes of box providers share: an HTTP server that keeps connections, boxes whose commands really run (bubblewrap,
with folders of their own), and faults that are asked for at /_fault.

A fault is a line "COUNT METHOD-OR-* PATH-PATTERN WHAT": the next COUNT requests that match are answered so:
  status:429 (with Retry-After 0), status:503, html, drop (no answer, nothing done), lost (done, no answer), cut (the answer
  breaks off), slow (half a second later), wait:SECONDS; vanish: the box is gone first.
GET /_clock?SECONDS: its clock is so far ahead of ours. GET /_calm: no faults any more. GET /_seen: every request so far, one "METHOD PATH" a line. GET /_boxes: ids of boxes that are there."""
import base64, json, os, re, shutil, signal, socket, subprocess, sys, tempfile, threading, time, uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit

FAULTS, SEEN, LOCK = [], [], threading.Lock()


class Box:
    def __init__(self, home="/home/user"):
        self.dir = tempfile.mkdtemp(prefix="sg-fake-")
        os.chmod(self.dir, 0o755)
        self.home, self.processes, self.asleep, self.tags = home, [], False, {}
        for d in ("workspace", "tmp", "home"):
            os.mkdir(os.path.join(self.dir, d))

    def words(self, argv, cwd, env):
        w = ["bwrap", "--unshare-uts", "--ro-bind", "/usr", "/usr", "--ro-bind", "/etc", "/etc", "--dev", "/dev",
             "--ro-bind", "/proc", "/proc"]
        for d in ("bin", "lib", "lib64", "sbin"):
            w += ["--symlink", "usr/" + d, "/" + d]
        for d, at in (("workspace", "/workspace"), ("tmp", "/tmp"), ("home", self.home)):
            w += ["--bind", os.path.join(self.dir, d), at]
        for k, v in {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "HOME": self.home, "USER": "user", **(env or {})}.items():
            w += ["--setenv", k, v]
        return w + ["--chdir", cwd or self.home, "--"] + argv

    def start(self, argv, cwd=None, env=None, stdin=subprocess.DEVNULL, merge=False):
        p = subprocess.Popen(self.words(argv, cwd, env), stdin=stdin, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT if merge else subprocess.PIPE, start_new_session=True, env={"PATH": os.environ["PATH"]})
        self.processes.append(p)
        return p

    def host_path(self, path):
        path = os.path.normpath(path if path.startswith("/") else os.path.join(self.home, path))
        for d, at in (("workspace", "/workspace"), ("tmp", "/tmp"), ("home", self.home)):
            if path == at or path.startswith(at + "/"):
                return os.path.join(self.dir, d) + path[len(at):]
        return self.dir + "/none" + path

    def end(self):
        """Everything that has one of our folders for its root's mounts: whole sessions, also those that setsid made."""
        for pid in os.listdir("/proc"):
            if not pid.isdigit():
                continue
            try:
                with open(f"/proc/{pid}/mountinfo") as f:
                    if self.dir + "/workspace" in f.read() or any(self.dir in x for x in open(f"/proc/{pid}/mountinfo")):
                        os.kill(int(pid), signal.SIGKILL)
            except (OSError, ValueError):
                pass
        for p in self.processes:
            try:
                if p.poll() is None:  # the number of one that has ended may be another's by now
                    os.killpg(p.pid, signal.SIGKILL)
            except OSError:
                pass
        shutil.rmtree(self.dir, ignore_errors=True)


class Refused(Exception):
    def __init__(self, status, body, headers=None):
        self.status, self.body, self.headers = status, body, headers or {}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    boxes, ahead = {}, 0

    def date_time_string(self, timestamp=None):
        return super().date_time_string((timestamp or time.time()) + self.ahead)

    @classmethod
    def front(cls, port):
        """The port to announce, if something stands before ours."""
        return port

    def log_message(self, *_):
        pass

    def setup(self):
        super().setup()
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def body(self):
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            out = b""
            while True:
                n = int(self.rfile.readline().split(b";")[0], 16)
                out += self.rfile.read(n)
                self.rfile.readline()
                if n == 0:
                    return out
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def say(self, status, body=b"", kind="application/json", headers=None):
        if isinstance(body, (dict, list)):
            body = b"\n" + json.dumps(body).encode()  # JSON may begin with white space
        if self.fault == "lost":
            raise ConnectionAbortedError
        self.send_response(status)
        self.send_header("Content-Type", kind)
        cut = self.fault == "cut" and body
        self.send_header("Content-Length", str(len(body) + (10 if cut else 0)))
        for k, v in (headers or {}).items():
            self.send_header(k, v)
        self.end_headers()
        self.wfile.write(body[:len(body) // 2] if cut else body)
        if cut:
            raise ConnectionAbortedError

    def stream(self, kind):
        """Begins an answer in pieces; returns a function that sends one, None ends it."""
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        left = [2 if self.fault == "cut" else -1]

        def send(piece):
            if piece is None:
                self.wfile.write(b"0\r\n\r\n")
                return
            if left[0] == 0:
                raise ConnectionAbortedError
            left[0] -= 1
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        return send

    def meet_fault(self, method, path):
        with LOCK:
            for f in FAULTS:
                if f[1] in ("*", method) and re.search(f[2], path):
                    f[0] -= 1
                    if f[0] == 0:
                        FAULTS.remove(f)
                    return f[3]
        return None

    def own(self, path):
        if path == "/_seen":
            return "\n".join(SEEN) + "\n"
        if path == "/_boxes":
            return "".join(i + "\n" for i in self.boxes)
        if path == "/_clock":
            type(self).ahead = float(urlsplit(self.path).query)
            return "ok\n"
        if path == "/_calm":
            FAULTS.clear()
            return "ok\n"
        if path == "/_vanish":
            for i in list(self.boxes):
                self.boxes.pop(i).end()
            return "gone\n"
        if path.startswith("/_fault"):
            n, method, pattern, what = unquote(urlsplit(self.path).query).split(" ")
            FAULTS.append([int(n), method, pattern, what])
            return "ok\n"
        return None

    def serve(self):
        url = urlsplit(self.path)
        self.query = {k: v[0] for k, v in parse_qs(url.query, keep_blank_values=True).items()}
        self.fault = None
        mine = self.own(url.path)
        if mine is not None:
            return self.say(200, mine.encode(), "text/plain")
        if url.path.endswith("/late"):   # takes nothing for a while
            time.sleep(1)
        data = self.body()
        with LOCK:
            SEEN.append(f"{self.command} {url.path}")
        f = self.meet_fault(self.command, url.path)
        try:
            if f == "drop":
                raise ConnectionAbortedError
            if f == "html":
                return self.say(200, b"<html><body>Welcome to nginx</body></html>", "text/html")
            if f and f.startswith("status:"):
                code = int(f[7:])
                return self.say(code, {"message": "no more for now" if code == 429 else "out of order", "code": code},
                                headers={"Retry-After": "0"} if code == 429 else {})
            if f == "slow":
                time.sleep(0.5)
            if f and f.startswith("wait:"):
                time.sleep(float(f[5:]))
            if f == "vanish":
                for i in list(self.boxes):
                    self.boxes.pop(i).end()
            self.fault = f if f in ("lost", "cut") else None
            self.answer(self.command, url.path, data)
        except Refused as r:
            self.say(r.status, r.body, headers=r.headers)
        except (ConnectionAbortedError, BrokenPipeError, ConnectionResetError):
            self.close_connection = True
            try:
                self.connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = serve


    def lead(self, port, path, data):
        """The way in to a server that listens on this port (sandboxes are on our network): the request continues, then bytes both ways."""
        query = urlsplit(self.path).query
        try:
            s = socket.create_connection(("127.0.0.1", int(port)), 5)
        except OSError:
            raise Refused(502, {"message": "nobody listens on port " + str(port)})
        head = [f"{self.command} {path or '/'}{'?' + query if query else ''} HTTP/1.1"]
        head += [f"{k}: {v}" for k, v in self.headers.items()]
        s.sendall("\r\n".join(head).encode() + b"\r\n\r\n" + data)

        def up():
            try:
                while piece := self.connection.recv(65536):
                    s.sendall(piece)
            except OSError:
                pass
        if self.headers.get("Upgrade"):
            threading.Thread(target=up, daemon=True).start()
        while piece := s.recv(65536):
            self.wfile.write(piece)
        self.close_connection = True


class Server(ThreadingHTTPServer):
    daemon_threads, request_queue_size = True, 256

    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


def run(handler):
    """fake.py FILE: the port goes into FILE when it listens."""
    s = Server(("127.0.0.1", 0), handler)
    handler.port = handler.front(s.server_address[1])
    with open(sys.argv[1] + ".new", "w") as f:
        f.write(str(handler.port))
    os.rename(sys.argv[1] + ".new", sys.argv[1])
    signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=s.shutdown).start())
    s.serve_forever()
    for b in handler.boxes.values():
        b.end()
