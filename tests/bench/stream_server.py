#!/usr/bin/env python3
"""Streams /N/...: an answer of Anthropic's Messages API with N pieces of text, as fast as it is read; /N@R/...: R pieces a
second, as a model would. In chunks, as providers send what they do not know the length of. Prints its port."""
import json
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def event(e):
    return b"event: %s\ndata: %s\n\n" % (e["type"].encode(), json.dumps(e).encode())


HEAD = event({"type": "message_start", "message": {"id": "m", "usage": {"input_tokens": 1}}}) + event(
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}})
PIECE = event({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "some words of it "}})
TAIL = event({"type": "content_block_stop", "index": 0}) + event(
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 9}}) + event(
    {"type": "message_stop"})


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def chunk(self, data):
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def do_POST(self):
        self.rfile.read(int(self.headers.get("content-length", 0)))
        n, rate = (int(v) for v in (self.path.split("/")[1] + "@0").split("@")[:2])
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.send_header("connection", "close")
        self.end_headers()
        self.chunk(HEAD)
        began = time.perf_counter()
        for i in range(0, n, 1 if rate else 100):
            self.chunk(PIECE * (1 if rate else min(100, n - i)))
            if rate:
                time.sleep(max(0, began + (i + 1) / rate - time.perf_counter()))
        self.chunk(TAIL)
        self.wfile.write(b"0\r\n\r\n")


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256


server = Server(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
