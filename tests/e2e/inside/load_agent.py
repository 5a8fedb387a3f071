#!/usr/bin/env python3
"""Claude Code or Codex, as far as their protocols and their own sessions go: stream-json with --resume, or "app-server" with
thread/resume. A prompt is a line of its session, which lies in its home; it asks its model once, with all of them."""
import json, os, sys, urllib.request

CODEX = "app-server" in sys.argv
HOME = os.environ["HOME"] + ("/.codex/sessions/" if CODEX else "/.claude/projects/w/")
session = sys.argv[sys.argv.index("--resume") + 1] if "--resume" in sys.argv else None
model = os.environ.get("ANTHROPIC_MODEL")


def send(**m): print(json.dumps(m), flush=True)


def begin(given):
    global session
    session = given or "own-%d" % os.getpid()
    os.makedirs(HOME, exist_ok=True)
    assert given is None or os.path.exists(HOME + session + ".jsonl"), "no such session"


def ask(text):
    with open(HOME + session + ".jsonl", "a") as f:
        f.write(text + "\n")
    lines = open(HOME + session + ".jsonl").read().splitlines()
    url, body = os.environ.get("ANTHROPIC_BASE_URL", "") + "/v1/messages", {"max_tokens": 9, "messages": [{"role": "user", "content": t} for t in lines]}
    key = os.environ.get("ANTHROPIC_API_KEY") or os.environ["SANDGLASS_PLACEHOLDER"]
    if CODEX:
        config = dict(line.split(" = ", 1) for line in open(os.environ["HOME"] + "/.codex/config.toml").read().splitlines() if " = " in line)
        url, body = json.loads(config["base_url"]) + "/responses", {"input": [{"role": "user", "content": t} for t in lines]}
    request = urllib.request.Request(url, json.dumps({"model": model or json.loads(config["model"]), **body}).encode(),
                                     {"content-type": "application/json", "authorization": "Bearer " + key})
    urllib.request.urlopen(request, timeout=60).read()
    return "%d prompts" % len(lines)


for line in sys.stdin:
    m = json.loads(line)
    if m.get("type") == "control_request":
        send(type="control_response", response={"subtype": "success", "request_id": m["request_id"]})
    elif m.get("type") == "user":
        begin(session if "--resume" in sys.argv else None) if not os.path.exists(HOME + str(session) + ".jsonl") or "--resume" in sys.argv else None
        send(type="system", subtype="init", session_id=session)
        said = ask(m["message"]["content"])
        send(type="assistant", message={"content": [{"type": "text", "text": said}]})
        send(type="result", subtype="success", result=said)
    elif m.get("method") in ("thread/start", "thread/resume"):
        begin(m["params"].get("threadId"))
        model = m["params"].get("model")
        send(id=m["id"], result={"thread": {"id": session}})
    elif m.get("method") == "turn/start":
        send(id=m["id"], result={"turn": {"id": "t"}})
        said = ask(m["params"]["input"][0]["text"])
        send(method="item/completed", params={"item": {"type": "agentMessage", "id": "m", "text": said}})
        send(method="turn/completed", params={"turn": {"id": "t", "status": "completed"}})
    elif "id" in m:
        send(id=m["id"], result={})
