#!/usr/bin/env python3
"""oracle.py SANDGLASS SESSION ACTION SEQ: the rows of the action's terminal after event SEQ, made by libvterm from all output before it."""
import codecs, ctypes, json, subprocess, sys

sandglass, session, action, last = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
lib = ctypes.CDLL("libvterm.so.0")
for name in "vterm_new", "vterm_obtain_screen":
    getattr(lib, name).restype = ctypes.c_void_p
output = subprocess.run([sandglass, "out", f"{session}#{action}", "--raw"], capture_output=True, check=True).stdout
events = [json.loads(l) for l in subprocess.run([sandglass, "events", session, "--json"], capture_output=True, text=True, check=True).stdout.splitlines()]


class Rect(ctypes.Structure):
    _fields_ = [(n, ctypes.c_int) for n in ("r0", "r1", "c0", "c1")]


size, at, vt, text = [24, 80], 0, None, codecs.getincrementaldecoder("utf-8")()
for e in events:
    if e["seq"] > last:
        break
    body = e["body"]
    if e["kind"] == "action.requested" and e["seq"] == action:
        size = [body["args"].get("rows", 24), body["args"].get("cols", 80)]
        vt = ctypes.c_void_p(lib.vterm_new(*size))
        lib.vterm_set_utf8(vt, 1)
        screen = ctypes.c_void_p(lib.vterm_obtain_screen(vt))
        lib.vterm_screen_enable_altscreen(screen, 1)
        lib.vterm_screen_reset(screen, 1)
    elif e.get("action") == action and e["kind"] in ("proc.resize", "terminal.attached"):
        size = [body["rows"], body["cols"]]
        lib.vterm_set_size(vt, *size)
    elif e.get("action") == action and e["kind"] == "output" and body["stream"] == 3:
        # libvterm 0.1 loses a character that comes in two pieces
        piece = text.decode(output[at:at + body["len"]]).encode()
        at += body["len"]
        lib.vterm_input_write(vt, piece, ctypes.c_size_t(len(piece)))
row_text = ctypes.create_string_buffer(1 << 16)
for row in range(size[0]):
    n = lib.vterm_screen_get_text(screen, row_text, ctypes.c_size_t(1 << 16), Rect(row, row + 1, 0, size[1]))
    print(row_text.raw[:n].decode().replace("\0", " ").rstrip())
