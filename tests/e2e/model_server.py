#!/usr/bin/env python3
"""A provider that misbehaves. The first part of the path says how; the rest is Anthropic's Messages API.

Prints its port. Answers GET /count/HOW with the number of requests seen, GET /last/HOW with the last body.
"""
import json, socket, sys, threading, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

seen, last, lock = {}, {}, threading.Lock()


def event(e):
    return b"event: %s\ndata: %s\n\n" % (e["type"].encode(), json.dumps(e).encode())


def stream(blocks, stop="end_turn", usage=None):
    """Events of one answer; a block is text, or (id, name, arguments as text)."""
    out = [event({"type": "message_start", "message": {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [], "stop_reason": None,
        "usage": usage or {"input_tokens": 100, "cache_read_input_tokens": 40, "cache_creation_input_tokens": 10,
                           "output_tokens": 1}}})]
    for i, b in enumerate(blocks):
        if isinstance(b, str):
            out.append(event({"type": "content_block_start", "index": i, "content_block": {"type": "text", "text": ""}}))
            for part in (b[:3], b[3:]):
                out.append(event({"type": "content_block_delta", "index": i,
                                  "delta": {"type": "text_delta", "text": part}}))
        else:
            out.append(event({"type": "content_block_start", "index": i,
                              "content_block": {"type": "tool_use", "id": b[0], "name": b[1], "input": {}}}))
            for part in (b[2][:4], b[2][4:]):
                out.append(event({"type": "content_block_delta", "index": i,
                                  "delta": {"type": "input_json_delta", "partial_json": part}}))
        out.append(event({"type": "content_block_stop", "index": i}))
    out.append(event({"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None},
                      "usage": {"output_tokens": 20}}))
    out.append(event({"type": "message_stop"}))
    return out


