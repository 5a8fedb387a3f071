-- box:interpreter "python" or "node": one interpreter stays in the sandbox; each piece of code is an action of its own, a small client that
-- hands the code and its own output to the interpreter and ends with the status: 1 after an exception. The interpreter puts the client
-- into a file, so that the action's command is that file and the code.
local M = {}

local PYTHON_SERVER = [[
import ast, builtins, json, os, socket, sys, threading, traceback, _thread
here = os.path.abspath(os.environ.get("TMPDIR") or "/tmp")
path = "/proc/self/fd/%d/%s" % (os.open(here, os.O_RDONLY), sys.argv[1])   # a socket's path is short
names = {"__name__": "__main__", "__builtins__": builtins}
top = socket.socket(socket.AF_UNIX)
top.bind(path + ".new")
top.listen(8)
os.rename(path + ".new", path)
with open(path + ".py", "w") as client: client.write(sys.argv[2])
print(os.path.join(here, sys.argv[1] + ".py"), flush=True)
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
import json, os, socket, sys
here, name = os.path.split(os.path.abspath(__file__))
path = "/proc/self/fd/%d/%s" % (os.open(here, os.O_RDONLY), name[:-3])
asked = json.loads(sys.argv[2]) if len(sys.argv) > 2 else {}
asked["code"] = sys.stdin.buffer.read().decode() if asked.pop("stdin", False) else sys.argv[1]
asked = json.dumps(asked).encode()
s = socket.socket(socket.AF_UNIX)
try: s.connect(path)
except OSError: sys.exit("the interpreter has ended: open another one")
socket.send_fds(s, [b"%016d" % len(asked)], [0, 1, 2])
s.recv(1); s.sendall(asked)
end = s.makefile().readline()
sys.exit(int(end) if end else "the interpreter has ended: open another one")
]]

-- For each language: program, and start_words(name), which start the interpreter; it prints the path of its client in a line of its
-- own. The client's arguments are the code and, if there is more to say, JSON with env (names and values for this piece alone),
-- structured: the value and the error come between NUL bytes, as JSON, instead of as text; stdin: the code is there.
M.languages = {
  python = {
    program = "python3",
    start_words = function(name) return { "python3", "-c", PYTHON_SERVER, name, PYTHON_CLIENT } end,
  },
  node = require "sandglass.interpreter_node",
}

local STARTED_MOST = 65536   -- bytes of output before the client's path: a start-up file of the user may print something

-- Waits for the line with the path of the client, which is named as the interpreter: the path, or nil and an error. Anything in the
-- sandbox may have written the output, so it is bounded.
function M.client_of(proc, name)
  local out, err = "", ""
  while #out <= STARTED_MOST do
    local data, stream = proc:read()
    if not data then
      if type(stream) == "table" then return nil, stream end   -- denied, or the like
      break
    end
    if stream == "err" then err = (err .. data):sub(-500) else out = out .. data end
    local at = out:find("/" .. name .. ".", 1, true)
    local nl = at and out:find("\n", at, true)
    if nl then return out:sub(out:sub(1, at):match "^.*\n()" or 1, nl - 1) end
  end
  proc:kill "KILL"
  return nil, { code = "backend", msg = "the interpreter didn't start" .. (err ~= "" and ": " .. err:gsub("%s+$", "") or "") }
end

return M
