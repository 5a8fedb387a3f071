# The vendor's SDK of Python against our fake: what it takes for good is what our plugin may rely on.
import sys

import modal


def ok(good, name):
    print(("ok " if good else "not ok ") + name, flush=True)


def run(box, *argv, **options):
    p = box.exec(*argv, **options)
    out, err = p.stdout.read(), p.stderr.read()
    return out, err, p.wait()


app = modal.App.lookup("sdk", create_if_missing=True)
ok(app.app_id.startswith("ap-"), "finds its app")
image = modal.Image.from_registry("debian:12")
secret = modal.Secret.from_name("github", required_keys=["GITHUB_TOKEN"])
box = modal.Sandbox.create(app=app, image=image, name="of-python", env={"A": "b"}, secrets=[secret], encrypted_ports=[8000], timeout=600)
ok(box.object_id and box.poll() is None, "creates a sandbox")
ok(run(box, "sh", "-c", "echo hi $A $GITHUB_TOKEN; echo err >&2; exit 7") == ("hi b of-the-vault\n", "err\n", 7), "runs a command with what it was given")
ok(run(box, "sh", "-c", "kill -9 $$")[2] == 137, "tells a signal")
p = box.exec("head", "-c", "6")
p.stdin.write(b"a line")
p.stdin.write_eof()
p.stdin.drain()
ok(p.stdout.read() == "a line" and p.wait() == 0, "writes to stdin")
ok(run(box, "pwd", workdir="/tmp")[0] == "/tmp\n", "runs it where it was told")
ok(len(run(box, "sh", "-c", "head -c 3000000 /dev/zero | tr '\\0' x")[0]) == 3000000, "3 MB of output come whole")
ok(box.tunnels()[8000].url.startswith("https://"), "has tunnels")
box.set_tags({"of": "python"})
ok([b.object_id for b in modal.Sandbox.list(app_id=app.app_id, tags={"of": "python"})] == [box.object_id], "is listed by its tags")
ok(modal.Sandbox.from_name("sdk", "of-python").object_id == box.object_id, "is found by its name")
again = modal.Sandbox.from_id(box.object_id)
ok(run(again, "echo", "again")[0] == "again\n", "is attached to")
box.terminate()
box.wait(raise_on_termination=False)
ok(box.returncode == 137 and modal.Sandbox.from_id(box.object_id).poll() == 137, "terminates")
ok([b.object_id for b in modal.Sandbox.list(app_id=app.app_id)] == [], "and is listed no more")
