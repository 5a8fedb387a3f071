#!/usr/bin/env bash
# Counts of an import: subagents once, a copied history never, streamed answers by their last usage, compactions and
# retries once. The same file twice is refused.
. "$(dirname "$0")/lib.sh"
sg=$SANDGLASS
export SANDGLASS_SESSIONS=$t/sessions
cd "$t" || exit 1
cat >make.py <<'P'
import json, os
T = lambda n: "2026-07-01T10:%02d:%02d.000Z" % (n // 60, n % 60)
def w(p, ls):
    os.makedirs(os.path.dirname(p) or ".", exist_ok=True)
    open(p, "w").write("".join(json.dumps(l, separators=(",", ":")) + "\n" for l in ls))
nr = [0]
def line(ts, kind, message, side=None, **k):
    nr[0] += 1
    o = {"parentUuid": None, "isSidechain": side is not None, "sessionId": "s1", "type": kind, "uuid": "u%d" % nr[0], "timestamp": T(ts), "message": message}
    if side: o["agentId"] = side
    return dict(o, **k)
def says(ts, id, content, i, o, side=None, **k):
    return line(ts, "assistant", {"id": id, "role": "assistant", "model": "claude-haiku-4-5", "content": content,
        "usage": {"input_tokens": i, "output_tokens": o, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}}, side, **k)
text = lambda t: [{"type": "text", "text": t}]
use = lambda i, n, a: [{"type": "tool_use", "id": i, "name": n, "input": a}]
back = lambda ts, i, t, side=None: line(ts, "user", {"role": "user", "content": [{"type": "tool_result", "tool_use_id": i, "content": t}]}, side)
ask = lambda ts, t, side=None, **k: line(ts, "user", {"role": "user", "content": t}, side, **k)
main = [ask(0, "go"),
    # one answer in three lines, with results between them: its last usage counts
    says(1, "m1", text("I look."), 100, 1), says(2, "m1", use("t1", "Bash", {"command": "ls"}), 100, 5), back(3, "t1", "a"),
    says(4, "m1", use("t2", "Task", {"prompt": "part"}), 100, 40), back(20, "t2", "done"),
    # the same lines again, as a compaction keeps them, and its summary
    line(21, "system", {"role": "system", "content": ""}, subtype="compact_boundary"), ask(22, "This session continues another.", isCompactSummary=True),
    says(4, "m1", use("t2", "Task", {"prompt": "part"}), 100, 40),
    says(30, "m2", text("Done."), 200, 20)]
sub = lambda s, n: [ask(5, "part", s), says(6, n + "1", use(n + "t", "Bash", {"command": "make"}), 1000, 10, s), back(7, n + "t", "ok", s), says(8, n + "2", text("part done"), 2000, 20, s)]
w("claude/s1.jsonl", main)
w("claude/s1/subagents/agent-aa.jsonl", sub("aa", "x"))
w("claude/s1/subagents/agent-bb.jsonl", sub("bb", "y") + sub("aa", "x")[-1:])
w("older/s1.jsonl", main)
w("older/agent-cc.jsonl", sub("cc", "z"))
w("older/agent-dd.jsonl", [dict(l, sessionId="another") for l in sub("dd", "q")])
# Codex: parent, fork, spawned thread
meta = lambda i, ts, **k: {"timestamp": T(ts), "type": "session_meta", "payload": dict({"id": i, "timestamp": T(ts), "cwd": "/w", "cli_version": "0.145.0"}, **k)}
ctx = lambda ts: {"timestamp": T(ts), "type": "turn_context", "payload": {"cwd": "/w", "model": "m"}}
ev = lambda ts, t: {"timestamp": T(ts), "type": "event_msg", "payload": {"type": t}}
msg = lambda ts, r, t: {"timestamp": T(ts), "type": "response_item", "payload": {"type": "message", "role": r, "content": [{"type": "output_text", "text": t}]}}
u = lambda i, o: {"input_tokens": i, "cached_input_tokens": 0, "output_tokens": o, "total_tokens": i + o}
tok = lambda ts, a, b: {"timestamp": T(ts), "type": "event_msg", "payload": {"type": "token_count", "info": {"last_token_usage": u(*a), "total_token_usage": u(*b)}}}
parent = [meta("p", 0), ctx(1), ev(1, "task_started"), msg(2, "user", "go"), msg(3, "assistant", "one"), tok(4, (1000, 100), (1000, 100)),
    msg(5, "assistant", "two"), tok(6, (2000, 200), (3000, 300)), tok(6, (2000, 200), (3000, 300))]
own = lambda at: [ctx(at), ev(at, "task_started"), msg(at, "user", "part"), msg(at + 3, "assistant", "answer"), tok(at + 4, (500, 50), (3500, 350))]
w("codex/parent.jsonl", parent)
w("codex/fork.jsonl", [meta("f", 100, forked_from_id="p")] + [dict(l, timestamp=T(100)) for l in parent] + own(100))
w("codex/old_times.jsonl", [meta("g", 100, forked_from_id="p")] + parent + own(101))
w("codex/headless.jsonl", [meta("h", 100, forked_from_id="p")] + [dict(l, timestamp=T(100)) for l in parent[1:]] + own(102))
w("codex/fresh.jsonl", [meta("n", 100, parent_thread_id="p", source={"subagent": {"thread_spawn": {"parent_thread_id": "p"}}})] + own(100))
P
python3 make.py
sums() { # file, options...: answers, calls, texts of people, tokens in and out, files
	"$sg" import "$@" --json 2>err | python3 -c 'import json, sys; o = json.load(sys.stdin); print(*[o.get(k) for k in ("turns", "calls", "people", "tokens_in", "tokens_out", "files")])'
}
is "$(sums claude/s1.jsonl --name one)" '6 4 1 6300 120 3' 'Claude Code: the session and its subagents, each answer once and by its last usage'
"$sg" verify one >out 2>&1
ok $? 'it verifies'
is "$(sqlite3 sessions/*-one-*.glass "SELECT group_concat(x) FROM (SELECT json_extract(a.body,'\$.name') || ':' || coalesce(json_extract(p.body,'\$.name'),'-') AS x FROM event a LEFT JOIN event p ON p.seq = json_extract(a.body,'\$.parent') WHERE a.kind = 400 ORDER BY a.seq)")" \
	'claude:-,agent-aa:claude,agent-bb:claude' 'a subagent belongs to its session'
is "$(sqlite3 sessions/*-one-*.glass "SELECT count(*) FROM event WHERE kind = 100 AND json_extract(body,'\$.tool') = 'Bash' AND agent = (SELECT seq FROM event WHERE kind = 400 AND json_extract(body,'\$.name') = 'agent-aa')")" 1 \
	'and its calls are its own'
is "$(sums older/s1.jsonl)" '4 3 1 3300 90 2' 'subagents beside the session, those of another are left out'
is "$(sums claude/s1/subagents/agent-aa.jsonl)" '2 1 0 3000 30 1' 'a subagent alone'
is "$(sums codex/parent.jsonl)" '2 0 1 3000 300 1' 'Codex: a repeated message counts once'
for f in fork old_times headless; do is "$(sums codex/$f.jsonl --name $f | cut -d' ' -f1-5)" '1 0 1 500 50' "$f: a copied history counts nothing"; done
is "$(sums codex/fresh.jsonl)" '1 0 1 500 50 1' 'a spawned thread without a copy counts whole'
like "$("$sg" events fork --json | grep import.line)" 'history response_item' 'the copy is kept'

n_of() { ls sessions/*.glass | wc -l; }
before=$(n_of)
"$sg" import claude/s1.jsonl --name again >out 2>&1
isnt=$?
is "$(n_of) $(grep -c "$(ls sessions | sed -n 's/.*-one-\(.*\)\.glass$/s-\1/p')" out)" "$before 1" 'the same file again: refused, and which session has it'
[ $isnt -ne 0 ]
ok $? 'with a failure'
is "$(sums claude/s1.jsonl --name forced --force)" '6 4 1 6300 120 3' 'unless that is asked for'
echo '{"type":"user","uuid":"u99","sessionId":"s1","timestamp":"2026-07-01T11:00:00Z","message":{"role":"user","content":"more"}}' >>claude/s1.jsonl
"$sg" import claude/s1.jsonl --name grown --json >out 2>err
like "$? $(cat out)" '^0 .*"earlier":"s-' 'a file that has grown: the earlier import is named'
finish
