#!/usr/bin/env python3
"""painter.py MEGABYTES [wait]: writes once what nothing repaints (title, margins, colors, a second set of characters), then that much of frames.
wait: continues after each line that is typed, with as much again; the line "end" ends it."""
import random, sys

frame = random.Random(7)
write = sys.stdout.write
write("\x1b[?1049h\x1b[?25l\x1b[?2004h\x1b[1;1Hwritten once, 文字 \x1b(0qqx\x1b(B\x1b[30;1H\x1b[7mthe last row\x1b[m\x1b[4;20r")


def paint(total):
    done = 0
    while done < total:
        some = frame.choice(["word text here", "é│", "line\n\r", "\x1bM", "\x1b(0qqqx\x1b(B", "\x1b[L", "\x1b[3P"])
        text = "\x1b[?2026h\x1b[%d;%dH\x1b[38;5;%dm%s\x1b[?2026l" % (frame.randint(4, 19), frame.randint(1, 60), frame.randint(0, 255), some)
        write(text)
        done += len(text)
    write("\x1b[25;1Hpainted\x1b[m")
    sys.stdout.flush()


paint(float(sys.argv[1]) * 1e6)
for line in sys.stdin if "wait" in sys.argv else []:
    if line.strip() == "end":
        break
    write("\x1b[25;1H\x1b[2K")
    paint(float(sys.argv[1]) * 1e6)
