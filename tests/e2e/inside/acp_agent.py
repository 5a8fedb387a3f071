#!/usr/bin/env python3
"""A small agent that speaks ACP version 1 on its stdin and stdout, for tests of the client. A prompt holds words
that say what it does, in order: touch:NAME (asks first), write:NAME (with a diff, does not ask), ids (asks with a string as id),
both (asks twice at once), plan, usage, odd (what no agent should send), bad (messages
of the wrong shape), fs (asks for what was not offered), hang (until it is
cancelled), die (in the middle of its turn), say:TEXT, model (does what its
model says, and asks first; if it was interrupted in that, it continues). Its session lies in its home, so that it can load it."""
import json, os, subprocess, sys, urllib.request

HOME = os.environ["HOME"] + "/.acp_agent"
LIST = [{"optionId": "y1", "name": "Allow", "kind": "allow_once"}, {"optionId": "ya", "name": "Always allow touch", "kind": "allow_always"},
        {"optionId": "n1", "name": "Reject", "kind": "reject_once"}]
answers, session, cancelled, next_id = {}, None, False, 0
queue = []


def send(**m):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **m}) + "\n")
    sys.stdout.flush()


def update(**u):
    send(method="session/update", params={"sessionId": session, "update": u})


def read():
    """One message: answers are kept, a cancellation is noted, a request is queued."""
    global cancelled
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    m = json.loads(line)
    if "method" not in m:
        answers[json.dumps(m["id"])] = m
    elif m["method"] == "session/cancel":
        cancelled = True
    else:
        queue.append(m)


def ask(method, params, id_=None):
    global next_id
    if id_ is None:
        id_, next_id = next_id, next_id + 1
    send(id=id_, method=method, params=params)
    return json.dumps(id_)


def answer(key):
    while key not in answers:
        read()
    return answers.pop(key)


def permission(name, id_=None, command=None):
    call, command = "call-" + name, command or "touch " + name
    update(sessionUpdate="tool_call", toolCallId=call, title=command, kind="execute", status="pending", rawInput={"command": command})
    return call, ask("session/request_permission", {"sessionId": session, "toolCall": {"toolCallId": call}, "options": LIST}, id_)


def settle(name, call, key, command=None):
    a = answer(key)
    outcome = a.get("result", {}).get("outcome", {})
    good = outcome.get("optionId") in ("y1", "ya")
    if good:
        subprocess.run(["sh", "-c", command] if command else ["touch", name])
    update(sessionUpdate="tool_call_update", toolCallId=call, status="completed" if good else "failed",
           content=[{"type": "content", "content": {"type": "text", "text": json.dumps(outcome)}}])


def ask_model():
    """Its history is what its session holds: a line "did CALL" for each result."""
    while not cancelled:
        did = [json.loads(line[4:]) for line in open(HOME + "/" + session) if line.startswith("did ")]
        messages = [{"role": "user", "content": "work"}]
        for c in did:
            messages += [{"role": "assistant", "content": [c]}, {"role": "user", "content": [{"type": "tool_result", "tool_use_id": c["id"], "content": "ok"}]}]
        body = json.dumps({"model": os.environ["MODEL"], "max_tokens": 100, "tools": [{"name": "Bash", "input_schema": {"type": "object"}}], "messages": messages})
        request = urllib.request.Request(os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages", body.encode(),
                                         {"content-type": "application/json", "x-api-key": os.environ["ANTHROPIC_API_KEY"]})
        answer = json.load(urllib.request.urlopen(request, timeout=60))
        calls = [b for b in answer["content"] if b["type"] == "tool_use"]
        if not calls:
            return
        for c in calls:
            command = c["input"]["command"]
            settle(c["id"], *permission(c["id"], None, command), command)
            with open(HOME + "/" + session, "a") as f:
                f.write("did " + json.dumps(c) + "\n")


