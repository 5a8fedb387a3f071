#!/usr/bin/env python3
"""Speaks stream-json (argument: stream), pi's RPC (rpc) or only prints (print); in its turn it sends messages of the wrong shape,
asks without a number, asks what cannot be judged, and says what it heard."""
import json, sys


def send(**m):
    print(json.dumps(m), flush=True)


def stream():
    for line in sys.stdin:
        m = json.loads(line)
        if m["type"] == "control_request":
            send(type="control_response", response={"subtype": "success", "request_id": m["request_id"]})
        elif m["type"] == "user":
            send(type="assistant", message=5)
            send(type="user", message={"content": [5]})
            send(type="control_response", response=5)
            send(type="control_request", request={"subtype": "can_use_tool", "tool_name": "Bash", "input": {"command": "id"}})
            send(type="control_request", request_id="q", request={"subtype": "can_use_tool", "tool_name": "Bash", "permission_suggestions": [5]})
        elif m["type"] == "control_response":
            send(type="assistant", message={"content": [{"type": "text", "text": "heard " + m["response"]["response"]["behavior"]}]})
            send(type="result", subtype="success", result="end")


def rpc():
    for line in sys.stdin:
        m = json.loads(line)
        send(type="response", id=m["id"], success=True, data={})
        if m["type"] == "prompt":
            send(type="tool_execution_start", toolName="bash")
            send(type="message_end", message={"role": "assistant", "content": [5]})
            send(type="message_end", message={"role": "assistant", "content": [{"type": "text", "text": "heard all"}]})
            send(type="agent_settled")


def shown():
    send(bad=5)
    send(say="heard all")


{"stream": stream, "rpc": rpc, "print": shown}[sys.argv[1]]()
