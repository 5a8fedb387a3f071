"""A cast by the rules of its version; prints output events, markers, and the text that a terminal would get."""
import json, sys

lines = open(sys.argv[1], encoding="utf-8").read().splitlines()
head, text, marks, last = json.loads(lines[0]), [], 0, 0
v = head["version"]
assert (v == 2 and head["width"] > 0 and head["height"] > 0) or (v == 3 and head["term"]["cols"] > 0)
for line in lines[1:]:
    t, code, data = json.loads(line)
    assert isinstance(data, str) and code in ("o", "m", "r", "x")
    assert t >= (last if v == 2 else 0)
    last = t
    marks += code == "m"
    if code == "o":
        text.append(data)
all = "".join(text)
assert "\x1b]" not in all and "\x1bP" not in all, "a string that speaks to the terminal itself"
print(len(text), marks)
sys.stdout.write(all) if len(sys.argv) > 2 else None
