#!/usr/bin/env python3
"""A scripted model that speaks all four dialects. Prints its port; wants the key sk-REAL-7731 and nothing else.

The script is a JSON list of steps: {"bash": COMMAND}, {"tool": NAME, "args": {...}}, {"text": TEXT}, {"status": N, "times": N, "then": STEP}; instead of a
status "cut": true (its stream breaks off in the middle) or "stall": SECONDS (it stands still there) or
"linger": SECONDS (all is said, but the stream ends only then).
The step is the number of tool results in the request, so it does not matter how often it is asked. A file named as the
second argument gets one line of JSON for each request.
"""
import json, os, sys, threading, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

KEY = "sk-REAL-7731"
steps = json.load(open(sys.argv[1]))
log = open(sys.argv[2], "a", buffering=1)
lock, failed = threading.Lock(), {}
SHELLS = ("Bash", "bash", "exec_command", "shell", "shell_command", "run_shell_command", "local_shell", "execute")


def texts(v):
    return [v] if isinstance(v, str) else [x for e in v for x in texts(e)] if isinstance(v, list) else \
        [x for e in v.values() for x in texts(e)] if isinstance(v, dict) else []


def results(dialect, body):
    if dialect == "anthropic":
        return sum(b.get("type") == "tool_result" for m in body["messages"] if isinstance(m["content"], list) for b in m["content"])
    if dialect == "chat":
        return sum(m["role"] == "tool" for m in body["messages"])
    if dialect == "responses":
        return sum(str(i.get("type", "")).endswith("_output") for i in body["input"]) if isinstance(body["input"], list) else 0
    return sum("functionResponse" in p for c in body["contents"] for p in c["parts"])


def offered(body):
    names = []
    for t in body.get("tools") or []:
        names += [f["name"] for f in t.get("functionDeclarations", [])] or [t.get("name") or t.get("function", {}).get("name") or t.get("type")]
    return names