def do(word):
    what, _, arg = word.partition(":")
    if what == "touch":
        settle(arg, *permission(arg))
    elif what == "ids":
        settle("stringid", *permission("stringid", "a-string"))
    elif what == "both":
        one, two = permission("both1"), permission("both2", "two")
        settle("both2", *two)
        settle("both1", *one)
    elif what == "write":
        open(arg, "w").write("new\n")
        update(sessionUpdate="tool_call_update", toolCallId="w", title="write " + arg, kind="edit", status="completed", locations=[{"path": arg}],
               content=[{"type": "diff", "path": arg, "oldText": None, "newText": "new\n"}])
    elif what == "plan":
        update(sessionUpdate="plan", entries=[{"content": "first", "priority": "high", "status": "completed"},
                                              {"content": "second", "priority": "low", "status": "pending"}])
    elif what == "usage":
        update(sessionUpdate="usage_update", used=1237, size=200000, cost={"amount": 0.5, "currency": "USD"})
    elif what == "odd":
        sys.stdout.write("{not json\n\nplain words\n" + '{"a":[1,\n')
        sys.stderr.write("on stderr\n")
        update(sessionUpdate="never_heard_of")
        update(sessionUpdate="tool_call_update", toolCallId="unknown", status="completed", title="unknown first")
        update(sessionUpdate="agent_thought_chunk", content={"type": "text", "text": "x" * (5 << 20)})
        send(method="_vendor/thing", params={})
        send(id=77, result={"nobody": "asked"})
    elif what == "bad":
        update(sessionUpdate="tool_call", title="a call without its id")
        update(sessionUpdate="plan", entries=5)
        send(method="session/update", params=5)
        send(method="$/cancel_request", params=5)
        a = answer(ask("session/request_permission", 5))
        update(sessionUpdate="agent_message_chunk", content={"type": "text", "text": "bad %s" % a["error"]["code"]})
    elif what == "fs":
        a = answer(ask("fs/write_text_file", {"sessionId": session, "path": "/etc/x", "content": "x"}))
        b = answer(ask("terminal/create", {"sessionId": session, "command": "id"}))
        update(sessionUpdate="agent_message_chunk", content={"type": "text", "text": "fs %s %s" % (a["error"]["code"], b["error"]["code"])})
    elif what == "hang":
        while not cancelled:
            read()
    elif what == "model":
        ask_model()
    elif what == "die":
        os._exit(9)
    elif what == "say":
        for part in (arg[:2], arg[2:]):
            update(sessionUpdate="agent_message_chunk", content={"type": "text", "text": part})


def serve(m):
    global session, cancelled
    p = m.get("params", {})
    if m["method"] == "initialize":
        assert p["clientCapabilities"] == {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False}
        return {"protocolVersion": 1, "agentCapabilities": {"loadSession": True}, "agentInfo": {"name": "small", "version": "7"}, "authMethods": []}
    if m["method"] == "session/new":
        if os.environ.get("NEVER"):
            while True:
                read()
        session = "s-%d" % os.getpid()
        os.makedirs(HOME, exist_ok=True)
        open(HOME + "/" + session, "w").close()
        return {"sessionId": session, "modes": {"currentModeId": "ask", "availableModes": [{"id": "ask", "name": "Ask"}, {"id": "go", "name": "Go"}]}}
    if m["method"] == "session/load":
        session = p["sessionId"]
        for line in open(HOME + "/" + session):
            update(sessionUpdate="user_message_chunk", content={"type": "text", "text": line})
        return {}
    if m["method"] == "session/set_mode":
        update(sessionUpdate="current_mode_update", currentModeId=p["modeId"])
        return {}
    cancelled = False
    text = p["prompt"][0]["text"]
    with open(HOME + "/" + session, "a") as f:
        f.write(text + "\n")
    again = "interrupted" in text and any(line.split()[:1] == ["model"] for line in open(HOME + "/" + session))
    for word in ["model"] if again else text.split():
        if not cancelled:
            do(word)
    said = sum(1 for _ in open(HOME + "/" + session))
    if not cancelled:
        update(sessionUpdate="agent_message_chunk", messageId="last", content={"type": "text", "text": "prompt %d done" % said})
    return {"stopReason": "cancelled" if cancelled else "end_turn", "usage": {"inputTokens": 1, "outputTokens": 2, "totalTokens": 3}}


while True:
    while not queue:
        read()
    m = queue.pop(0)
    r = serve(m)
    if "id" in m:
        send(id=m["id"], result=r)
