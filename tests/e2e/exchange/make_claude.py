"""Writes a file as Claude Code does, with N answers, and prints: answers calls people tokens-in tokens-out. Answers with two blocks
stand on two lines that repeat the usage; every seventh result comes late; some lines mean nothing."""
import json, sys

n, out = int(sys.argv[2]), open(sys.argv[1], "w")
calls = people = tin = tout = 0


def line(kind, at, **more):
    stamp = "2026-08-01T%02d:%02d:%02d.000Z" % (at // 3600 % 24, at // 60 % 60, at % 60)
    out.write(json.dumps({"type": kind, "uuid": f"u{at}", "sessionId": "S", "timestamp": stamp, **more}) + "\n")


line("user", 0, message={"role": "user", "content": "make the tests pass"})
people += 1
for i in range(n):
    use = {"input_tokens": i % 50, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 3}
    a = {"id": f"m{i}", "role": "assistant", "model": "claude-x"}
    line("assistant", i * 4 + 1, message={**a, "content": [{"type": "text", "text": f"step {i}"}], "usage": {**use, "output_tokens": 1}})
    block = {"type": "tool_use", "id": f"t{i}", "name": "Bash", "input": {"command": f"echo {i}"}}
    line("assistant", i * 4 + 2, message={**a, "content": [block], "usage": {**use, "output_tokens": i % 9 + 1}})
    line("user", i * 4 + 3, message={"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"t{i}", "content": f"{i}\n"}]})
    if i % 10 == 0:
        line("file-history-snapshot", i * 4 + 3, snapshot={})
    calls, tin, tout = calls + 1, tin + i % 50 + 103, tout + i % 9 + 1
out.close()
print(n, calls, people, tin, tout)
