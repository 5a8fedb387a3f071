"""Random bytes into the real console in a real pseudo terminal, on a session where high-risk actions wait.

The letters without which the dialog cannot approve (y, s, p, e, m) are never typed, so nothing at all may be approved: by
no click, escape sequence, paste, half of a sequence, or resize. Usage: keys_pty.py SECONDS SEED -- COMMAND..."""
import fcntl, os, pty, random, select, signal, struct, sys, termios, time

seconds, seed, command = float(sys.argv[1]), int(sys.argv[2]), sys.argv[4:]
never = set(b"yspemYSPEM") | {0x1A, 0x1C}
pieces = [b"\r", b"\x1b", b"\t", b"A", b"a", b"X", b"n", b"x", b"d", b"v", b"o", b"t", b"j", b"k", b"J", b"G", b"gg", b"/", b"?",
          b"\x10", b":", b"1", b"2", b"\x1b[A", b"\x1b[B", b"\x1b[5~", b"\x1b[6~", b"\x1bOP", b"\x1b[200~", b"\x1b[201~",
          b"\x1b[", b"\x1b]52;", b"\x9b", b"\xff\xfe", b"\xe2\x82", b" ", b"\x03", b"\x04", b"\x15", b"!", b"$", b"i", b"I", b"'"]
random.seed(seed)
master, slave = pty.openpty()
size = lambda r, c: fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", r, c, 0, 0))
size(36, 120)
before = termios.tcgetattr(slave)
pid = os.fork()
if pid == 0:
    os.setsid()
    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
    for fd in (0, 1, 2):
        os.dup2(slave, fd)
    os.execvp(command[0], command)
tail, sent, bytes_out = b"", 0, 0


def drain(wait):
    global tail, bytes_out
    while select.select([master], [], [], wait)[0]:
        try:
            got = os.read(master, 65536)
        except OSError:
            return
        tail, bytes_out, wait = (tail + got)[-4096:], bytes_out + len(got), 0


def gone():
    return os.waitpid(pid, os.WNOHANG)[0] == pid


drain(2)
end, over = time.monotonic() + seconds, False
while time.monotonic() < end and not over:
    piece = random.choice(pieces) if random.random() < 0.6 else bytes([random.randrange(256)])
    if random.random() < 0.05:  # a click or a wheel, anywhere
        piece = b"\x1b[<%d;%d;%d%s" % (random.choice((0, 0, 64, 65)), random.randint(1, 130), random.randint(1, 40),
                                     random.choice((b"M", b"M", b"m")))
        os.write(master, piece)
        piece = b""
    piece = bytes(b for b in piece if b not in never)
    if select.select([], [master], [], 0)[1] and piece:
        os.write(master, piece)
        sent += len(piece)
    if random.random() < 0.003:
        size(random.randint(1, 60), random.randint(1, 200))
        os.kill(pid, signal.SIGWINCH)
    drain(0.002 if random.random() < 0.9 else 0.02)
    over = gone()
size(36, 120)
for _ in range(20):  # out of whatever is open, then leave
    if over:
        break
    for piece in (b"\x1b[201~", b"\x1b", b"\x1b", b"\x1b", b"Q", b"y"):
        os.write(master, piece)
        drain(0.15)
    over = gone()
restored = termios.tcgetattr(slave)
drain(0.2)
if not over:
    os.kill(pid, signal.SIGKILL)
print("sent %d bytes, got %d; left %s; terminal %s, screen %s" % (
    sent, bytes_out, "yes" if over else "NO", "restored" if restored == before else "NOT RESTORED",
    "restored" if b"\x1b[?1049l" in tail else "NOT RESTORED"))
sys.exit(0 if over and restored == before and b"\x1b[?1049l" in tail else 1)
