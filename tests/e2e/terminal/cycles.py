#!/usr/bin/env python3
"""cycles.py SANDGLASS SESSION attach COUNT: attaches to the fake agent and detaches; prints how many different screens came.
cycles.py SANDGLASS SESSION kill COUNT [SEED]: kills the client after a random number of bytes; prints what is left on in its terminal."""
import fcntl, os, pty, random, select, signal, struct, sys, termios, time

sandglass, session, what, count = sys.argv[1:4] + [int(sys.argv[4])]
FRAME = b"\x1b[1;32mfake agent\x1b[0m 100x30"


class Modes:
    """What a terminal has switched on, byte by byte: a sequence that is cut ends as terminals end it."""
    ON_AT_FIRST = {7, 25}

    def __init__(self):
        self.on, self.kitty, self.at, self.seq = set(self.ON_AT_FIRST), [0, 0], "", b""

    def feed(self, data):
        for c in data:
            if c in (0x18, 0x1a):
                self.at = ""
            elif self.at == "string":
                self.at = "" if c == 7 else "string-esc" if c == 0x1b else "string"
            elif c == 0x1b:
                self.at = "esc"
            elif self.at == "string-esc" and c == 0x5c:
                self.at = ""
            elif self.at in ("esc", "string-esc"):
                self.at, self.seq = {0x5b: "csi"}.get(c, "string" if c in b"]P_^X" else ""), b""
            elif self.at == "csi":
                if c < 0x40:
                    self.seq += bytes([c])
                else:
                    self.at = ""
                    self.sequence(self.seq, chr(c))

    def sequence(self, seq, end):
        screen = 1049 in self.on
        if seq[:1] == b"?" and end in "hl":
            for n in seq[1:].split(b";"):
                (self.on.add if end == "h" else self.on.discard)(int(n or 0))
        elif end == "u" and seq[:1] == b">":
            self.kitty[screen] += 1
        elif end == "u" and seq[:1] == b"<":
            self.kitty[screen] = max(0, self.kitty[screen] - int(seq[1:] or 1))

    def left(self):
        return sorted(self.on ^ self.ON_AT_FIRST), self.kitty


def attach():
    pid, fd = pty.fork()
    if pid == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 800, 480))
        os.environ["TERM"] = "xterm-256color"
        os.execvp(sandglass, [sandglass, "attach", "--take", session])
    return pid, fd


def more(fd, seconds, most=65536):
    if not select.select([fd], [], [], seconds)[0]:
        return None
    try:
        return os.read(fd, most)
    except OSError:
        return b""


def until(fd, got, text, seconds=60):
    end = time.monotonic() + seconds
    while text not in got:
        data = more(fd, max(0, end - time.monotonic()))
        if not data:
            sys.exit("%r did not come: %r" % (text, got[-300:]))
        got += data
    return got


def to_end(fd):
    got = b""
    while True:
        data = more(fd, 30)
        if data is None:
            sys.exit("the terminal does not end: %r" % got[-100:])
        if not data:
            return got
        got += data


def attached():
    screens = set()
    for i in range(count):
        pid, fd = attach()
        got = until(fd, b"", FRAME)
        paint = got[got.index(b"\x1b[2J"):got.index(b"\x1b[?2026h")]
        os.write(fd, b"\x1cd")
        to_end(fd)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        os.close(fd)
        if status or b"fake agent" not in paint:
            sys.exit("cycle %d: status %d, %r" % (i, status, paint[:200]))
        screens.add(paint)
    print(len(screens))


def stat_of(pid):
    try:
        with open("/proc/%d/stat" % pid) as f:
            stat = f.read().rsplit(")", 1)[1].split()
    except OSError:
        return None   # it has ended
    return stat[0], stat[11], stat[12]


def blocked(pid):
    """Waits until the process does nothing: its terminal is full, or it has ended."""
    seen, end = "", time.monotonic() + 10
    while time.monotonic() < end:
        now = stat_of(pid)
        if now is None or now == seen and now[0] in "SZ":
            return
        seen = now
        time.sleep(0.1)


def guard_of(pid):
    try:
        with open("/proc/%d/task/%d/children" % (pid, pid)) as f:
            return int((f.read().split() or [0])[0])
    except OSError:
        return 0


def killed():
    seed = int(sys.argv[5]) if len(sys.argv) > 5 else random.randrange(1 << 30)
    chance = random.Random(seed)
    were_on = 0
    for i in range(count):
        modes, got = Modes(), 0
        pid, fd = attach()
        limit = chance.randrange(1, 1500) if i % 2 else chance.randrange(60000)
        if limit > 1500:
            modes.feed(until(fd, b"", FRAME))
            os.write(fd, b"flood\r")
        while got < limit:
            data = more(fd, 5, limit - got)
            if not data:
                break
            got += len(data)
            modes.feed(data)
        if i % 4 == 0:
            blocked(pid)
        guard = guard_of(pid)
        were_on += modes.left()[0] != []
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        if guard:
            blocked(guard)   # its terminal may be full
        modes.feed(to_end(fd))
        cooked = termios.tcgetattr(fd)[3] & (termios.ECHO | termios.ICANON)
        os.close(fd)
        left, kitty = modes.left()
        if left or any(kitty) or modes.at or cooked != termios.ECHO | termios.ICANON:
            sys.exit("seed %d, kill %d after %d bytes: modes %r, kitty %r, %r" % (seed, i, got, left, kitty, modes.at))
    print("restored" if were_on else "nothing was on")


attached() if what == "attach" else killed()
