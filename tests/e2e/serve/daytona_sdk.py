# The Python SDK of Daytona against `sandglass serve daytona`: one line of TAP for each thing that it should be able to do.
import asyncio
import time
from daytona import Daytona, SessionExecuteRequest


def ok(good, name):
    print(("ok " if good else "not ok ") + name, flush=True)


d = Daytona()
b = d.create()
ok(b.state == "started", "creates a box")
r = b.process.exec("echo hi; exit 7")
ok((r.exit_code, r.result) == (7, "hi\n"), "runs a command")
ok(b.process.code_run("print(6*7)").result == "42\n", "and code")
b.process.create_session("s")
run = lambda **o: b.process.execute_session_command("s", SessionExecuteRequest(**o))
r = run(command="cd /tmp; X=5; f() { echo f-$X; }; echo out; echo err >&2")
ok((r.exit_code, r.stdout, r.stderr) == (0, "out\n", "err\n"), "a session's streams are apart")
ok(run(command="pwd; f; exit 3").stdout == "/tmp\nf-5\n", "its next command finds folder, variables and functions")
ok(run(command="echo still").exit_code == 0, "also after an exit")
r = run(command="read L; echo got $L", run_async=True)
b.process.send_session_command_input("s", r.cmd_id, "hello")
while b.process.get_session_command("s", r.cmd_id).exit_code is None:
    time.sleep(0.05)
ok(b.process.get_session_command_logs("s", r.cmd_id).stdout == "got hello\n", "one in the background is given input")
out = []
asyncio.run(b.process.get_session_command_logs_async("s", r.cmd_id, out.append, out.append))
ok("".join(out) == "got hello\n", "its logs are streamed")
b.process.delete_session("s")
from daytona.common.pty import PtySize
pty = b.process.create_pty_session("one", cwd="/tmp", envs={"GIVEN": "to it"}, pty_size=PtySize(rows=20, cols=90))
pty.send_input("stty size; echo $GIVEN:$PWD; exit 7\n")
out = b""


def more(data):
    global out
    out += data


end = pty.wait(more, timeout=30)
ok(b"20 90" in out and b"to it:/tmp" in out and end.exit_code == 7, "a terminal")
b.fs.upload_file(b"bytes\x00\xff\n", "/workspace/f")
ok(b.fs.download_file("/workspace/f") == b"bytes\x00\xff\n", "files go and come")
ok([f.name for f in b.fs.list_files("/workspace")] == ["f"], "are listed")
b.fs.create_folder("/workspace/d", "755")
b.fs.move_files("/workspace/f", "/workspace/d/g")
ok(b.fs.search_files("/workspace", "g").files == ["/workspace/d/g"], "moved, found")
b.fs.delete_file("/workspace/d/g")
ok(b.fs.list_files("/workspace/d") == [], "and deleted")
b.process.exec("git init -q -b main /workspace/from && cd /workspace/from && echo one >a && git add a && git -c user.name=n -c user.email=e@x commit -qm first")
b.git.clone("/workspace/from", "/workspace/repo")
b.fs.upload_file(b"two", "/workspace/repo/two")
b.git.add("/workspace/repo", ["two"])
ok([f.name for f in b.git.status("/workspace/repo").file_status] == ["two"], "git: cloned, added, told")
ok(len(b.git.commit("/workspace/repo", "second", "n", "e@x").sha) == 40 and not b.git.status("/workspace/repo").file_status, "and committed")
b.process.exec("rm -r /workspace/from /workspace/repo")
big = bytes(range(256)) * 12000
b.fs.upload_file(big, "/workspace/big")
ok(b.fs.download_file("/workspace/big") == big, "3 MB as well")
try:
    b.fs.download_file("/workspace/none")
    ok(False, "what is not there")
except Exception as e:
    ok("No such file" in str(e), "what is not there is said to be")
b.stop()
ok(b.state == "stopped", "stops")
b.start()
ok(b.process.exec("cat /workspace/big | wc -c").result.strip() == str(len(big)), "and starts with its files")
ok((b.get_user_home_dir(), b.get_work_dir()) == ("/home/agent", "/workspace"), "says where it is")
b.delete()
ok(True, "and is deleted")
