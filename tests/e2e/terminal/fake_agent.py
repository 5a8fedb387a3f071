#!/usr/bin/env python3
"""A program that uses a terminal as interfaces of agents do: alternate screen, kitty keyboard, mouse, bracketed paste, synchronized
updates, queries, resize; it can call a model through its base URL and run a hook. Everything it is told is kept in log."""
import json, os, select, signal, sys, termios, tty, urllib.request

log = open(sys.argv[1] if len(sys.argv) > 1 else "/workspace/agent.log", "a", buffering=1)
fd = 0
before = termios.tcgetattr(fd)
size = os.get_terminal_size(fd)
import fcntl, struct
pixels = struct.unpack("HHHH", fcntl.ioctl(fd, termios.TIOCGWINSZ, b"\0" * 8))
log.write("start %dx%d pixels %dx%d term %s color %s program %s\n" % (size.columns, size.lines, pixels[2], pixels[3], os.environ.get("TERM"),
          os.environ.get("COLORTERM"), os.environ.get("TERM_PROGRAM")))
resized = False
said = ["ready"]


def on_winch(*_):
    global resized
    resized = True


def put(s):
    os.write(1, s.encode() if isinstance(s, str) else s)


def paint():
    c, r = os.get_terminal_size(fd)
    out = "\x1b[?2026h\x1b[2J\x1b[H\x1b[1;32mfake agent\x1b[0m %dx%d" % (c, r)
    for i, line in enumerate(said[-(r - 3):]):
        out += "\x1b[%d;1H%s" % (i + 2, line[:c])
    out += "\x1b[%d;1H> " % r + "\x1b[?2026l"
    put(out)


def model(text):
    url = os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages"
    body = json.dumps({"model": os.environ.get("ANTHROPIC_MODEL", "m-1"), "max_tokens": 100, "tools": [{"name": "Bash"}], "messages": [{"role": "user", "content": text}]})
    rq = urllib.request.Request(url, body.encode(), {"content-type": "application/json", "x-api-key": os.environ.get("ANTHROPIC_API_KEY", ""),
                                                     "anthropic-version": "2023-06-01"})
    try:
        with urllib.request.urlopen(rq, timeout=60) as a:
            for block in json.load(a).get("content", []):
                if block.get("type") == "text":
                    return block["text"]
                if block.get("type") == "tool_use":
                    return "tool " + json.dumps(block.get("input"))
    except Exception as e:
        return "model failed: %s" % e
    return "nothing"


signal.signal(signal.SIGWINCH, on_winch)
ON = "\x1b[?1049h\x1b[?25l\x1b[>5u\x1b[?1000;1002;1006h\x1b[?2004h\x1b[?1004h\x1b[?2031h\x1b]0;fake agent\a\x1b[c"
OFF = "\x1b[?2031l\x1b[?1004l\x1b[?2004l\x1b[?1000;1002;1006l\x1b[<u\x1b[?25h\x1b[?1049l"


def stop():
    put(OFF)
    termios.tcsetattr(fd, termios.TCSADRAIN, before)
    os.kill(0, signal.SIGTSTP)
    tty.setraw(fd)
    put(ON)
    said.append("continued")
    log.write("continued\n")
    paint()


tty.setraw(fd)
put(ON)
line = b""
try:
    paint()
    while True:
        if resized:
            resized = False
            log.write("size %dx%d\n" % os.get_terminal_size(fd))
            paint()
        try:
            if not select.select([fd], [], [], 0.5)[0]:
                continue
        except InterruptedError:
            continue
        data = os.read(fd, 65536)
        if not data:
            break
        log.write("got %r\n" % data)
        if data == b"\x1a":
            stop()
            continue
        if b"\x1b" in data:
            said.append("sequence of %d bytes" % len(data))
            paint()
            continue
        line += data
        while b"\r" in line:
            words, line = line.split(b"\r", 1)
            words = words.decode("utf-8", "replace")
            if words == "quit":
                sys.exit(7)
            if words == "bytes":
                put(b"\x1b]52;c;aGk=\x07" + bytes(b for b in range(128, 256)) + b"\x1bPq\x1b\\")
            elif words.startswith("ask "):
                said.append("model: " + model(words[4:]))
            elif words.startswith("/"):
                said.append("file %s %s" % (words, "is there" if os.path.exists(words) else "is not there"))
            elif words == "flood":
                for i in range(2000):
                    put("\x1b[3;1Hline %06d %s" % (i, "x" * 60))
                said.append("flooded")
            else:
                said.append("you said " + words)
            paint()
        paint()
finally:
    put(OFF)
    termios.tcsetattr(fd, termios.TCSADRAIN, before)
    log.write("end\n")
