"""A gRPC server with TLS on loopback: grpc_server.py PORTFILE CERT KEY. test.Echo/Say answers, test.Echo/Count streams."""
import os, sys, time
from concurrent import futures

import grpc

to, cert, key = sys.argv[1:4]


def say(request, context):
    return b"hello " + request if len(request) < 100 else b"%d bytes came" % len(request)


def count(request, context):
    for i in range(4):
        yield b"event %d" % i
        time.sleep(0.3)


server = grpc.server(futures.ThreadPoolExecutor(4), options=[("grpc.max_receive_message_length", -1)])
server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("test.Echo", {
    "Say": grpc.unary_unary_rpc_method_handler(say), "Count": grpc.unary_stream_rpc_method_handler(count)}),))
with open(key, "rb") as k, open(cert, "rb") as c:
    port = server.add_secure_port("127.0.0.1:0", grpc.ssl_server_credentials([(k.read(), c.read())]))
server.start()
with open(to + ".new", "w") as f:
    f.write(str(port))
os.rename(to + ".new", to)
server.wait_for_termination()
