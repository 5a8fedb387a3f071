#!/usr/bin/env python3
"""A small agent that speaks ACP version 2 (draft) on its stdin and stdout, for tests of the client. A prompt holds words: touch:NAME
(asks with a tool call first), run:NAME (asks with a command), write:NAME (with a difference), plan, usage, say:TEXT, hang (until it is
cancelled), fail (its turn ends with an error). Its session lies in its home. With ONLY=1 it speaks version 1 alone."""
import json, os, subprocess, sys

HOME = os.environ["HOME"] + "/.acp2"
LIST = [{"optionId": "y1", "name": "Allow", "kind": "allow_once"}, {"optionId": "n1", "name": "Reject", "kind": "reject_once"}]
MODES = {"configId": "approvals", "name": "Approvals", "category": "mode", "type": "select", "currentValue": "ask",
         "options": [{"value": "ask", "name": "Ask"}, {"value": "go", "name": "Go"}]}
session, cancelled, answers, queue, next_id = None, False, {}, [], 0


def send(**m):
    print(json.dumps({"jsonrpc": "2.0", **m}), flush=True)


def update(**u):
    send(method="session/update", params={"sessionId": session, "update": u})


def read():
    global cancelled
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    m = json.loads(line)
    if "method" not in m:
        answers[m["id"]] = m
    elif m["method"] == "session/cancel":
        cancelled = True
    else:
        queue.append(m)


def permitted(title, subject):
    global next_id
    next_id += 1
    update(sessionUpdate="state_update", state="requires_action")
    send(id="p%d" % next_id, method="session/request_permission", params={"sessionId": session, "title": title, "subject": subject, "options": LIST})
    while "p%d" % next_id not in answers:
        read()
    update(sessionUpdate="state_update", state="running")
    return answers["p%d" % next_id]["result"]["outcome"].get("optionId") == "y1"


def do(word):
    what, _, arg = word.partition(":")
    if what in ("touch", "run"):
        call, command = "call-" + arg, "touch " + arg
        tool = {"toolCallId": call, "title": command, "kind": "execute", "status": "pending", "rawInput": {"command": command}}
        update(sessionUpdate="tool_call_update", **tool)
        subject = {"type": "tool_call", "toolCall": tool} if what == "touch" else {"type": "command", "command": command, "cwd": os.getcwd(), "toolCallId": call}
        good = permitted("May I run " + command, subject)
        if good:
            subprocess.run(["touch", arg])
        update(sessionUpdate="tool_call_content_chunk", toolCallId=call, content={"type": "content", "content": {"type": "text", "text": "out of " + arg}})
        update(sessionUpdate="tool_call_update", toolCallId=call, status="completed" if good else "cancelled")
    elif what == "write":
        open(arg, "w").write("new\n")
        path = os.getcwd() + "/" + arg
        patch = {"format": "git_patch", "text": "--- /dev/null\n+++ b/%s\n@@ -0,0 +1 @@\n+new\n" % arg}
        update(sessionUpdate="tool_call_update", toolCallId="w", title="write " + arg, kind="edit", status="completed",
               content=[{"type": "diff", "changes": [{"operation": "add", "path": path}], "patch": patch}])
    elif what == "plan":
        entries = [{"content": "first", "priority": "high", "status": "completed"}, {"content": "second", "priority": "low", "status": "pending"}]
        update(sessionUpdate="plan_update", plan={"type": "items", "planId": "p", "entries": entries})
    elif what == "usage":
        update(sessionUpdate="usage_update", used=1237, size=200000)
    elif what == "say":
        update(sessionUpdate="agent_message_chunk", messageId="m-" + arg, content={"type": "text", "text": arg})
        update(sessionUpdate="agent_message", messageId="m-" + arg, content=[{"type": "text", "text": arg}])
    elif what == "hang":
        while not cancelled:
            read()


def serve(m):
    global session, cancelled
    p, what = m.get("params", {}), m["method"]
    answer = lambda **r: send(id=m["id"], result=r)
    if what == "initialize":
        answer(protocolVersion=1 if os.environ.get("ONLY") else 2, info={"name": "second", "version": "2"}, capabilities={"session": {}})
    elif what in ("session/new", "session/resume"):
        session = p.get("sessionId") or "s-%d" % os.getpid()
        os.makedirs(HOME, exist_ok=True)
        open(HOME + "/" + session, "a").close()
        if what == "session/resume":
            update(sessionUpdate="state_update", state="idle", stopReason="end_turn")
        answer(configOptions=[MODES], **({"sessionId": session} if what == "session/new" else {}))
    elif what == "session/set_config_option":
        update(sessionUpdate="config_option_update", configOptions=[{**MODES, "currentValue": p["value"]}])
        answer(configOptions=[{**MODES, "currentValue": p["value"]}])
    elif what == "session/prompt":
        cancelled, text = False, p["prompt"][0]["text"]
        with open(HOME + "/" + session, "a") as f:
            f.write(text + "\n")
        update(sessionUpdate="state_update", state="running")
        answer(messageId="u-%d" % m["id"])
        for word in text.split():
            if not cancelled:
                do(word)
        if text == "fail":
            return update(sessionUpdate="state_update", state="idle", stopReason="error", error={"code": -32603, "message": "it broke"})
        update(sessionUpdate="agent_message", messageId="end-%d" % m["id"],
               content=[{"type": "text", "text": "prompt %d done" % sum(1 for _ in open(HOME + "/" + session))}])
        update(sessionUpdate="state_update", state="idle", stopReason="cancelled" if cancelled else "end_turn")


while True:
    while not queue:
        read()
    serve(queue.pop(0))
