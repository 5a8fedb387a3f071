import sys, grpc

what, target = sys.argv[1:3]
with grpc.secure_channel(target, grpc.ssl_channel_credentials()) as channel:
    if what == "stream":
        for line in channel.unary_stream("/test.Echo/Count")(b"x", timeout=30):
            print(line.decode(), flush=True)
    else:
        body = open(sys.argv[3], "rb").read() if what == "upload" else b"grpc"
        try:
            print(channel.unary_unary("/test.Echo/Say")(body, timeout=20).decode())
        except grpc.RpcError as e:
            sys.exit("%s %s" % (e.code(), e.details()))
