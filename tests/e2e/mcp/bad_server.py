#!/usr/bin/env python3
"""An MCP server over pipes that fails in the middle of things. argv: a file to which it adds a line for each start and each
call (or "-"), and how it begins badly, if it does: html, long, trickle, mute."""
import json, os, sys, time

log = sys.argv[1]
how = sys.argv[2] if len(sys.argv) > 2 else ""
TOOLS = ["echo", "env", "leak", "long", "die", "half", "trickle", "progress"]


def note(text):
    if log != "-":
        with open(log, "a") as f:
            f.write(text + "\n")


def write(text):
    sys.stdout.write(text)
    sys.stdout.flush()


def out(o):
    write(json.dumps(o) + "\n")


def trickle():
    for c in '{"jsonrpc":"2.0","id":' + "1" * 1000:
        write(c)
        time.sleep(0.2)


note("start")
if how == "html":
    write("<!DOCTYPE html>\n<html><body>Welcome to the hotel</body></html>\n")
for line in sys.stdin:
    m = json.loads(line)
    i, method = m.get("id"), m.get("method")
    if how == "long":
        write("x" * (100 << 20) + "\n")
    elif how == "trickle":
        trickle()
    elif how == "mute" or i is None:
        pass
    elif method == "initialize":
        out({"jsonrpc": "2.0", "id": i, "result": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                                                   "serverInfo": {"name": "bad", "version": "1"}}})
    elif method == "tools/list":
        out({"jsonrpc": "2.0", "id": i, "result": {"tools": [
            {"name": n, "inputSchema": {"type": "object"}} for n in TOOLS]}})
    elif method == "tools/call":
        name, args = m["params"]["name"], m["params"].get("arguments", {})
        note("call %s %s" % (name, args.get("text", "")))
        if name == "die":
            os._exit(7)
        if name == "half":
            write('{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"te' % i)
            os._exit(0)
        if name == "trickle":
            trickle()
        if name == "long":
            write('{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"' % i + "x" * (100 << 20) + '"}]}}\n')
            continue
        if name == "progress":
            for k in range(3):
                out({"jsonrpc": "2.0", "method": "notifications/progress", "params": {
                    "progressToken": m["params"]["_meta"]["progressToken"], "progress": k, "total": 3}})
        text = {"env": " ".join(sorted(os.environ)), "leak": "it is " + os.environ.get("TOKEN", "(none)"),
                "progress": "three steps"}.get(name, "you said " + args.get("text", ""))
        out({"jsonrpc": "2.0", "id": i, "result": {"content": [{"type": "text", "text": text}]}})
    else:
        out({"jsonrpc": "2.0", "id": i, "error": {"code": -32601, "message": "no such method"}})
