#!/usr/bin/env python3
"""What a box reaches with a credential that it has not: repositories by git's own http-backend (GIT_PROJECT_ROOT below /git), a
registry of npm (/npm) and one of Python (/simple), each with one package. Wants the key sk-REAL-7731: git as a password, the
others as a bearer. Prints its port; a file named as the argument gets one line for each request: method, path, ok or bad."""
import base64, hashlib, io, json, os, subprocess, sys, tarfile, zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

KEY = "sk-REAL-7731"
GOOD = {"git": "Basic " + base64.b64encode(("me:" + KEY).encode()).decode()}
log = open(sys.argv[1], "a", buffering=1)


def tgz(files):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as t:
        for name, text in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(text)
            t.addfile(info, io.BytesIO(text.encode()))
    return out.getvalue()


def wheel():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as z:
        z.writestr("small.py", "WORD = 'from the registry'\n")
        z.writestr("small-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: small\nVersion: 1.0\n")
        z.writestr("small-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: us\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        z.writestr("small-1.0.dist-info/RECORD", "")
    return out.getvalue()


PACKAGE = tgz({"package/package.json": '{"name":"small","version":"1.0.0"}', "package/index.js": "module.exports = 'from the registry'\n"})
WHEEL = wheel()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def give(self, status, data=b"", kind="text/plain"):
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def body(self):
        if self.headers.get("transfer-encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("content-length") or 0))
        out = b""
        while size := int(self.rfile.readline(), 16):
            out += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return out

    def git(self, path, query, body):
        env = dict(os.environ, GIT_PROJECT_ROOT=sys.argv[2], GIT_HTTP_EXPORT_ALL="1", REMOTE_USER="me", REQUEST_METHOD=self.command, PATH_INFO=path,
                   QUERY_STRING=query, CONTENT_TYPE=self.headers.get("content-type", ""), CONTENT_LENGTH=str(len(body)),
                   HTTP_CONTENT_ENCODING=self.headers.get("content-encoding", ""), GIT_PROTOCOL=self.headers.get("git-protocol", ""))
        out = subprocess.run(["git", "http-backend"], input=body, env=env, stdout=subprocess.PIPE).stdout
        head, _, data = out.partition(b"\r\n\r\n")
        lines = dict(l.split(": ", 1) for l in head.decode().split("\r\n") if ": " in l)
        self.give(int(lines.get("Status", "200").split()[0]), data, lines.get("Content-Type", "text/plain"))

    def any(self):
        body = self.body()
        path, _, query = self.path.partition("?")
        first, here = path.split("/")[1], "http://127.0.0.1:%d" % server.server_port
        good = self.headers.get("authorization") == GOOD.get(first, "Bearer " + KEY)
        log.write("%s %s %s\n" % (self.command, self.path, "ok" if good else "bad"))
        if not good:
            self.give(401)
        elif first == "git":
            self.git(path[4:], query, body)
        elif path == "/npm/small":
            at = {"tarball": here + "/npm/small/-/small-1.0.0.tgz", "integrity": "sha512-" + base64.b64encode(hashlib.sha512(PACKAGE).digest()).decode()}
            self.give(200, json.dumps({"name": "small", "dist-tags": {"latest": "1.0.0"},
                                       "versions": {"1.0.0": {"name": "small", "version": "1.0.0", "dist": at}}}).encode(), "application/json")
        elif path.endswith(".tgz"):
            self.give(200, PACKAGE, "application/octet-stream")
        elif path == "/simple/small/":
            self.give(200, ('<a href="%s/simple/files/small-1.0-py3-none-any.whl">small-1.0-py3-none-any.whl</a>' % here).encode(), "text/html")
        elif path.endswith(".whl"):
            self.give(200, WHEEL, "application/octet-stream")
        else:
            self.give(404)

    do_GET = do_POST = do_PUT = do_HEAD = any


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
print(server.server_port, flush=True)
server.serve_forever()
