#!/usr/bin/env python3
"""The servers of the client table: server.py DIR NAME CERT KEY writes DIR/ports ("HTTP HTTPS") and serves on loopback.

/hello, /up (says how many bytes came), /stream (four lines, 0.3 s apart), /slow=SECONDS, /ws (WebSocket, echoes one message),
/git/ (git-http-backend), /simple/ and /files/ (an index for pip), /npm/ (a registry), everything else from DIR/www.
"""
import base64, hashlib, http.server, json, os, ssl, struct, subprocess, sys, threading, time

root, name, cert, key = sys.argv[1:5]
www = os.path.join(root, "www")


def npm_document(base, package):
    with open(os.path.join(www, "npm.json")) as f:
        facts = json.load(f)[package]
    version = {"name": package, "version": "1.0.0", "dist": {"tarball": "%s/npm-files/%s-1.0.0.tgz" % (base, package), **facts}}
    return {"name": package, "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": version}}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *words):
        pass

    def say(self, body, kind="text/plain", status=200):
        body = body if isinstance(body, bytes) else body.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def base(self):
        tls = isinstance(self.connection, ssl.SSLSocket)
        return "%s://%s:%d" % ("https" if tls else "http", name, self.server.server_port)

    def body(self):
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            parts = []
            while size := int(self.rfile.readline().split(b";")[0], 16):
                parts.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            return b"".join(parts)
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def stream(self):
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for i in range(1, 5):
            line = b"event %d\n" % i
            self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
            self.wfile.flush()
            time.sleep(0.3)
        self.wfile.write(b"0\r\n\r\n")

    def websocket(self):
        accept = hashlib.sha1((self.headers["Sec-WebSocket-Key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header("Sec-WebSocket-Accept", base64.b64encode(accept).decode())
        self.end_headers()
        size = self.rfile.read(2)[1] & 127
        if size == 126:
            size = struct.unpack(">H", self.rfile.read(2))[0]
        mask = self.rfile.read(4)
        text = bytes(b ^ mask[i % 4] for i, b in enumerate(self.rfile.read(size)))
        answer = b"echo " + text
        self.wfile.write(bytes([0x81, len(answer)]) + answer + b"\x88\x02\x03\xe8")
        self.close_connection = True

    def git(self):
        path, _, query = self.path.partition("?")
        env = dict(
            os.environ, GIT_PROJECT_ROOT=root, GIT_HTTP_EXPORT_ALL="1", PATH_INFO=path, QUERY_STRING=query, REMOTE_USER="x",
            REQUEST_METHOD=self.command, CONTENT_TYPE=self.headers.get("Content-Type", ""), REMOTE_ADDR="127.0.0.1",
            HTTP_CONTENT_ENCODING=self.headers.get("Content-Encoding", ""), GIT_PROTOCOL=self.headers.get("Git-Protocol", ""))
        said = subprocess.run(["git", "http-backend"], env=env, input=self.body(), stdout=subprocess.PIPE).stdout
        head, _, body = said.partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
        self.say(body, fields.get("Content-Type", "text/plain"), int(fields.get("Status", "200").split()[0]))

    def file(self):
        path = os.path.normpath(os.path.join(www, self.path.lstrip("/").partition("?")[0]))
        if path.startswith(www) and os.path.isfile(path):
            with open(path, "rb") as f:
                return self.say(f.read(), "application/octet-stream")
        self.say("not found\n", status=404)

    def do_GET(self):
        if self.path.startswith("/hello"):
            return self.say("hello over %s\n" % self.base().split(":")[0])
        if self.path.startswith("/stream"):
            return self.stream()
        if self.path.startswith("/slow="):
            time.sleep(float(self.path.split("=")[1]))
            return self.say("slow and done\n")
        if self.path.startswith("/ws"):
            return self.websocket()
        if self.path.startswith("/git/"):
            return self.git()
        if self.path.startswith("/simple/"):
            files = sorted(os.listdir(os.path.join(www, "files")))
            return self.say("".join('<a href="/files/%s">%s</a>\n' % (f, f) for f in files), "text/html")
        if self.path.startswith("/npm/"):
            return self.say(json.dumps(npm_document(self.base(), self.path.split("/")[2])), "application/json")
        self.file()

    do_HEAD = do_GET

    def do_POST(self):
        if self.path.startswith("/git/"):
            return self.git()
        self.say("%d bytes came\n" % len(self.body()))

    do_PUT = do_POST


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 1024
    daemon_threads = True

    def handle_error(self, *words):
        pass  # a client that refuses or gives up

    def shutdown_request(self, request):
        if isinstance(request, ssl.SSLSocket):
            try:
                request.settimeout(2)
                request = request.unwrap()  # openssl reports an end without this as an error
            except (OSError, ValueError):
                pass
        super().shutdown_request(request)


class SecureServer(Server):
    def get_request(self):
        s, address = super().get_request()
        return context.wrap_socket(s, server_side=True, do_handshake_on_connect=False), address


context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(cert, key)
plain, secure = Server(("127.0.0.1", 0), Handler), SecureServer(("127.0.0.1", 0), Handler)
threading.Thread(target=plain.serve_forever, daemon=True).start()
with open(os.path.join(root, "ports.new"), "w") as f:
    f.write("%d %d\n" % (plain.server_port, secure.server_port))
os.rename(os.path.join(root, "ports.new"), os.path.join(root, "ports"))
secure.serve_forever()
