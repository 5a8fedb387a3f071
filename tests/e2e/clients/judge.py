"""What the clients printed, judged: judge.py EVENTS ROWS TABLE prints "ok|not ok|skip<TAB>name<TAB>why" and writes TABLE, one JSON
object {client: {column: word}}."""
import json, sys

events, rows, table = sys.argv[1:4]
WANT = {"http": "hello", "https": "hello", "upload": "13000000 bytes came", "stream": "streamed", "websocket": "echo hi",
        "slow": "slow and done"}
said = {}
for line in open(events):
    e = json.loads(line)
    text = e["body"].get("text", "") if e["kind"] == "note" else ""
    if text.startswith("ROW "):
        _, number, status, rest = text.split(" ", 3)
        said[int(number)] = (status, json.loads(rest))
result = {}
for n, line in enumerate(open(rows).read().splitlines()):
    client, column, _, command = line.split("\t", 3)
    status, body = said.get(n, ("none", {"out": "the command did not run"}))
    out = body.get("out", "")
    name = "%s: %s" % (client, column)
    if status == "77":  # the row's own word that its program is not there
        print("skip\t%s\t%s" % (name, out.strip().split("\n")[-1]))
        continue
    if column == "refusal":  # the tool result says why in any case; most clients print it, too
        told = [r for r in body.get("refused") or [] if r["host"] == "refused.example.org" and r["why"]]
        good = status not in ("0", "none") and bool(told)
        word = "no" if not good else "reason" if "sandglass" in out else "status"
        if client == "docker pull":  # it asks an engine, and there is none in a sandbox
            good = status == "1" and "Cannot connect to the Docker daemon" in out
            word = "engine" if good else "no"
    else:
        good = status == "0" and WANT.get(column.rstrip("!"), "hello") in out
        word = "yes" if good else "no"
    limit, column = column.endswith("!"), column.rstrip("!")  # a limit that the guide names
    result.setdefault(client, {})[column] = word
    if limit:
        print("%s\t%s doesn't work, as the guide says\t%s" % ("not ok" if good else "ok", name, "it works: say so"))
        continue
    why = ("status %s: %s" % (status, out.replace("\n", " / ").replace("\t", " "))) if not good else ""
    print("%s\t%s\t%s" % ("ok" if good else "not ok", name, why[-1500:]))
json.dump(result, open(table, "w"))
