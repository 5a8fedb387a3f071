"""What clients of `sandglass serve` do that no SDK would: edges.py KIND URL KEY SANDGLASS SESSION. TAP lines without numbers."""
import base64, json, os, socket, struct, subprocess, sys, threading, time
from http.client import HTTPConnection

kind, url, key, sandglass, session = sys.argv[1:6]
host, port = url.split("//")[1].split(":")
port = int(port)


def ok(good, name):
    print(("ok " if good else "not ok ") + name, flush=True)


def until(fn, seconds=60):
    end = time.monotonic() + seconds
    while not fn():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def ask(method, path, body=None, **headers):
    c = HTTPConnection(host, port, timeout=60)
    head = {"Authorization": "Bearer " + key, "Content-Type": "application/json"}
    head.update({k.replace("_", "-"): v for k, v in headers.items()})
    c.request(method, path, json.dumps(body) if isinstance(body, dict) else body, head)
    r = c.getresponse()
    text = r.read()
    c.close()
    return r.status, json.loads(text) if text[:1] in (b"{", b"[") else text


def upgrade(path):
    """A connection that has asked for a WebSocket; nothing is read."""
    s = socket.create_connection((host, port), timeout=30)
    s.sendall(("GET %s HTTP/1.1\r\nHost: %s:%d\r\nAuthorization: Bearer %s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
               "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: %s\r\n\r\n" % (path, host, port, key, base64.b64encode(b"0" * 16).decode())).encode())
    return s


def status(s):
    text = b""
    while b"\r\n\r\n" not in text:
        more = s.recv(1)
        if not more:
            return 0
        text += more
    return int(text.split()[1])


def exactly(s, n):
    text = b""
    while len(text) < n:
        more = s.recv(n - len(text))
        if not more:
            raise EOFError("the other side has gone without a word")
        text += more
    return text


def message(s):
    """(opcode, payload) of what comes next."""
    head = exactly(s, 2)
    n = head[1] & 127
    if n > 125:
        n = struct.unpack(">H" if n == 126 else ">Q", exactly(s, 2 if n == 126 else 8))[0]
    return head[0] & 15, exactly(s, n)


def closed(s):
    """Code and reason with which the other side closes."""
    try:
        while True:
            op, text = message(s)
            if op == 8:
                return (struct.unpack(">H", text[:2])[0], text[2:].decode()) if text else (0, "")
    except (OSError, EOFError) as e:
        return 0, str(e)


def frame(text):
    return bytes([0x82, 0x80 | len(text)]) + b"\0\0\0\0" + text


def memory():
    """KiB of the process that serves."""
    with open("/proc/%s/status" % os.environ["SERVER"]) as f:
        return int([line for line in f if line.startswith("VmRSS")][0].split()[1])


def unread(s):
    """Bytes that the process which serves has not taken yet from what was sent on this connection."""
    ours = "%04X" % s.getsockname()[1]
    with open("/proc/net/tcp") as f:
        for line in f:
            words = line.split()
            if words[2].endswith(":" + ours) and words[1].endswith(":%04X" % port):
                return int(words[4].split(":")[1], 16)
    return 0


def events(what=""):
    """Those of the record whose line holds this."""
    out = subprocess.run([sandglass, "events", session, "--json"], capture_output=True, text=True, check=False).stdout
    return [json.loads(line) for line in out.splitlines() if what in line]


def apart(make, run, remove):
    """Sandboxes of one name, one after the other: what each finds beside its repository."""
    seen = []
    for _ in range(2):
        made = []
        ok(until(lambda: made.append(make()) or made[-1]), "a sandbox is made with that name")
        seen.append(run(made[-1], "ls -A /workspace ~ /tmp; touch /workspace/own.work ~/own.home /tmp/own.tmp; ls -A /workspace ~ /tmp"))
        remove(made[-1])
    ok([s.count("own.") for s in seen] == [3, 3], "no byte of it comes from the one before: %s" % seen)


