"""Passes lines on, then says whether they came one after another, as the server sent them, or all at once."""
import sys, time

at = []
for line in iter(sys.stdin.readline, ""):
    at.append(time.monotonic())
    sys.stdout.write(line)
print("streamed" if len(at) >= 4 and at[-1] - at[0] > 0.5 else "all at once")
