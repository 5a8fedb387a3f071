#!/usr/bin/env python3
"""An MCP server of the older protocol over pipes that can misbehave: die, hang, garbage, flood, huge, slow to learn."""
import json, os, sys

silent = "silent" in sys.argv    # no answer to what it does not know
fragile = "fragile" in sys.argv  # dies of a first message that is not initialize
names = ["echo", "die", "hang", "garbage", "huge", "fail", "shot", "bad name!"]
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def out(o):
    sys.stdout.write(json.dumps(o) + "\n")
    sys.stdout.flush()


def answer(i, text, **more):
    out({"jsonrpc": "2.0", "id": i, "result": {"content": [{"type": "text", "text": text}], **more}})


for line in sys.stdin:
    m = json.loads(line)
    i, method = m.get("id"), m.get("method")
    if method == "initialize":
        fragile = False
        out({"jsonrpc": "2.0", "id": i, "result": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}, "resources": {}},
                                                   "serverInfo": {"name": "old", "version": "1"}}})
    elif method == "tools/list":
        at = int((m.get("params") or {}).get("cursor", 0))
        page = {"tools": [{"name": n, "description": "does " + n, "inputSchema": {"type": "object"}} for n in names[at:at + 3]]}
        if at + 3 < len(names):
            page["nextCursor"] = str(at + 3)
        out({"jsonrpc": "2.0", "id": i, "result": page})
    elif method == "tools/call":
        name = m["params"]["name"]
        if name == "die":
            sys.stderr.write("about to die\n")
            sys.stderr.flush()
            os._exit(3)
        if name == "hang":
            continue
        if name == "garbage":
            print("garbage {\n\n[]\n\"x\"\n" + "{" * 5000)
            out({"jsonrpc": "2.0", "id": 99999, "result": {}})
            out({"jsonrpc": "2.0", "id": "x", "result": {}})
            out({"jsonrpc": "2.0", "id": "q", "method": "roots/list"})
            for k in range(5000):
                out({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": i, "progress": k}})
        if name == "huge":
            answer(i, "x" * (8 << 20))
        elif name == "shot":
            out({"jsonrpc": "2.0", "id": i, "result": {"content": [
                {"type": "text", "text": "the page"}, {"type": "image", "mimeType": "image/png", "data": PNG},
                {"type": "audio", "mimeType": "audio/wav", "data": "UklGRg=="}, {"type": "image", "mimeType": "image/png", "data": "not base64!!"},
                {"type": "resource_link", "uri": "x://log/1", "name": "log", "mimeType": "text/plain"}]}})
        elif name == "fail":
            answer(i, "it did not work", isError=True)
        else:
            answer(i, "you said " + json.dumps(m["params"].get("arguments")))
        if name == "garbage":
            answer(i, "twice")
    elif method == "resources/read":
        out({"jsonrpc": "2.0", "id": i, "result": {"contents": [{"uri": m["params"]["uri"], "text": "line of the log"}]}})
    elif method == "ping":
        out({"jsonrpc": "2.0", "id": i, "result": {}})
    elif i is not None and fragile:
        os._exit(9)
    elif i is not None and method and not silent:
        out({"jsonrpc": "2.0", "id": i, "error": {"code": -32601, "message": "no such method"}})
