"""listen.py SOCKET SECONDS: attaches to a session as one who looks and prints every byte that the supervisor sends."""
import json, socket, struct, sys, time

s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])


def send(kind, number, body):
    b = json.dumps(body).encode()
    s.sendall(struct.pack("<IHHQ", len(b), kind, 0, number) + b)


send(1, 0, {"version": 1, "min": 1, "program": "listen", "name": "listen", "tty": "", "watch": True})
send(3, 7, {"words": ["state"], "opts": {}})
end = time.monotonic() + float(sys.argv[2])
s.settimeout(0.2)
while time.monotonic() < end:
    try:
        b = s.recv(1 << 16)
    except TimeoutError:
        continue
    if not b:
        break
    sys.stdout.buffer.write(b)
    sys.stdout.flush()