def results(body):
    """The tool results of the last message of the conversation, as one text."""
    content = body["messages"][-1]["content"]
    if isinstance(content, str):
        return None
    found = [json.dumps(b.get("content", "")) for b in content if b["type"] == "tool_result"]
    return " ".join(found) if found else None


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def give(self, status, text, kind="application/json", **headers):
        data = text if isinstance(text, bytes) else text.encode()
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        for k, v in headers.items():
            self.send_header(k.replace("_", "-"), v)
        self.end_headers()
        self.wfile.write(data)

    def wrong(self, status, kind, msg, **headers):
        self.give(status, json.dumps({"type": "error", "error": {"type": kind, "message": msg}, "request_id": "req_1"}),
                  **headers)

    def events(self, list_, end=True, pause=0):
        self.send_response(200)
        self.send_header("content-type", "text/event-stream; charset=utf-8")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for e in list_:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(e), e))
            self.wfile.flush()
            time.sleep(pause)
        if end:
            self.wfile.write(b"0\r\n\r\n")
        else:
            self.close_connection = True

    def do_GET(self):
        what, how = self.path.strip("/").split("/")
        with lock:
            self.give(200, str(seen.get(how, 0)) if what == "count" else last.get(how, ""))

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        how = self.path.split("/")[1]
        with lock:
            seen[how] = n = seen.get(how, 0) + 1
            last[how] = body
        getattr(self, "on_" + how)(n, json.loads(body))

    def on_key(self, n, body):
        self.wrong(401, "authentication_error", "invalid x-api-key: " + self.headers.get("x-api-key", "(none)"))

    def on_unknown(self, n, body):
        self.wrong(404, "not_found_error", "model: " + body["model"])

    def on_bad(self, n, body):
        self.wrong(400, "invalid_request_error", "messages.0: all messages must have non-empty content")

    def on_html(self, n, body):
        self.give(200, "<html><head><style>b { color: red }</style></head><body><h1>Welcome</h1> to the hotel</body></html>",
                  "text/html")

    def on_gateway(self, n, body):
        if n < 3:
            self.give(502, "<html><body>Bad gateway</body></html>", "text/html")
        else:
            self.events(stream(["at last"]))

    def on_limited(self, n, body):
        if n < 3:
            self.wrong(429, "rate_limit_error", "slowly", retry_after_ms="30")
        else:
            self.events(stream(["at last"]))

    def on_quota(self, n, body):
        self.give(429, json.dumps({"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}}))

    def on_look(self, n, body):
        calls = [("t1", "mcp__old__shot", "{}"), ("t2", "mcp__old__read_resource", '{"uri": "x://log/1"}')]
        self.events(stream(calls[n - 1:n], "tool_use") if n < 3 else stream(["seen"]))

    def on_repair(self, n, body):
        r = results(body)
        if r is None:
            self.events(stream(["let me see", ("t1", "shell", '{"cmd": "echo fine')], "tool_use"))
        elif "not JSON" in r:
            self.events(stream([("t2", "shell", '{"cmd": "echo it is fine"}')], "tool_use"))
        else:
            self.events(stream(["repaired" if "it is fine" in r else "not repaired: " + r]))

    def on_trickle(self, n, body):
        self.events([b":\n"] + stream(["slow"])[:3] + [b":"] * 1, end=False, pause=0)
        time.sleep(30)

    def on_silent(self, n, body):
        time.sleep(30)

    def on_cut(self, n, body):
        """Breaks off after the call is whole, but before the answer is; the third time it ends well."""
        r = results(body)
        if r is not None:
            self.events(stream(["done"]))
        elif n < 3:
            self.events(stream(["I will", ("t1", "shell", '{"cmd": "echo ran >> log"}')], "tool_use")[:-2 if n == 1 else -1],
                        end=False)
        else:
            self.events(stream(["I will", ("t1", "shell", '{"cmd": "echo ran >> log"}')], "tool_use"))

    def on_overload(self, n, body):
        if n < 3:
            self.events(stream(["half"])[:3] + [event({"type": "error", "error": {
                "type": "overloaded_error", "message": "Overloaded"}})])
        else:
            self.events(stream(["whole"]))

    def on_turns(self, n, body):
        """Four turns with a call each, then the end; the second one takes its time when the task says "wait"."""
        k = sum(m["role"] == "assistant" for m in body["messages"])
        wait = "wait" in json.dumps(body["messages"][0]) and k == 1
        cmd = "touch here; sleep 3" if wait else "echo turn %d" % (k + 1)
        if k < 4:
            self.events(stream(["turn %d" % (k + 1), ("t%d" % n, "shell", json.dumps({"cmd": cmd}))], "tool_use"))
        else:
            self.events(stream(["all done"]))

    def on_pause(self, n, body):
        if n == 1:
            self.events(stream(["first half"], "pause_turn"))
        elif body["messages"][-1]["role"] == "assistant":
            self.events(stream(["second half"]))
        else:
            self.wrong(400, "invalid_request_error", "the paused answer was not sent back")

    def on_refused(self, n, body):
        self.events(stream(["I will not"], "refusal"))

    def on_window(self, n, body, status=400):
        """Takes 30,000 bytes."""
        r = results(body)
        size = len(json.dumps(body["messages"]))
        if size > 30000 and status == 400:
            self.wrong(400, "invalid_request_error", "prompt is too long: %d tokens > 7500 maximum" % size)
        elif size > 30000:
            self.events(stream([""], "model_context_window_exceeded"))
        elif r and "left out" in json.dumps(body["messages"]):
            self.events(stream(["fits now"]))
        else:
            self.events(stream([("t%d" % n, "shell", '{"cmd": "seq %d 3000"}' % n)], "tool_use"))

    def on_room(self, n, body):
        self.on_window(n, body, 200)

    def on_length(self, n, body):
        if n == 1:
            self.events(stream(["The first part, "], "max_tokens"))
        else:
            self.events(stream(["and the second."]))

    def on_slow(self, n, body):
        """The first answer never ends (for a supervisor that is killed in its middle)."""
        r = results(body)
        if r is None:
            self.events(stream([("t1", "shell", '{"cmd": "echo ran >> log"}')], "tool_use"))
        elif n == 2:
            self.events(stream(["half of it"])[:3], end=False)
            self.wfile.flush()
            for _ in range(300):
                time.sleep(0.1)
        else:
            self.events(stream(["all of it"]))

    def on_many(self, n, body):
        """Says fifty times what it was told, slowly enough that a hundred of them are open at once."""
        told = body["messages"][-1]["content"][0]["text"] + " "
        self.events(stream([told * 50]), pause=0.05)

    def on_echo(self, n, body):
        """Says the key that it was sent, in two pieces of the stream, cut in the middle of the key."""
        key = self.headers.get("x-api-key", "(none)")
        whole = b"".join(stream(["your key is " + key]))
        at = whole.index(key.encode()) + len(key) // 2
        self.events([whole[:at], whole[at:]], pause=0.3)

    def on_fine(self, n, body):
        self.events(stream(["fine"]))


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def handle_error(self, *_):
        pass


server = Server(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
