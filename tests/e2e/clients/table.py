"""The client table of a guide: table.py write|compare GUIDE RESULTS. RESULTS has {client: {column: word}} of the rows that ran; what did
not run keeps its place in the guide, and is not compared."""
import json, sys

act, guide, results = sys.argv[1:4]
COLUMNS = ["http", "https", "upload", "stream", "other", "refusal"]
OTHER = {"websocket": "WebSocket", "slow": "long answer", "connections": "many connections", "ssh": "ssh"}
WORDS = {"reason": "prints the reason", "status": "prints the status", "engine": "no engine", "yes": "yes", "no": "**no**"}
HEAD = "| client | " + " | ".join(COLUMNS) + " |"


def cells(row):
    other = ", ".join(text + ("" if row[key] == "yes" else ": **no**") for key, text in OTHER.items() if key in row)
    return [other or "-" if c == "other" else WORDS[row[c]] if c in row else "-" for c in COLUMNS]


lines = open(guide).read().split("\n")
start = lines.index(HEAD)
end = next(i for i in range(start, len(lines)) if not lines[i].startswith("|"))
there = {line.split(" | ")[0].strip("| "): line for line in lines[start + 2:end]}
wrong = 0
for client, row in json.load(open(results)).items():
    line = "| " + " | ".join([client] + cells(row)) + " |"
    if there.get(client) != line:
        print("got  %s\nwant %s" % (line, there.get(client)))
        wrong += 1
    there[client] = line
if act == "write":
    lines[start + 2:end] = there.values()
    open(guide, "w").write("\n".join(lines))
    sys.exit(0)
sys.exit(wrong > 0)
