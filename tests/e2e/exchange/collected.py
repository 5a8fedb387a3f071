"""What a collector got. collected.py GOT traces: all spans taken, as one request (of one span sent twice, the last).
collected.py GOT max NAME: the highest value of a metric; last NAME: the last one. collected.py GOT count STATUS PATH."""
import json, sys

rows = [l.rstrip("\n").split("\t", 3) for l in open(sys.argv[1])]
what = sys.argv[2]
if what == "count":
    print(sum(r[0] == sys.argv[3] and r[1].endswith(sys.argv[4]) for r in rows))
elif what == "traces":
    spans = {}
    for r in rows:
        if r[0] == "200" and r[1].endswith("traces"):
            for s in json.loads(r[3])["resourceSpans"][0]["scopeSpans"][0]["spans"]:
                spans[s["spanId"]] = s
    print(json.dumps({"resourceSpans": [{"resource": {"attributes": []}, "scopeSpans": [{"scope": {}, "spans": list(spans.values())}]}]}))
else:
    values = []
    for r in rows:
        if r[0] == "200" and r[1].endswith("metrics"):
            for m in json.loads(r[3])["resourceMetrics"][0]["scopeMetrics"][0]["metrics"]:
                if m["name"] == sys.argv[3]:
                    values.append(int((m.get("sum") or m["gauge"])["dataPoints"][0]["asInt"]))
    print(max(values, default=-1) if what == "max" else values[-1] if values else -1)
