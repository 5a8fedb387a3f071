# For tests of connections: a web server on the host that appends each path to hits, and a repository, repo, whose
# fetch.sh gets one of its paths through a sandbox's proxy. Sourced in $t, after lib.sh; sets port.
export SANDGLASS_EGRESS_LOCAL=1
cat >server.py <<'P'
import http.server
class H(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        print(self.path, file=open("hits", "a"), flush=True)
        self.send_response(200); self.send_header("Content-Length", "2"); self.end_headers(); self.wfile.write(b"ok")
    def log_message(self, *a): pass
s = http.server.ThreadingHTTPServer(("127.0.0.1", 0), H)
print(s.server_port, flush=True)
s.serve_forever()
P
python3 server.py >port &
server=$!
trap 'kill $server 2>/dev/null; end_all' EXIT
wait_for 30 test -s port
port=$(cat port)
mkdir repo
cat >repo/fetch.sh <<B
exec 3<>/dev/tcp/127.0.0.1/3128
printf 'GET http://localhost:$port/%s HTTP/1.1\r\nHost: localhost:$port\r\nConnection: close\r\n\r\n' "\$1" >&3
head -1 <&3
B
git init -q repo && git -C repo add . && git -C repo commit -qm x && chmod -R a+rX repo
