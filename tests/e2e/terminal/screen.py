#!/usr/bin/env python3
"""screen.py SOCKET PROGRAM...: a terminal of 100x30 cells with pixels that answers DA1; commands come over a unix socket, one connection each:
  type BYTES (python escapes) | raw | size COLS ROWS | wait TEXT SECONDS | modes | kill SIGNAL | status
`modes` says which modes of the terminal are on; `raw` prints what has come so far as a Python literal."""
import ast, fcntl, os, pty, re, select, signal, socket, struct, sys, termios, time

sock = socket.socket(socket.AF_UNIX)
sock.bind(sys.argv[1])
sock.listen(4)


def set_size(fd, cols, rows):
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, cols * 8, rows * 16))


pid, master = pty.fork()
if pid == 0:
    sock.close()
    set_size(0, 100, 30)
    os.execvp(sys.argv[2], sys.argv[2:])
set_size(master, 100, 30)
seen, status = b"", None


def modes():
    on, kitty = set(), [0, 0]
    for m in re.finditer(rb"\x1b\[(?:\?([0-9;]+)([hl])|([<>])(\d*)u)", seen):
        if m[2]:
            for n in m[1].split(b";"):
                (on.add if m[2] == b"h" else on.discard)(int(n))
        else:
            s = 1 if 1049 in on else 0
            kitty[s] = kitty[s] + 1 if m[3] == b">" else max(0, kitty[s] - int(m[4] or 1))
    return "%s kitty %d" % (" ".join(map(str, sorted(on - {25, 7}))), sum(kitty))


def pump(t):
    global seen, status
    r, _, _ = select.select([master] if status is None else [], [], [], t)
    if r:
        try:
            data = os.read(master, 65536)
        except OSError:
            data = b""
        if not data:
            status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            return
        asked = seen.count(b"\x1b[c")
        seen += data
        if seen.count(b"\x1b[c") > asked: # a query may come in two pieces
            os.write(master, b"\x1b[?62;22c")


def command(words):
    verb, _, rest = words.partition(" ")
    if verb == "type":
        data = ast.literal_eval('b"' + rest + '"')
        while data:
            data = data[os.write(master, data[:1024]):]
            pump(0.001)
    elif verb == "size":
        set_size(master, *map(int, rest.split()))
        os.kill(pid, signal.SIGWINCH)
    elif verb == "kill":
        os.kill(pid, getattr(signal, "SIG" + rest))
    elif verb == "wait":
        text, _, seconds = rest.rpartition(" ")
        end, want = time.time() + float(seconds), ast.literal_eval('b"' + text + '"')
        while want not in seen and time.time() < end:
            pump(0.05)
        return "ok" if want in seen else "no"
    elif verb == "modes":
        pump(0.2)
        return modes()
    elif verb == "raw":
        return repr(seen)
    elif verb == "status":
        end = time.time() + float(rest or 0)
        while status is None and time.time() < end:
            pump(0.05)
        return str(status)
    return "ok"


while True:
    r, _, _ = select.select([sock] + ([master] if status is None else []), [], [])
    if master in r:
        pump(0)
    if sock in r:
        c, _ = sock.accept()
        words = c.makefile().readline().rstrip("\n")
        if words == "end":
            break
        c.sendall(command(words).encode())
        c.close()
