#!/usr/bin/env python3
"""TLS in front of a fake: tls.py PORTFILE CERT KEY CA PORT takes connections of those who show a certificate of CA and passes
what they say on to 127.0.0.1:PORT. Its own port goes into PORTFILE."""
import os, socket, ssl, sys, threading

to, cert, key, ca, port = sys.argv[1:6]
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(cert, key)
context.load_verify_locations(ca)
context.verify_mode = ssl.CERT_REQUIRED
context.set_alpn_protocols(["http/1.1"])


def pump(a, b, done):
    try:
        while piece := a.recv(65536):
            b.sendall(piece)
    except OSError:
        pass
    done.set()


def serve(raw):
    try:
        a = context.wrap_socket(raw, server_side=True)
        b = socket.create_connection(("127.0.0.1", int(port)))
    except OSError:
        return raw.close()
    done = threading.Event()
    for x, y in ((a, b), (b, a)):
        threading.Thread(target=pump, args=(x, y, done), daemon=True).start()
    done.wait()
    for s in (a, b):
        try:
            s.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        s.close()


s = socket.create_server(("127.0.0.1", 0))
with open(to + ".new", "w") as f:
    f.write(str(s.getsockname()[1]))
os.rename(to + ".new", to)
while True:
    threading.Thread(target=serve, args=(s.accept()[0],), daemon=True).start()
