-- box:interpreter "python" or "node": one interpreter stays in the sandbox; each piece of code is an action of its own, a small client that
-- hands the code and its own output to the interpreter and ends with the status: 1 after an exception.
local M = {}

local PYTHON_SERVER = [[
import ast, builtins, json, os, socket, sys, threading, traceback, _thread
path = "/proc/self/fd/%d/%s" % (os.open(os.environ.get("TMPDIR") or "/tmp", os.O_RDONLY), sys.argv[1])   # a socket's path is short
names = {"__name__": "__main__", "__builtins__": builtins}
top = socket.socket(socket.AF_UNIX)
top.bind(path + ".new")
top.listen(8)
os.rename(path + ".new", path)
def structured(what):
    os.write(what.pop("fd"), b"\0sandglass:" + json.dumps(what).encode() + b"\0")
def run(code, asked):
    try:
        tree = ast.parse(code, "<code>")
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, "<code>", "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), "<code>", "eval"), names)
            if value is not None and not asked.get("structured"): print(repr(value))
            elif value is not None: sys.stdout.flush(); structured({"fd": 1, "value": repr(value)})
        return 0
    except SystemExit as e:
        return e.code if isinstance(e.code, int) else 0 if e.code is None else 1
    except KeyboardInterrupt:
        return 130
    except BaseException:
        kind, value, tb = sys.exc_info()
        if asked.get("structured"):
            sys.stderr.flush()
            text = "".join(traceback.format_exception(kind, value, tb and tb.tb_next))
            structured({"fd": 2, "name": kind.__name__, "error": str(value), "traceback": text})
        else: traceback.print_exception(kind, value, tb and tb.tb_next)
        return 1
while True:
    conn, _ = top.accept()
    try:
        head, fds, _, _ = socket.recv_fds(conn, 16, 3)
        want, asked = int(head), b""
        conn.sendall(b"+")
        while len(asked) < want:
            more = conn.recv(65536)
            if not more: break
            asked += more
        asked = json.loads(asked)
        before = {name: os.environ.get(name) for name in asked.get("env") or {}}
        os.environ.update(asked.get("env") or {})
        kept = [os.dup(i) for i in range(3)]
        for i, fd in enumerate(fds): os.dup2(fd, i)
        busy = [True]
        def watch():
            if not conn.recv(1) and busy[0]: _thread.interrupt_main()
        threading.Thread(target=watch, daemon=True).start()
        status = 1
        try:
            status = run(asked["code"], asked)
            busy[0] = False
            sys.stdout.flush(); sys.stderr.flush()
        except BaseException: pass
        for name, value in before.items():
            if value is None: os.environ.pop(name, None)
            else: os.environ[name] = value
        for i, fd in enumerate(kept):
            os.dup2(fd, i); os.close(fd)
        sys.stdout = open(1, "w", closefd=False)   # what nobody has read of it goes with the old ones
        sys.stderr = open(2, "w", 1, closefd=False)
        for fd in fds: os.close(fd)
        conn.sendall(b"%d\n" % (status & 255))
    except (OSError, KeyboardInterrupt): pass
    finally: conn.close()
]]

local PYTHON_CLIENT = [[
import json, os, socket, sys, time
path = "/proc/self/fd/%d/%s" % (os.open(os.environ.get("TMPDIR") or "/tmp", os.O_RDONLY), sys.argv[1])
asked = json.loads(sys.argv[3])
asked["code"] = sys.argv[2]
asked = json.dumps(asked).encode()
for i in range(100):
    try:
        s = socket.socket(socket.AF_UNIX); s.connect(path); break
    except OSError: time.sleep(0.05)
else: sys.exit("the interpreter has ended: open another one")
socket.send_fds(s, [b"%016d" % len(asked)], [0, 1, 2])
s.recv(1); s.sendall(asked)
end = s.makefile().readline()
sys.exit(int(end) if end else "the interpreter has ended: open another one")
]]

-- For each language: start_words(name), which start the interpreter; run_words(name, code, asked), which run a piece of code
-- in it. asked: JSON with env (names and values for this piece alone) and structured: the value and the error come between
-- NUL bytes, as JSON, instead of as text.
M.languages = {
  python = {
    start_words = function(name) return { "python3", "-c", PYTHON_SERVER, name } end,
    run_words = function(name, code, asked) return { "python3", "-c", PYTHON_CLIENT, name, code, asked } end,
  },
  node = require "sandglass.interpreter_node",
}

return M
