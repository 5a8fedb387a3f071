"""Random bytes into the real console in a real pseudo terminal, on a session where high-risk actions wait.

The keys without which the dialog cannot approve (y, s, p, e, m, or their numbers) are never typed, so nothing at all may be approved: by
no click, escape sequence, paste, half of a sequence, or resize. A console that was left is begun again; each time its
terminal must be as it was. Usage: keys_pty.py SECONDS SEED -- COMMAND..."""
import fcntl, os, pty, random, select, signal, struct, sys, termios, time

seconds, seed, command = float(sys.argv[1]), int(sys.argv[2]), sys.argv[4:]
never = set(b"yspemYSPEM1234") | {0x1A, 0x1C, 0x13}  # nor what stops a job or, off the screen, the terminal itself
pieces = [b"\r", b"\x1b", b"\t", b"A", b"a", b"X", b"n", b"x", b"d", b"v", b"o", b"t", b"j", b"k", b"J", b"G", b"gg", b"/", b"?",
          b"\x10", b":", b"5", b"7", b"\x1b[A", b"\x1b[B", b"\x1b[5~", b"\x1b[6~", b"\x1bOP", b"\x1b[200~", b"\x1b[201~",
          b"\x1b[", b"\x1b]52;", b"\x9b", b"\xff\xfe", b"\xe2\x82", b" ", b"\x03", b"\x04", b"\x15", b"!", b"$", b"i", b"I", b"'"]
random.seed(seed)


class Console:
    def __init__(self):
        self.master, self.slave = pty.openpty()
        self.size(36, 120)
        self.before = termios.tcgetattr(self.slave)
        self.tail, self.sent, self.got, self.status = b"", 0, 0, None
        self.pid = os.fork()
        if self.pid == 0:
            os.setsid()
            fcntl.ioctl(self.slave, termios.TIOCSCTTY, 0)
            for fd in (0, 1, 2):
                os.dup2(self.slave, fd)
            os.execvp(command[0], command)
        end = time.monotonic() + 30
        while b"\x1b[?1049h" not in self.tail and time.monotonic() < end and not self.gone():
            self.drain(0.1)
        self.shown = b"\x1b[?1049h" in self.tail

    def size(self, rows, cols):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))

    def drain(self, wait):
        while select.select([self.master], [], [], wait)[0]:
            try:
                got = os.read(self.master, 65536)
            except OSError:
                return
            self.tail, self.got, wait = (self.tail + got)[-4096:], self.got + len(got), 0

    def type(self, piece):
        if piece and select.select([], [self.master], [], 0)[1]:
            self.sent += os.write(self.master, piece)

    def gone(self):
        if self.status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self.status = status if pid else None
        return self.status is not None

    def leave(self):
        """Out of whatever is open, then away; why that did not do, or nothing."""
        self.size(36, 120)
        end = time.monotonic() + 60  # by the clock: a terminal that was given back echoes each key at once
        while time.monotonic() < end and not self.gone():
            for piece in (b"\x1b[201~", b"\x1b", b"\x1b", b"\x1b", b"Q", b"1"):
                if self.gone():
                    break
                self.type(piece)
                self.drain(0.15)
            time.sleep(0.05)
        self.drain(0.2)
        wrong = []
        if not self.gone():
            wrong.append("it does not leave: %r" % self.tail[-600:])
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        if termios.tcgetattr(self.slave) != self.before:
            wrong.append("terminal not restored")
        if b"\x1b[?1049l" not in self.tail:
            wrong.append("screen not restored; it ended with %r" % self.tail[-400:])
        # a Ctrl-C that was typed ahead and comes after it has given the terminal back is not its own any more
        if self.status and os.WIFSIGNALED(self.status) and not (os.WTERMSIG(self.status) == signal.SIGINT and not wrong):
            wrong.append("it died of signal %d" % os.WTERMSIG(self.status))
        os.close(self.master)
        os.close(self.slave)
        return wrong


def some():
    if random.random() < 0.05:  # a click or a wheel, anywhere
        return b"\x1b[<%d;%d;%d%s" % (random.choice((0, 0, 64, 65)), random.randint(1, 130), random.randint(1, 40),
                                    random.choice((b"M", b"M", b"m")))
    piece = random.choice(pieces) if random.random() < 0.6 else bytes([random.randrange(256)])
    return bytes(b for b in piece if b not in never)


end, sent, got, begun, wrong = time.monotonic() + seconds, 0, 0, 0, []
while time.monotonic() < end and not wrong:
    c, begun = Console(), begun + 1
    while time.monotonic() < end and not c.gone():
        c.type(some())
        if random.random() < 0.003:
            c.size(random.randint(1, 60), random.randint(1, 200))
            os.kill(c.pid, signal.SIGWINCH)
        c.drain(0.002 if random.random() < 0.9 else 0.02)
    if not c.shown and c.gone():
        break  # the keys have killed every agent, or denied all of it: there is no session any more
    wrong = c.leave()
    sent, got = sent + c.sent, got + c.got
if time.monotonic() >= end and sent < 10 * seconds:
    wrong.append("hardly anything was typed")
print("sent %d bytes in %d consoles, got %d: %s" % (sent, begun, got, ", ".join(wrong) or "each left, its terminal restored"))
sys.exit(1 if wrong else 0)
