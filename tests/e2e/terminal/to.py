"""to.py SOCKET COMMAND: a command for screen.py; prints what it answers."""
import socket, sys
s = socket.socket(socket.AF_UNIX)
s.settimeout(90)
s.connect(sys.argv[1])
s.sendall(sys.argv[2].encode() + b"\n")
print(s.makefile().read(), end="")
