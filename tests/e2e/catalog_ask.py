"""Asks random questions of a directory of sessions, with its catalog and without: catalog_ask.py PROGRAM DIR SEED NUMBER"""
import os
import random
import shutil
import subprocess
import sys

program, where, seed, number = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
chance = random.Random(seed)
WORDS = ["lexer", "assertion", "octal", "isdigit", "xyzzy", "exer", "ASSERT", "失敗", "検査中", "検", "3000", "dead", "77", "cc", "b6",
         '"turn 3 of"', '"of ada"', '"fix/lexer"', '"assertion failed: next"', "evil", "begin*", "unit_04", "t_lex", "00", "scripted"]
FIELDS = ["kind:exec", "kind:note", "cmd:make*", 'cmd:"git push*"', "cmd~^gi", "host:evil.example", "host:*.example", "exit:2", "exit>0",
          "path:src/lexer.c", "path:src/**", "rule:*publishing*", "verdict:deny", "by:human", "tool:shell", "text:isdigit", "agent:ada",
          "is:error", "dur>100ms", "since:1h", "text~octal|parser"]
PATHS = ["src/lexer.c", "include/lexer.h", "tests/t_lexer.c", "src/main.c", "nowhere.c"]


POLICY = os.path.join(where, "past.lua")
with open(POLICY, "w") as f:
    f.write("""local p = require "sandglass.policy"
return p.rules { default = "boxed", p.deny "make" { cmd = "make *" }, p.ask "src" { kind = "edit", path = "src/**" },
    p.allow "push" { cmd = "git push *" }, p.ask "ada" { agent = "ada", kind = "exec" } }
""")


def question():
    terms = [chance.choice(WORDS if chance.random() < 0.6 else FIELDS) for _ in range(chance.randint(1, 3))]
    text = terms[0]
    for term in terms[1:]:
        text += chance.choice([" ", " ", " ", " or ", " not "]) + term
    kind = chance.random()
    if kind < 0.65:
        return ["search", text, "-n", str(chance.choice([3, 100, 10000])), "--json"]
    if kind < 0.72:
        words = chance.choice([["when", chance.choice(["lexer", "octal", "int"]), "--all", "--json"], ["blame", chance.choice(PATHS), "--all", "--json"]])
        if words[0] == "when" and chance.random() < 0.7:
            words += ["--path", chance.choice(PATHS + ["src", "*.c", "tests/*"])]
        return words + chance.choice([[], [], ["--agent", "ada"], ["--since", "1h"]])
    if kind < 0.87:
        return ["ls", "--all", "--json", "--filter", text]
    words = chance.choice([["ls", "--all", "--json"], ["report", "--json"], ["policy", "mine", "--json"],
                          ["policy", "past", POLICY, "--json"], ["policy", "past", POLICY], ["policy", "past", POLICY, "-q"]])
    if kind < 0.91:
        words = ["compare", "--json", "--since", "2025-11-21"]
    if chance.random() < 0.7:
        words += chance.choice([["--agent", "ada"], ["--model", "cripte"], ["--repo", "x"], ["--since", "1h"], ["--until", "2025-11-22"],
                                ["--since", "2025-11-21T14:40", "--agent", "brook"]])
    return words


def answer(words):
    p = subprocess.run([program, *words], capture_output=True, timeout=100)
    return p.returncode, p.stdout


catalog, off = os.path.join(where, "catalog"), os.path.join(where, "off")


def both(some):
    with_it = [answer(q) for q in some]
    os.rename(catalog, off)
    without = [answer(q) for q in some]
    while True:
        try:
            os.rename(off, catalog)
            break
        except OSError:  # a reader that missed the catalog has started a builder
            shutil.rmtree(catalog, ignore_errors=True)
    return list(zip(some, with_it, without))


def main():
    # a search that takes long on a busy machine has the session's index finished: its file changes between the two
    asked = both([question() for _ in range(number)])
    bad = [q for q, a, b in asked if a != b]
    for _ in range(2):
        bad = [(q, a, b) for q, a, b in both(bad) if a != b] if bad else []
        last, bad = bad, [q for q, _, _ in bad]
    if bad:
        for q, a, b in last:
            print("differs:", q, a[0], b[0])
            for mark, one, other in (("-", b, a), ("+", a, b)):
                lines = set(other[1].splitlines())
                for line in [x for x in one[1].splitlines() if x not in lines][:3]:
                    print(mark, line.decode(errors="replace")[:300])
    if not any(b[1] for _, _, b in asked):
        print("every answer is empty")
        bad.append(None)
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