def call_of(step, names):
    if "tool" in step:
        return step["tool"], step.get("args", {})
    shell = next((n for n in SHELLS if n in names), "bash")
    args = {"cmd": step["bash"]} if shell == "exec_command" else {"command": step["bash"]}
    if shell == "shell":
        args = {"command": ["bash", "-lc", step["bash"]]}
    if shell in ("Bash", "bash", "run_shell_command"):
        args["description"] = "run it"
    return shell, args


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def give(self, status, text, kind="application/json"):
        data = text.encode()
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def chunks(self, list_, pause):
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for i, e in enumerate(list_):
            if self.step.get("cut") and i >= len(list_) // 2:
                self.close_connection = True
                return
            if self.step.get("stall") and i > len(list_) // 2:
                time.sleep(self.step["stall"])
            data = (("event: %s\n" % e["type"] if "type" in e else "") + "data: %s\n\n" % json.dumps(e)).encode() if isinstance(e, dict) else e.encode()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            self.wfile.flush()
            time.sleep(pause)
        time.sleep(self.step.get("linger", 0))
        self.wfile.write(b"0\r\n\r\n")

    def do_GET(self):
        self.give(200, json.dumps({"data": [{"id": "m-1", "object": "model"}]}))

    def do_POST(self):
        path = self.path.split("?")[0]
        body = json.loads(self.rfile.read(int(self.headers["content-length"] or 0)) or "{}")
        keys = [self.headers.get("x-api-key"), (self.headers.get("authorization") or "").replace("Bearer ", ""), self.headers.get("x-goog-api-key")]
        good = [k for k in keys if k] == [KEY]
        with lock:
            log.write(json.dumps({"path": self.path, "good": good, "keys": keys, "tools": offered(body), "body": body}) + "\n")
        if not good:
            return self.give(401, '{"error":{"type":"authentication_error","message":"wrong key"}}')
        if path.endswith("count_tokens"):
            return self.give(200, '{"input_tokens":12}')
        dialect = "anthropic" if path.endswith("/messages") else "chat" if path.endswith("/completions") else "responses" if path.endswith("/responses") else "gemini"
        names = offered(body)
        at = results(dialect, body)
        step = steps[min(at, len(steps) - 1)]
        if not names and "text" not in step:
            step = {"text": "a title"}
        if "status" in step:
            with lock:
                n = failed[at] = failed.get(at, 0) + 1
            if n <= step.get("times", 1):
                return self.give(step["status"], '{"type":"error","error":{"type":"overloaded_error","message":"overloaded"}}')
            step = step["then"]
        if ("cut" in step or "stall" in step) and "then" in step:
            with lock:
                n = failed[at] = failed.get(at, 0) + 1
            step = {**step["then"], **({k: step[k] for k in ("cut", "stall") if k in step} if n <= step.get("times", 1) else {})}
        until = time.monotonic() + 30
        while not os.path.exists(step.get("until", "/")) and time.monotonic() < until:
            time.sleep(0.02)
        self.step = step
        stream = body.get("stream") or "streamGenerateContent" in self.path
        getattr(self, "say_" + dialect)(body, step, names, at, stream, step.get("pause", 0))

    def say_anthropic(self, body, step, names, at, stream, pause):
        usage = {"input_tokens": 1237, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 10, "output_tokens": 1}
        blocks = [{"type": "text", "text": step.get("text", step.get("say", "I will."))}]
        if "text" not in step:
            name, args = call_of(step, names)
            blocks.append({"type": "tool_use", "id": "toolu_%d" % at, "name": name, "input": args})
        stop = "end_turn" if "text" in step else "tool_use"
        head = {"id": "msg_%d" % at, "type": "message", "role": "assistant", "model": body["model"], "stop_sequence": None}
        if not stream:
            return self.give(200, json.dumps({**head, "content": blocks, "stop_reason": stop, "usage": {**usage, "output_tokens": 411}}))
        out = [{"type": "message_start", "message": {**head, "content": [], "stop_reason": None, "usage": usage}}, {"type": "ping"}]
        for i, b in enumerate(blocks):
            text = b.get("text")
            out.append({"type": "content_block_start", "index": i, "content_block": {**b, **({"text": ""} if text is not None else {"input": {}})}})
            whole = text if text is not None else json.dumps(b["input"])
            kind = ("text_delta", "text") if text is not None else ("input_json_delta", "partial_json")
            for part in (whole[:5], whole[5:]):
                out.append({"type": "content_block_delta", "index": i, "delta": {"type": kind[0], kind[1]: part}})
            out.append({"type": "content_block_stop", "index": i})
        out += [{"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": {"output_tokens": 411}}, {"type": "message_stop"}]
        self.chunks(out, pause)

    def say_chat(self, body, step, names, at, stream, pause):
        text = step.get("text", step.get("say", "I will."))
        calls = []
        if "text" not in step:
            name, args = call_of(step, names)
            calls = [{"index": 0, "id": "call_%d" % at, "type": "function", "function": {"name": name, "arguments": json.dumps(args)}}]
        usage = {"prompt_tokens": 1347, "completion_tokens": 411, "total_tokens": 1758, "prompt_tokens_details": {"cached_tokens": 100}}
        head = {"id": "chatcmpl-%d" % at, "created": 1, "model": body["model"]}
        stop = "tool_calls" if calls else "stop"
        if not stream:
            return self.give(200, json.dumps({**head, "object": "chat.completion", "choices": [
                {"index": 0, "message": {"role": "assistant", "content": text, **({"tool_calls": calls} if calls else {})}, "finish_reason": stop}], "usage": usage}))
        def chunk(delta, finish=None):
            return "data: " + json.dumps({**head, "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}) + "\n\n"
        out = [chunk({"role": "assistant", "content": ""}), chunk({"content": text[:4]}), chunk({"content": text[4:]})]
        if calls:
            out.append(chunk({"tool_calls": calls}))
        out += [chunk({}, stop), "data: " + json.dumps({**head, "object": "chat.completion.chunk", "choices": [], "usage": usage}) + "\n\n", "data: [DONE]\n\n"]
        self.chunks(out, pause)

    def say_responses(self, body, step, names, at, stream, pause):
        text = step.get("text", step.get("say", "I will."))
        items = [{"type": "message", "id": "msg_%d" % at, "status": "completed", "role": "assistant", "content": [{"type": "output_text", "text": text, "annotations": []}]}]
        if "text" not in step and "exec" in names and "bash" in step:  # a tool of Codex that takes a script
            script = "const r = await tools.exec_command(%s); text(r.output);" % json.dumps({"cmd": step["bash"]})
            items.append({"type": "custom_tool_call", "id": "ctc_%d" % at, "call_id": "call_%d" % at, "name": "exec", "namespace": "functions", "input": script, "status": "completed"})
        elif "text" not in step:
            name, args = call_of(step, names)
            items.append({"type": "function_call", "id": "fc_%d" % at, "call_id": "call_%d" % at, "name": name, "arguments": json.dumps(args), "status": "completed"})
        usage = {"input_tokens": 1347, "input_tokens_details": {"cached_tokens": 100}, "output_tokens": 411, "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 1758}
        done = {"id": "resp_%d" % at, "object": "response", "created_at": 1, "status": "completed", "model": body["model"], "output": items, "usage": usage}
        if not stream:
            return self.give(200, json.dumps(done))
        out = [{"type": "response.created", "response": {**done, "status": "in_progress", "output": [], "usage": None}}]
        for i, item in enumerate(items):
            out.append({"type": "response.output_item.added", "output_index": i, "item": {**item, **{k: v for k, v in (("content", []), ("arguments", ""), ("input", "")) if k in item}}})
            if "content" in item:
                out.append({"type": "response.output_text.delta", "item_id": item["id"], "output_index": i, "content_index": 0, "delta": text})
            out.append({"type": "response.output_item.done", "output_index": i, "item": item})
        out.append({"type": "response.completed", "response": done})
        self.chunks([{**e, "sequence_number": i} for i, e in enumerate(out)], pause)

    def say_gemini(self, body, step, names, at, stream, pause):
        if (body.get("generationConfig") or {}).get("responseMimeType") == "application/json":
            step = {"text": '{"reasoning":"x","model_choice":"pro","complexity_score":50,"complexity_reasoning":"x"}'}
        parts = [{"text": step.get("text", step.get("say", "I will."))}]
        if "text" not in step:
            name, args = call_of(step, names)
            parts.append({"functionCall": {"name": name, "args": args}})
        usage = {"promptTokenCount": 1347, "candidatesTokenCount": 400, "thoughtsTokenCount": 11, "cachedContentTokenCount": 100, "totalTokenCount": 1758}
        def chunk(part, finish=None):
            return {"candidates": [{"content": {"role": "model", "parts": [part]}, "index": 0, **({"finishReason": finish} if finish else {})}],
                    "usageMetadata": usage, "modelVersion": "m-1", "responseId": "r%d" % at}
        list_ = [chunk(p, "STOP" if i == len(parts) - 1 else None) for i, p in enumerate(parts)]
        if not stream:
            whole = chunk(parts[0], "STOP")
            whole["candidates"][0]["content"]["parts"] = parts
            return self.give(200, json.dumps(whole))
        self.chunks(["data: %s\r\n\r\n" % json.dumps(e) for e in list_], pause)


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
print(server.server_port, flush=True)
server.serve_forever()
