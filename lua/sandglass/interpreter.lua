-- box:interpreter "python" or "node": one interpreter stays in the sandbox; each piece of code is an action of its own, a small client that
-- hands the code and its own output to the interpreter and ends with the status: 1 after an exception.
local M = {}

local PYTHON_SERVER = [[
import ast, builtins, os, socket, sys, threading, traceback, _thread
path = sys.argv[1]
names = {"__name__": "__main__", "__builtins__": builtins}
top = socket.socket(socket.AF_UNIX)
top.bind(path + ".new")
top.listen(8)
os.rename(path + ".new", path)
def run(code):
    try:
        tree = ast.parse(code, "<code>")
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, "<code>", "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), "<code>", "eval"), names)
            if value is not None: print(repr(value))
        return 0
    except SystemExit as e:
        return e.code if isinstance(e.code, int) else 0 if e.code is None else 1
    except KeyboardInterrupt:
        return 130
    except BaseException:
        kind, value, tb = sys.exc_info()
        traceback.print_exception(kind, value, tb and tb.tb_next)
        return 1
while True:
    conn, _ = top.accept()
    try:
        head, fds, _, _ = socket.recv_fds(conn, 16, 3)
        want, code = int(head), b""
        conn.sendall(b"+")
        while len(code) < want:
            more = conn.recv(65536)
            if not more: break
            code += more
        kept = [os.dup(i) for i in range(3)]
        for i, fd in enumerate(fds): os.dup2(fd, i)
        busy = [True]
        def watch():
            if not conn.recv(1) and busy[0]: _thread.interrupt_main()
        threading.Thread(target=watch, daemon=True).start()
        status = 1
        try:
            status = run(code.decode())
            busy[0] = False
            sys.stdout.flush(); sys.stderr.flush()
        except BaseException: pass
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
import socket, sys, time
path, code = sys.argv[1], sys.argv[2].encode()
for i in range(100):
    try:
        s = socket.socket(socket.AF_UNIX); s.connect(path); break
    except OSError: time.sleep(0.05)
else: sys.exit("the interpreter has ended: open another one")
socket.send_fds(s, [b"%016d" % len(code)], [0, 1, 2])
s.recv(1); s.sendall(code)
end = s.makefile().readline()
sys.exit(int(end) if end else "the interpreter has ended: open another one")
]]

-- For each language: start_words(path), which start the interpreter; run_words(path, code), which run a piece of code in it.
M.languages = {
  python = {
    start_words = function(path) return { "python3", "-c", PYTHON_SERVER, path } end,
    run_words = function(path, code) return { "python3", "-c", PYTHON_CLIENT, path, code } end,
  },
  node = require "sandglass.interpreter_node",
}

return M
