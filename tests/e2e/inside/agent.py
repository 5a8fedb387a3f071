#!/usr/bin/env python3
"""An agent for a box: asks its model, does what it says in a shell, tells what came of it."""
import json, os, subprocess, sys, urllib.request
url, key = os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages", os.environ["ANTHROPIC_API_KEY"]
messages = [{"role": "user", "content": sys.argv[-1]}]
subprocess.run(["git", "--version"], capture_output=True)  # beside its calls
for _ in range(10):
    body = json.dumps({"model": "m-1", "max_tokens": 100, "tools": [{"name": "Bash", "input_schema": {"type": "object"}}], "messages": messages})
    ask = urllib.request.Request(url, body.encode(), {"content-type": "application/json", "x-api-key": key})
    answer = json.load(urllib.request.urlopen(ask, timeout=60))
    messages.append({"role": "assistant", "content": answer["content"]})
    calls = [b for b in answer["content"] if b["type"] == "tool_use"]
    print(" ".join(b.get("text", "") for b in answer["content"] if b["type"] == "text"), flush=True)
    if not calls:
        break
    out = []
    for c in calls:
        cmd = c["input"].get("command", "")
        r = None if "only claimed" in cmd else subprocess.run(["bash", "-c", "eval '%s'" % cmd.replace("'", "'\\''")], capture_output=True, text=True)
        out.append({"type": "tool_result", "tool_use_id": c["id"], "content": r.stdout + r.stderr if r else "ok"})
    messages.append({"role": "user", "content": out})