def daytona():
    def execute(box, cmd):
        return ask("POST", "/toolbox/%s/process/execute" % box, {"command": cmd})[1]["result"]
    apart(lambda: ask("POST", "/api/sandbox", {"name": "same"})[1].get("id"), execute, lambda box: ask("DELETE", "/api/sandbox/" + box))
    box = ask("POST", "/api/sandbox", {"name": "edges"})[1]["id"]
    at = "/toolbox/%s/process/pty" % box

    s = upgrade(at + "/create-connect?id=flood")
    ok(status(s) == 101, "a terminal is opened")
    before = memory()
    s.settimeout(2)
    try:
        for _ in range(400):
            s.sendall(frame(b"") * 1000)
    except OSError:
        pass
    for _ in range(20):
        ask("GET", at)
    ok(unread(s) > 0 and memory() - before < 40000, "a flood of empty messages is held up")
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))   # what is on its way is dropped
    s.close()

    # its old end is held up by who does not read
    s = upgrade(at + "/create-connect?id=again")
    status(s)
    s.sendall(frame(b"head -c 30000000 /dev/zero | tr '\\0' x\r"))
    message(s)
    time.sleep(0.3)
    old = [e["seq"] for e in events('"kind":"action.requested"') if "'bash', '-i'" in str(e["body"]["argv"])][-1]
    ok(ask("DELETE", at + "/again")[0] == 200, "a terminal is deleted while it prints")
    ok(ask("POST", at, {"id": "again"})[0] == 201, "and made again under its name")
    s.close()
    ok(until(lambda: [e for e in events('"kind":"action.ended"') if e["action"] == old]), "the old one ends")
    ask("POST", "/toolbox/%s/process/execute" % box, {"command": "true"})   # by then all have heard of its end
    ok(ask("GET", at + "/again")[0] == 200, "the end of the old one does not forget the new one")

    # a person stops the agent while its terminal is open
    s = upgrade(at + "/again/connect")
    status(s)
    s.sendall(frame(b"echo heard\r"))
    seen = b""
    while b"heard" not in seen:
        seen += message(s)[1]
    subprocess.run([sandglass, "kill", "-S", session, "edges"], stdout=subprocess.DEVNULL, check=False)
    until(lambda: ask("POST", "/toolbox/%s/process/execute" % box, {"command": "true"})[0] == 409)
    try:
        s.sendall(frame(b"echo lost\r"))
    except OSError:
        pass
    code, why = closed(s)
    ok(code == 1011, "who types to an agent that was stopped is told: %d %s" % (code, why))
    ask("DELETE", "/api/sandbox/" + box)
    ok(until(lambda: events('"kind":"box.closed"')), "its sandbox is closed all the same when it is deleted")


def many():
    """More WebSockets than may be open, all at the same terminal."""
    box = ask("POST", "/api/sandbox", {"name": "many"})[1]["id"]
    at = "/toolbox/%s/process/pty" % box
    ask("POST", at, {"id": "one"})

    def crowd():
        """How many of 215 that come at once are refused."""
        asked = [upgrade(at + "/one/connect") for _ in range(215)]
        got = [status(s) for s in asked]
        for s in asked:
            s.close()
        return (got.count(101), got.count(503))
    ok(crowd() == (200, 15), "WebSockets that are asked for are counted: 15 of 215 are refused")
    for _ in range(80):
        upgrade(at + "/one/connect").close()
    ok(until(lambda: crowd() == (200, 15)), "and no more when their clients have gone, be it while they were answered")


def envelopes(r):
    while True:
        head = r.read(5)
        if len(head) < 5:
            return
        yield head[0], json.loads(r.read(struct.unpack(">I", head[1:])[0]))


