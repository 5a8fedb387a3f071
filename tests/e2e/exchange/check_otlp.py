"""OTLP/HTTP JSON by the rules of its protobuf mapping: names, types, ids. With opentelemetry-proto installed it is decoded by
the published definitions as well. Prints how many spans, and 'decoded' or 'rules only'."""
import json, sys

SPAN = {"traceId", "spanId", "parentSpanId", "name", "kind", "startTimeUnixNano", "endTimeUnixNano", "attributes", "status"}
VALUE = {"stringValue": str, "boolValue": bool, "intValue": str, "arrayValue": dict}
# of the GenAI conventions v0.1.0; the older gen_ai.workflow.name, cache_creation, and gen_ai.system are gone
GEN_AI = {"gen_ai." + n for n in (
    "operation.name provider.name conversation.id agent.name request.model response.id response.model response.finish_reasons "
    "usage.input_tokens usage.output_tokens usage.cache_read.input_tokens usage.cache_write.input_tokens output.messages "
    "tool.name tool.type tool.call.id tool.call.arguments tool.call.result").split()}
OPERATION = {"invoke_workflow", "invoke_agent", "chat", "execute_tool"}
doc = json.load(open(sys.argv[1]))
spans = [s for r in doc["resourceSpans"] for c in r["scopeSpans"] for s in c["spans"]]
ids = {s["spanId"] for s in spans}
assert len(ids) == len(spans)
for s in spans:
    assert set(s) <= SPAN, set(s) - SPAN
    assert len(bytes.fromhex(s["traceId"])) == 16 and len(bytes.fromhex(s["spanId"])) == 8
    assert "parentSpanId" not in s or s["parentSpanId"] in ids
    assert isinstance(s["kind"], int) and int(s["startTimeUnixNano"]) <= int(s["endTimeUnixNano"])
    for a in s["attributes"]:
        (kind, value), = a["value"].items()
        assert isinstance(value, VALUE[kind]), a
    names = {a["key"] for a in s["attributes"]}
    assert "gen_ai.operation.name" in names
    assert {n for n in names if n.startswith("gen_ai.")} <= GEN_AI, names
    operation, = [a["value"]["stringValue"] for a in s["attributes"] if a["key"] == "gen_ai.operation.name"]
    assert operation in OPERATION
    assert not operation.startswith("invoke_") or "gen_ai.agent.name" in names
how = "rules only"
try:
    import base64
    from google.protobuf import json_format
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
    for s in spans:
        for k in ("traceId", "spanId", "parentSpanId"):
            if k in s:
                s[k] = base64.b64encode(bytes.fromhex(s[k])).decode()
    m = json_format.ParseDict(doc, ExportTraceServiceRequest())
    assert sum(len(c.spans) for r in m.resource_spans for c in r.scope_spans) == len(spans)
    how = "decoded"
except ImportError:
    pass
print(len(spans), how)
