"""Events of `sandglass events --json` (standard input) obey schema/events.json.

usage: check_schema.py SCHEMA    one line per event that doesn't; then the number of events"""
import json
import sys

from jsonschema import Draft202012Validator

schema = json.load(open(sys.argv[1]))
Draft202012Validator.check_schema(schema)
checks, nr = {}, 0


def undeclared(body, rule, at):
    """Members that the schema doesn't name."""
    rule = schema["$defs"][rule["$ref"].rsplit("/", 1)[1]] if "$ref" in rule else rule
    if isinstance(body, list):
        for item in body:
            yield from undeclared(item, rule.get("items", {}), at + "[]")
    elif isinstance(body, dict) and "properties" in rule and "anyOf" not in rule:
        for key, value in body.items():
            if key not in rule["properties"]:
                yield f"{at}.{key}"
            else:
                yield from undeclared(value, rule["properties"][key], f"{at}.{key}")


for line in sys.stdin:
    event, nr = json.loads(line), nr + 1
    kind, body = event["kind"], event.get("body")
    if body is None:
        continue  # redacted
    rule = {"$ref": f"#/$defs/{kind}"}
    if kind not in checks:
        checks[kind] = Draft202012Validator({**rule, "$defs": schema["$defs"]})
    for wrong in checks[kind].iter_errors(body):
        print(f"#{event['seq']} {kind}: {'.'.join(map(str, wrong.path))}: {wrong.message[:100]}")
    for field in undeclared(body, rule, kind):
        print(f"#{event['seq']} {field} is not declared")
print(nr)
