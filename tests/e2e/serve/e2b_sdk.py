# The Python SDK of E2B against `sandglass serve e2b`: one line of TAP for each thing that it should be able to do.
import datetime
import time
from e2b import Sandbox


def ok(good, name):
    print(("ok " if good else "not ok ") + name, flush=True)


def status(fn):
    try:
        return fn().exit_code
    except Exception as e:
        return getattr(e, "exit_code", type(e).__name__)


b = Sandbox.create(metadata={"name": "tester"})
r = b.commands.run("echo hi; echo err >&2")
ok((r.exit_code, r.stdout, r.stderr) == (0, "hi\n", "err\n"), "runs a command, its streams apart")
ok(status(lambda: b.commands.run("exit 7")) == 7, "tells how it ended")
h = b.commands.run("read L; echo got $L", background=True, stdin=True)
ok(h.pid in [p.pid for p in b.commands.list()], "lists what runs")
b.commands.send_stdin(h.pid, "hello\n")
ok(h.wait().stdout == "got hello\n", "gives it input")
h = b.commands.run("sleep 100", background=True)
ok(b.commands.kill(h.pid) and status(h.wait) == -1, "kills it")
ok(status(lambda: b.commands.run("sleep 100", timeout=1)) == "TimeoutException", "a command has its time")
ok(len(b.commands.run("head -c 3000000 /dev/zero | tr '\\0' x").stdout) == 3000000, "3 MB of output come whole")
b.files.write("/workspace/f", b"bytes\x00\xff\n")
ok(bytes(b.files.read("/workspace/f", format="bytes")) == b"bytes\x00\xff\n", "files go and come")
ok([x.name for x in b.files.list("/workspace")] == ["f"] and not b.files.exists("/workspace/none"), "are listed")
ok(b.files.make_dir("/workspace/d") and b.files.rename("/workspace/f", "/workspace/d/f").path == "/workspace/d/f", "moved")
b.files.remove("/workspace/d")
ok(not b.files.exists("/workspace/d"), "and removed")
from e2b.sandbox.commands.command_handle import PtySize
out = b""


def more(data):
    global out
    out += data


pty = b.pty.create(PtySize(rows=20, cols=90), cwd="/tmp")
b.pty.send_stdin(pty.pid, b"stty size; pwd; exit 7\n")
ok(status(lambda: pty.wait(on_pty=more)) == 7 and b"20 90" in out and b"/tmp" in out, "a terminal")
b.files.make_dir("/workspace/w")
w = b.files.watch_dir("/workspace/w")
b.files.write("/workspace/w/a", "1")
events = []
for _ in range(600):
    events += w.get_new_events()
    if events:
        break
    time.sleep(0.05)
ok([(e.type.value, e.name) for e in events] == [("create", "a")], "a folder is watched")
w.stop()
b.set_timeout(600)
ok(500 < (b.get_info().end_at - datetime.datetime.now(datetime.timezone.utc)).total_seconds() < 601, "says when it ends")
ok(len(Sandbox.list().next_items()) == 1 and b.is_running(), "is found")
b.pause()
ok(Sandbox.connect(b.sandbox_id).commands.run("echo ok").stdout == "ok\n", "pauses and wakes")
ok(b.kill() and not b.kill(), "is killed, once")
