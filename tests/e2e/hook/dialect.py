"""Tells `sandglass hook` a call, its result, and a denied call as each agent does, by the very command of its settings.
dialect.py SANDGLASS prints "agent what status decision reason"."""
import json, os, signal, subprocess, sys

sg = sys.argv[1]
AGENT = {  # events before, after, end; the call; the result; keys of decision and reason
    "gemini": ("BeforeTool", "AfterTool", "SessionEnd",
               lambda c: {"session_id": "g", "cwd": "/", "tool_name": "run_shell_command", "tool_input": {"command": c}},
               {"tool_response": {"llmContent": "hi there"}}, "decision", "reason"),
    "codex": ("PreToolUse", "PostToolUse", "SessionEnd",
              lambda c: {"session_id": "x", "cwd": "/", "tool_name": "Bash", "tool_use_id": c, "tool_input": {"command": c}},
              {"tool_response": "hi there"}, "permissionDecision", "permissionDecisionReason"),
    "copilot": ("preToolUse", "postToolUse", "sessionEnd",
                lambda c: {"sessionId": "p", "cwd": "/", "timestamp": 1, "toolName": "bash", "toolArgs": json.dumps({"command": c})},
                {"toolResult": {"resultType": "success", "textResultForLlm": "hi there"}}, "permissionDecision", "permissionDecisionReason"),
    "cursor": ("preToolUse", "postToolUse", "sessionEnd",
               lambda c: {"conversation_id": "c", "workspace_roots": ["/"], "tool_name": "Shell", "tool_use_id": "1", "tool_input": {"command": c}},
               {"tool_output": "hi there"}, "permission", "agent_message"),
}
for agent, (before, after, end, call, result, word, why) in AGENT.items():
    settings = json.loads(subprocess.run([sg, "hook", "settings", agent], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout)

    def tell(event, fields, env=None):
        entry = settings["hooks"][event][0]
        entry = entry["hooks"][0] if "hooks" in entry else entry
        if agent != "copilot":  # which names the event nowhere
            fields = {"hook_event_name": event, **fields}
        done = subprocess.run(["sh", "-c", entry.get("bash") or entry["command"]], input=json.dumps(fields).encode(), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env=env)
        # Codex continues after a status 2 without a text
        status = "silent" if done.returncode == 2 and not done.stderr.strip() else done.returncode
        said = json.loads(done.stdout or b"{}")
        return status, said.get("hookSpecificOutput", said) if agent == "codex" else said

    status, said = tell(before, call("echo hi"))
    print(agent, "first", status, said.get(word))
    tell(after, {**call("echo hi"), **result})
    status, said = tell(before, call("rm -rf x"))
    print(agent, "second", status, said.get(word), said.get(why))
    # its hook waits for a user when the agent ends, with all that it started
    entry = settings["hooks"][before][0]
    entry = entry["hooks"][0] if "hooks" in entry else entry
    fields = call("make test") if agent == "copilot" else {"hook_event_name": before, **call("make test")}
    waits = subprocess.Popen(["sh", "-c", entry.get("bash") or entry["command"]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             start_new_session=True)
    waits.stdin.write(json.dumps(fields).encode())
    waits.stdin.close()
    live, held = [sg, "ls", "--live", "--json"], ('"name":"%s"' % agent).encode()
    while waits.poll() is None:
        rows = subprocess.run(live, stdout=subprocess.PIPE).stdout.split(b"\n")
        if any(held in row and b'"held":1' in row for row in rows):
            break
    os.killpg(waits.pid, signal.SIGTERM)
    print(agent, "killed", waits.wait() if waits.stderr.read().strip() else "silent")
    print(agent, "alone", tell(before, call("echo hi"), {"PATH": "/usr/bin:/bin"})[0], flush=True)
    tell(end, call("echo hi"))
