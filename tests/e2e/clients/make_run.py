"""The script of clients.sh: make_run.py ROWS CLIENTS NAME HTTP HTTPS SSH GRPC prints an agent script that runs each command of
ROWS ("client<TAB>column<TAB>seconds<TAB>command") in one sandbox and prints "ROW number status output"."""
import base64, os, sys

rows, clients, name, http, https, ssh, grpc = sys.argv[1:8]


def quoted(text):
    return '"' + "".join("\\%03d" % b for b in text.encode()) + '"'


ca, key = "/workspace/ca.crt", b""
if os.path.exists("sshd/key"):
    key = open("sshd/key", "rb").read()
env = {
    "HTTP": "http://%s:%s" % (name, http), "HTTPS": "https://%s:%s" % (name, https), "NOT": "https://refused.example.org",
    "SSH_PORT": ssh, "GRPC": "%s:%s" % (name, grpc), "NAME": name, "CLIENTS": clients, "PY": clients + "/py/bin/python",
    "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "LC_ALL": "C.UTF-8", "ROOT": os.getcwd(), "KEY": base64.b64encode(key).decode(),
    "JAVA_TOOL_OPTIONS": "-Djavax.net.ssl.trustStore=/workspace/trust.p12 -Djavax.net.ssl.trustStorePassword=changeit",
    **{v: ca for v in ("SSL_CERT_FILE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "GIT_SSL_CAINFO", "PIP_CERT",
                       "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH", "CARGO_HTTP_CAINFO", "npm_config_cafile")},
}
print('local sg = require "sandglass"')
print("local box <close> = sg.sandbox { repo = %s, net = { %s }, roots = { %s }, env = {" % (
    quoted(os.path.abspath("repo")), ", ".join(quoted("%s:%s" % (name, p)) for p in (http, https, ssh, grpc) if p != "0"),
    quoted(clients) if os.path.isdir(clients) else ""))
for k, v in env.items():
    print("  %s = %s," % (k, quoted(v)))
print("} }")
print('box:exec "head -c 13000000 /dev/urandom >up.bin"')
print("local function row(n, seconds, cmd)")
print("  local r, err = box:exec(cmd, { timeout = seconds })")
print('  local out = r and r.out .. r.err or tostring(err)')
print('  print(("ROW %d %s %s"):format(n, r and tostring(r.code) or "none", sg.json.encode { out = out:sub(-6000), refused = r and r.refused }))')
print("end")
for n, line in enumerate(open(rows).read().splitlines()):
    client, column, seconds, command = line.split("\t", 3)
    print("row(%d, %s, %s)" % (n, seconds, quoted(command)))