def e2b():
    def box_of(path="/sandboxes", **body):
        return ask("POST", path, body)
    ok(box_of(timeout=-1)[0] == 400 and ask("GET", "/v2/sandboxes")[1] == [], "a time that is none leaves no sandbox behind")
    box = box_of(timeout=600)[1]["sandboxID"]
    one = "/sandboxes/" + box

    def rpc(method, **body):
        return ask("POST", "/" + method, body, E2b_Sandbox_Id=box)

    def run(cmd, name=None):
        body = json.dumps({"process": {"cmd": "sh", "args": ["-c", cmd]}}).encode()
        return ask("POST", "/process.Process/Start", struct.pack(">BI", 0, len(body)) + body, E2b_Sandbox_Id=name or box,
                   Content_Type="application/connect+json")

    def printed(name, cmd):
        text, at, out = run(cmd, name)[1], 0, b""
        while at + 5 <= len(text):
            size = struct.unpack(">I", text[at + 1:at + 5])[0]
            out += base64.b64decode(json.loads(text[at + 5:at + 5 + size]).get("event", {}).get("data", {}).get("stdout", ""))
            at += 5 + size
        return out.decode()
    apart(lambda: box_of(templateID="same", timeout=600)[1].get("sandboxID"), printed, lambda made: ask("DELETE", "/sandboxes/" + made))
    ask("POST", one + "/pause")
    ok(ask("POST", one + "/connect", {"timeout": "long"})[0] == 400 and ask("GET", one)[1]["state"] == "paused", "nor does one wake a paused one")
    ok(ask("POST", one + "/timeout", {"timeout": 1})[0] == 409, "a paused one takes no time")
    ask("POST", one + "/connect", {"timeout": 600})

    run("mkdir -p /workspace/shut /workspace/w; chmod 0 /workspace/shut; echo x >/workspace/file")
    got = rpc("filesystem.Filesystem/CreateWatcher", path="/workspace/shut")
    ok(got[0] == 403 and got[1]["code"] == "permission_denied", "a folder that may not be read is not watched: %s" % got[1])
    ok(rpc("filesystem.Filesystem/CreateWatcher", path="/workspace/none")[0] == 404, "nor one that is not there")
    ok(rpc("filesystem.Filesystem/ListDir", path="/workspace/shut")[0] == 403, "nor listed")

    # input as a stream
    def pieces(*messages):
        return b"".join(struct.pack(">BI", 0, len(m)) + m for m in (json.dumps(m).encode() for m in messages))
    connect = {"Authorization": "Bearer " + key, "E2b-Sandbox-Id": box, "Content-Type": "application/connect+json"}
    c = HTTPConnection(host, port, timeout=60)
    c.request("POST", "/process.Process/Start", pieces({"process": {"cmd": "cat"}, "tag": "typed", "stdin": True}), connect)
    r = c.getresponse()
    who = {"process": {"tag": "typed"}}
    got = ask("POST", "/process.Process/StreamInput", pieces({"start": who}, {"data": {"input": {"stdin": "b25lIA=="}}}, {"keepalive": {}},
              {"data": {"input": {"stdin": "dHdv"}}}), E2b_Sandbox_Id=box, Content_Type="application/connect+json")
    rpc("process.Process/CloseStdin", **who)
    typed = b"".join(base64.b64decode(m.get("event", {}).get("data", {}).get("stdout", "")) for _, m in envelopes(r))
    ok(got == (200, pieces({}) + b"\x02\0\0\0\2{}") and typed == b"one two", "a stream of input comes to its process: %s %s" % (typed, got))
    c = HTTPConnection(host, port, timeout=60)
    c.request("POST", "/process.Process/Connect", pieces(who), connect)
    codes = [m.get("error", {}).get("code") for flags, m in envelopes(c.getresponse()) if flags & 2]
    ok(codes == ["not_found"], "who connects to a process that has ended is told that it is not there: %s" % codes)

    # one watcher that asks too late, one that reads too late
    late = rpc("filesystem.Filesystem/CreateWatcher", path="/workspace/w")[1]["watcherId"]
    c = HTTPConnection(host, port, timeout=60)
    body = json.dumps({"path": "/workspace/w"}).encode()
    c.request("POST", "/filesystem.Filesystem/WatchDir", struct.pack(">BI", 0, len(body)) + body,
              {"Authorization": "Bearer " + key, "E2b-Sandbox-Id": box, "Content-Type": "application/connect+json"})
    r = c.getresponse()
    run("cd /workspace/w && seq -f %030.0f 10100 | xargs touch")

    def said(watchers):
        printed = {}
        for e in events('"kind":"output"'):
            printed[e["action"]] = printed.get(e["action"], 0) + e["body"]["len"]
        return sum(n >= 10100 * len("CREATE %030d\n" % 0) for n in printed.values()) >= watchers
    ok(until(lambda: said(1)), "both have much to tell")
    until(lambda: said(2), 5)   # each looks in its own time; who is not read may never come to his end
    run("true")
    got = rpc("filesystem.Filesystem/GetWatcherEvents", watcherId=late)
    ok(got[1].get("code") == "data_loss" and " events were lost: at most 10000" in got[1]["message"], "a late fetch reports the lost events: %s" % str(got[1])[:90])
    ok(len(rpc("filesystem.Filesystem/GetWatcherEvents", watcherId=late)[1]["events"]) == 10000, "and gets the others")
    gone = threading.Thread(target=ask, args=("DELETE", one))
    gone.start()
    names, over = 0, None
    for flags, what in envelopes(r):
        names += what.get("filesystem", {}).get("type") == "EVENT_TYPE_CREATE"
        over = what if flags & 2 else over
    ok(names == 10100 and over == {}, "who reads too late has all of them, and the end: %d %s" % (names, over))
    gone.join()

    if not os.path.exists("/usr/bin/busybox"):
        print("ok # skip no busybox")
        return
    box = box_of(timeout=600, envVars={"PATH": "/workspace/bin:/usr/bin:/bin"})[1]["sandboxID"]
    run("mkdir -p bin b; for n in find stat awk readlink; do ln -s /usr/bin/busybox bin/$n; done; echo abc >b/one; ln -s one b/two; chmod 640 b/one", box)
    got = {e["name"]: e for e in rpc("filesystem.Filesystem/ListDir", path="/workspace/b")[1]["entries"]}
    ok(sorted(got) == ["one", "two"] and got["one"]["size"] == "4" and got["one"]["permissions"] == "-rw-r-----"
       and got["two"]["symlinkTarget"] == "one" and got["two"]["type"] == "FILE_TYPE_SYMLINK", "busybox: a folder is listed: %s" % got)
    w = rpc("filesystem.Filesystem/CreateWatcher", path="/workspace/b", recursive=True)[1]["watcherId"]
    run("mkdir b/c; echo d >'b/c/a name'; echo more >>b/one; rm b/two", box)
    seen = set()

    def all_seen():
        seen.update((e["type"], e["name"]) for e in rpc("filesystem.Filesystem/GetWatcherEvents", watcherId=w)[1]["events"])
        return seen >= {("EVENT_TYPE_CREATE", "c/a name"), ("EVENT_TYPE_WRITE", "one"), ("EVENT_TYPE_REMOVE", "two")}
    ok(until(all_seen), "busybox: a folder is watched: %s" % sorted(seen))


{"daytona": daytona, "many": many, "e2b": e2b}[kind]()
