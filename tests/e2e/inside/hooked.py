#!/usr/bin/env python3
"""An agent inside a sandbox whose own hooks ask sandglass: hooked.py SCENARIO. What it hears is kept in /workspace/log, one JSON line
each: [name, answer]."""
import json, os, socket, subprocess, sys, threading, urllib.error, urllib.request

proxy, key = os.environ["HOOK_URL"], os.environ["HOOK_KEY"]
log, lock = open("/workspace/log", "a", buffering=1), threading.Lock()


def note(name, answer):
    with lock:
        log.write(json.dumps([name, answer]) + "\n")


def post(path, body, key=key, url=proxy):
    rq = urllib.request.Request(url + path, json.dumps(body).encode(), {"content-type": "application/json", "authorization": "Bearer " + key})
    try:
        with urllib.request.urlopen(rq, timeout=120) as a:
            return json.load(a)
    except urllib.error.HTTPError as e:
        return {"status": e.code}


def hook(event, call, command, agent="claude", name=None, key=key, tool="Bash"):
    """@call None: the event lacks the id, as PermissionRequest of Claude Code does."""
    body = {"hook_event_name": event, "tool_name": tool, "session_id": "s", "cwd": "/workspace", "tool_input": {"command": command, "description": "d"}}
    answer = post("/sandglass-hook/" + agent, {**body, **({"tool_use_id": call} if call else {})}, key)
    note(name or "%s %s" % (event, call), answer)
    return answer


def by_script(event, call, command, name, proxy=proxy):
    """The script that agents run whose hooks are commands."""
    path = os.path.expanduser("~/.sandglass/hook")
    with open(path) as f, open("/workspace/hook", "w") as to:
        to.write(f.read().replace(os.environ["HOOK_URL"], proxy))
    body = {"hook_event_name": event, "tool_name": "Bash", "tool_use_id": call, "tool_input": {"command": command}}
    p = subprocess.run(["sh", "/workspace/hook"], input=json.dumps(body).encode(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    note(name, [p.returncode, p.stdout.decode()])


def model(name, messages):
    answer = post("/model/v1/messages", {"model": "m-1", "max_tokens": 100, "tools": [{"name": "Bash"}], "messages": messages})
    note(name, answer)
    return answer


def beside(fn, *words, **more):
    t = threading.Thread(target=fn, args=words, kwargs=more)
    t.start()
    return t


def joined():
    user = {"role": "user", "content": "go"}
    answer = model("model", [user])
    call = [b for b in answer["content"] if b["type"] == "tool_use"][0]
    hook("PreToolUse", call["id"], call["input"]["command"], name="PreToolUse")
    hook("PermissionRequest", call["id"], call["input"]["command"], name="PermissionRequest")
    by_script("PreToolUse", call["id"], call["input"]["command"], "by script")
    hook("PreToolUse", call["id"], call["input"]["command"] + " more", name="another command")
    hook("PreToolUse", call["id"], call["input"]["command"], tool="WebFetch", name="another tool")
    hook("PreToolUse", "t1", call["input"]["command"], name="another call")
    hook("PermissionRequest", "t7", "", tool="AskUserQuestion", name="question")
    hook("PreToolUse", "t1", "touch own", key="sk-sg-other", name="another key")
    said = [user, {"role": "assistant", "content": answer["content"]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call["id"], "content": "done"}]}]
    answer = model("next", said)
    call = [b for b in answer["content"] if b["type"] == "tool_use"][0]
    hook("PermissionRequest", call["id"], call["input"]["command"], tool=call["name"], name="no command")
    model("end", said + [{"role": "assistant", "content": answer["content"]},
                         {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call["id"], "content": "done"}]}])


def asks():
    first = beside(hook, "PermissionRequest", "t1", "touch one", name="one")
    second = beside(hook, "PermissionRequest", "t1", "touch one", name="one again")
    first.join(), second.join()
    hook("PermissionRequest", "t9", "touch one", name="one more")
    hook("PermissionRequest", "t2", "touch two")
    hook("PermissionRequest", "t3", "touch three")
    by_script("PreToolUse", "t4", "touch four", "PreToolUse t4")
    by_script("PreToolUse", "t4", "touch four", "no answer", "http://127.0.0.1:1")
    hook("BeforeTool", "t5", "touch five", "gemini")
    hook("tool_call", "t6", "touch six", "plain")


def answered_inside():
    hook("PreToolUse", "t1", "touch one", name="look")
    dialog = beside(hook, "PermissionRequest", None, "touch one", name="late")
    wait_for("go")
    hook("PostToolUse", "t1", "touch one")
    dialog.join()
    hook("PreToolUse", "t2", "touch two", name="look")
    dialog = beside(hook, "PermissionRequest", None, "touch two", name="later")
    wait_for("go2")
    model("model", [{"role": "user", "content": "go"}, {"role": "assistant", "content": [{"type": "tool_use", "id": "t2", "name": "Bash", "input": {}}]},
                    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t2", "content": "no", "is_error": True}]}])
    dialog.join()


def gives_up():
    host, port = proxy.split("//")[1].split(":")
    s = socket.create_connection((host, int(port)))
    body = json.dumps({"hook_event_name": "PermissionRequest", "tool_name": "Bash", "tool_use_id": "t1", "tool_input": {"command": "touch one"}}).encode()
    s.sendall(b"POST /sandglass-hook/claude HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n" % (key.encode(), len(body)) + body)
    wait_for("go")
    s.close()
    wait_for("bye")


def model_waits():
    dialog = beside(hook, "PermissionRequest", "t1", "touch one", name="dialog")
    wait_for("go")
    call = beside(model, "model", [{"role": "user", "content": "next"}])
    dialog.join(), call.join()


def wait_for(word):
    """A line that is typed into the terminal."""
    note("ready", word)
    for line in sys.stdin:
        if line.strip() == word:
            return
    sys.exit(1)


{"joined": joined, "asks": asks, "answered": answered_inside, "gives_up": gives_up, "waits": model_waits}[sys.argv[-1]]()
note("end", sys.argv[-1])
