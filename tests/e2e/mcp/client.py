#!/usr/bin/env python3
"""Drives `sandglass mcp serve` (argv: the command) over pipes and prints one line per check: "ok NAME" or "not ok NAME"."""
import json, subprocess, sys, threading

p = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "driver", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {}}
nr, notes = 0, []


def check(good, name, got=None):
    print(("ok " if good else "not ok ") + name + ("" if good else "\t" + json.dumps(got)[:400]), flush=True)


def raw(text):
    p.stdin.write(text + "\n")
    p.stdin.flush()


def read(want):
    while True:
        m = json.loads(p.stdout.readline())
        if m.get("id") == want and "method" not in m:
            return m
        notes.append(m)


def send(method, params=None, modern=True):
    global nr
    nr += 1
    params = dict(params or {})
    if modern:
        params["_meta"] = dict(meta, progressToken=nr)
    raw(json.dumps({"jsonrpc": "2.0", "id": nr, "method": method, "params": params}))
    return nr


def tool(which, modern=True, **args):
    m = read(send("tools/call", {"name": which, "arguments": args}, modern))
    return m.get("result", m)


def text(r):
    return r["content"][0].get("text") if r.get("content") else None


r = read(send("server/discover"))["result"]
check("2026-07-28" in r["supportedVersions"] and r["resultType"] == "complete", "discover", r)
r = read(send("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "old", "version": "1"}},
              False))["result"]
check(r["protocolVersion"] == "2025-06-18" and "resultType" not in r, "initialize beside it, with the version that was asked for", r)
r = tool("sandbox_exec", cmd="echo hi; echo no >&2; exit 3")
check(r["structuredContent"]["exit_code"] == 3 and r["structuredContent"]["stdout"] == "hi\n" and not r["isError"],
      "a command with its exit code and both streams", r)
check(json.loads(text(r)) == r["structuredContent"], "the same as text", r)
tool("sandbox_write", path="a/b.txt", content="one\ntwo\n")
check(text(tool("sandbox_read", False, path="a/b.txt")) == "one\ntwo\n", "write and read, the older protocol")
tool("sandbox_write", path="bin", content="AP/+", encoding="base64")
r = tool("sandbox_read", path="bin")
check(r["content"][0].get("resource", {}).get("blob") == "AP/+", "bytes come back as bytes", r)
snap = tool("sandbox_snapshot", label="s1")["structuredContent"]["snapshot"]
check(not tool("sandbox_edit", path="a/b.txt", old="two", new="three")["isError"], "edit")
check(tool("sandbox_edit", path="a/b.txt", old="absent", new="x")["isError"], "an edit that finds nothing is a tool error")
r = tool("sandbox_diff", base=snap)["structuredContent"]
check("+three" in r["patch"] and [f["path"] for f in r["files"]] == ["a/b.txt"], "diff since the snapshot", r)
tool("sandbox_rollback", to="s1")
check(text(tool("sandbox_read", path="a/b.txt")) == "one\ntwo\n", "rollback")
check(tool("sandbox_list", pattern="**/*.txt")["structuredContent"]["paths"] == ["a/b.txt"], "list")
check(tool("sandbox_list", pattern="**/*.none")["structuredContent"]["paths"] == [], "a list of nothing")
two = tool("sandbox_create", name="two")["structuredContent"]["sandbox_id"]
check(tool("sandbox_exec", sandbox_id=two, cmd="ls")["structuredContent"]["stdout"] == "", "a second sandbox is another one")
check("sandbox not found" in text(tool("sandbox_exec", sandbox_id="nope", cmd="ls")), "an unknown sandbox")
check(tool("sandbox_exec", cmd="sleep 9", timeout_ms=100)["isError"], "a time-out is a tool error")
check("cmd" in text(tool("sandbox_exec", cmd=True)), "a wrong argument is named")
check(tool("nope").get("error", {}).get("code") == -32602, "an unknown tool")
check(read(send("logging/setLevel")).get("error", {}).get("code") == -32601, "an unknown method")
for method, field in (("prompts/list", "prompts"), ("resources/list", "resources"), ("resources/templates/list", "resourceTemplates")):
    r = read(send(method))["result"]
    check(r[field] == [] and r["ttlMs"] > 0 and read(send(method, {}, False))["result"] == {field: []}, method + ": there are none, which is an answer")
check(read(send("prompts/get", {"name": "x"})).get("error", {}).get("code") == -32602, "a prompt that there is not")
check(read(send("resources/read", {"uri": "file:///x"}, False)).get("error", {}).get("code") == -32002, "a resource that there is not")
raw('{"broken')
m = read(None)
check(m["error"]["code"] == -32700, "broken JSON", m)
raw("[]")
check(read(None)["error"]["code"] == -32600, "no message")
raw('{"jsonrpc":"2.0","id":true,"method":"ping"}')
check(read(None)["error"]["code"] == -32600, "an id that is no id")
i = send("tools/call", {"name": "sandbox_exec", "arguments": {"cmd": "sleep 1"}})
raw(json.dumps({"jsonrpc": "2.0", "id": i, "method": "ping"}))
check(read(None)["error"]["code"] == -32600, "an id that is in use")
read(i)
i = send("tools/call", {"name": "sandbox_exec", "arguments": {"cmd": "sleep 30; touch late"}})
raw(json.dumps({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": i}}))
raw(json.dumps({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 424242}}))
check(tool("sandbox_exec", cmd="echo on")["structuredContent"]["stdout"] == "on\n", "a cancelled call makes way")
check(all(n.get("id") != i for n in notes), "and is not answered")
ids = [send("tools/call", {"name": "sandbox_exec", "arguments": {"argv": ["echo", str(k)]}}) for k in range(20)]
got = {}
while len(got) < 20:
    m = json.loads(p.stdout.readline())
    if m.get("id") in ids:
        got[m["id"]] = m["result"]["structuredContent"]["stdout"].strip()
check([got[i] for i in ids] == [str(k) for k in range(20)], "twenty at once, each its own answer", got)
notes.clear()
i = send("tools/call", {"name": "sandbox_exec", "arguments": {"cmd": "echo HOLDME"}})
m = read(i)
check(m["result"]["structuredContent"]["stdout"] == "HOLDME\n", "what is held runs when it is approved", m)
told = [n["params"]["message"] for n in notes if n.get("method") == "notifications/progress" and n["params"]["progressToken"] == i]
check(any("pending approval" in x for x in told), "meanwhile progress says that it waits for a person", told)
p.stdin.close()
check(p.wait(20) == 0, "it ends with its input")
check(p.stdout.read() == "", "nothing else was written")
