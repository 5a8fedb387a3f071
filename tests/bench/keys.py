#!/usr/bin/env python3
"""keys.py SANDGLASS [ROUNDS MEGABYTES]: what `run -i` adds to the echo of a key, and how fast output passes, against the same program
outside, alone and below script(1), which records it, too. One key outside, then one inside, so that both see the same load."""
import fcntl, os, pty, select, shlex, shutil, signal, statistics, struct, subprocess, sys, tempfile, termios, time, tty

sandglass = sys.argv[1]
rounds, megabytes = (int(w) for w in sys.argv[2:4] or (500, 20))
PROGRAM = r"""
import os, sys, tty
tty.setraw(0)
os.write(1, b"ready")
line = b"%s\r\n" % (b"x" * 98)
while True:
    b = os.read(0, 1)
    if b == b"F":
        left = int(sys.argv[1]) * 10000
        while left:
            n = min(left, 160)
            data = line * n
            while data:
                data = data[os.write(1, data):]
            left -= n
        os.write(1, b"!")
    elif not b or b == b"q":
        break
    else:
        os.write(1, b.upper())
"""


def full_lines(command):
    """The program in a shell whose terminal is as it is at first: MB/s of what arrives between its two marks."""
    pid, fd = start(command, raw=False)
    read_until(fd, b"@begin@", 60)
    began, size = time.monotonic(), read_until(fd, b"@end@", 300)
    speed = size / 1e6 / (time.monotonic() - began)
    os.write(fd, b"\n")
    finish(pid, fd)
    return speed


def start(argv, raw=True):
    pid, fd = pty.fork()
    if pid == 0:
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        os.environ["TERM"] = "xterm-256color"
        os.execvp(argv[0], argv)
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
    if raw:
        tty.setraw(fd)
    return pid, fd


def read_until(fd, last, seconds):
    got, end, size = b"", time.monotonic() + seconds, 0
    while last not in got:
        if not select.select([fd], [], [], max(0, end - time.monotonic()))[0]:
            sys.exit("no answer within %d s after %r" % (seconds, got[-200:]))
        try:
            more = os.read(fd, 1 << 16)
        except OSError:
            sys.exit("ended: %r" % got)
        got, size = got[-8:] + more, size + len(more)
    return size


def key(fd, i):
    b = bytes([97 + i % 13])
    began = time.monotonic()
    os.write(fd, b)
    read_until(fd, b.upper(), 30)
    return (time.monotonic() - began) * 1000


def flood(fd):
    began = time.monotonic()
    os.write(fd, b"F")
    read_until(fd, b"!", 300)
    return megabytes / (time.monotonic() - began)


def finish(pid, fd):
    end = time.monotonic() + 20
    while time.monotonic() < end and os.waitpid(pid, os.WNOHANG) == (0, 0):
        if select.select([fd], [], [], 0.05)[0]:
            try:
                os.read(fd, 1 << 16)
            except OSError:
                pass


work = tempfile.mkdtemp()
subprocess.run(["git", "init", "-q", work], check=True)
inner = ["python3", "-c", PROGRAM, str(megabytes)]
outside, inside = start(inner), start([sandglass, "run", "-i", "--repo", work, "--"] + inner)
read_until(outside[1], b"ready", 30)
read_until(inside[1], b"ready", 60)
for i in range(20):
    key(outside[1], i), key(inside[1], i)
pairs = []
for i in range(rounds):
    pairs.append((key(outside[1], i), key(inside[1], i)))
    time.sleep(0.003)
added = sorted(b - a for a, b in pairs)
median, p99 = statistics.median(added), added[min(len(added) - 1, int(len(added) * 0.99))]
direct = statistics.median(a for a, _ in pairs)
speeds = [(flood(outside[1]), flood(inside[1])) for _ in range(3)]
out, into = (statistics.median(s[i] for s in speeds) for i in (0, 1))
verdict = lambda good: "PASS" if good else "FAIL"
print("echo of a key, outside: %.2f ms" % direct)
print("added to it, median: %.2f ms (reach 3.00) %s" % (median, verdict(median <= 3)))
print("added to it, p99: %.2f ms of %d (reach 15.00) %s" % (p99, rounds, verdict(p99 <= 15)))
print("output, outside: %.1f MB/s, inside: %.1f MB/s, ratio %.2f (reach 0.80) %s" % (out, into, into / out, verdict(into / out >= 0.8)))
for pid, fd in (outside, inside):
    os.write(fd, b"q")
    finish(pid, fd)
with open(work + "/log", "w") as f:
    for i in range(megabytes * 10000):
        f.write("%08d %s\n" % (i, "cc -c src/file.c -o build/file.o".center(90)))
for name, command in ("yes", "yes | head -c %d" % (megabytes * 500000)), ("cat", "cat log"):
    if not shutil.which("script"):
        print("below script(1): not measured, script is not installed")
        break
    command = "cd %s; printf '@be''gin@'; %s; printf '@en''d@'; read x" % ("/workspace 2>/dev/null || cd " + work, command)
    ratios = []
    for i in range(3):
        below = full_lines(["script", "-qc", "sh -c " + shlex.quote(command), work + "/typescript"])
        ratios.append((below, full_lines([sandglass, "run", "-i", "--repo", work, "--", "sh", "-c", command])))
    below, into = (statistics.median(r[i] for r in ratios) for i in (0, 1))
    print("%s, below script(1): %.1f MB/s, inside: %.1f MB/s, ratio %.2f (reach 0.80) %s" % (name, below, into, into / below, verdict(into / below >= 0.8)))
