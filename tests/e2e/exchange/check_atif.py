"""The rules of ATIF 1.7, as its validator has them; prints counts: steps, calls, prompt and completion tokens."""
import json, sys
from datetime import datetime

STEP = {"step_id", "timestamp", "source", "message", "model_name", "reasoning_effort", "reasoning_content", "tool_calls",
        "metrics", "llm_call_count", "observation", "is_copied_context", "extra"}
AGENT_ONLY = {"model_name", "reasoning_effort", "reasoning_content", "tool_calls", "metrics", "llm_call_count"}
ROOT = {"schema_version", "session_id", "trajectory_id", "agent", "steps", "notes", "final_metrics", "continued_trajectory_ref",
        "subagent_trajectories", "extra"}
ids, sums = set(), [0, 0, 0, 0]


def check(t):
    assert set(t) <= ROOT, set(t) - ROOT
    assert t["schema_version"] == "ATIF-v1.7"
    assert t["trajectory_id"] not in ids
    ids.add(t["trajectory_id"])
    assert isinstance(t["agent"]["name"], str) and isinstance(t["agent"]["version"], str)
    assert t["steps"]
    for n, s in enumerate(t["steps"], 1):
        assert set(s) <= STEP, set(s) - STEP
        assert s["step_id"] == n and s["source"] in ("system", "user", "agent") and isinstance(s["message"], str)
        datetime.fromisoformat(s["timestamp"].replace("Z", "+00:00"))
        assert s["source"] == "agent" or not AGENT_ONLY & set(s)
        assert s.get("llm_call_count") != 0 or "metrics" not in s
        calls = [c["tool_call_id"] for c in s.get("tool_calls", [])]
        assert len(set(calls)) == len(calls)
        for c in s.get("tool_calls", []):
            assert isinstance(c["arguments"], dict) and isinstance(c["function_name"], str)
        for r in s.get("observation", {}).get("results", []):
            assert r["source_call_id"] in calls
        sums[0] += 1
        sums[1] += len(calls)
        sums[2] += s.get("metrics", {}).get("prompt_tokens", 0)
        sums[3] += s.get("metrics", {}).get("completion_tokens", 0)
    assert t["final_metrics"]["total_steps"] == len(t["steps"])
    for sub in t.get("subagent_trajectories", []):
        check(sub)


check(json.load(open(sys.argv[1])))
print(*sums)
