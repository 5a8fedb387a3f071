"""Places in the tree that break the rules for prose (tests/house/prose.sh runs this).

usage: prose.py FILE...    one line per place: FILE:LINE: what is wrong: the text
Read: guides (*.md), comments and strings of C (*.c *.h *.def), comments and strings of Lua."""
import re
import sys

WORDS_MAX = 25  # of one sentence on one line
COLUMNS_MAX = 100  # of headers and guides
BANNED = [
    r"\b(is|are|was|were|be|been) told\b",
    r"\b(is|are) wanted\b",
    r"\bis said\b",
    r"\bsays (so|more)\b",
    r"\bany more\b",
    r"\bgo(es)? on\b",
    r"\bof (then|now)\b",
    r"\bbefall(s|en)?\b",
    r"\bwhoever\b",
    r"\bnobody can\b",
    r"\bby itself\b",
    r"\bin the midst\b",
    r"\bfor ever\b",
    r"\bso (long|many)\b",
    r"\b(stands?|lies?) in\b",
    r"\bstill stands?\b",
    r"\bmust be said\b",
    r"\b(that|which) is none\b",
    r"\bthere are none\b",
    r"\bis no (?!longer\b)[a-z]+\b",
    r"\bcame? of\b",
    r"\bsomebody('s)?\b",
    r"\bmend(s|ed|ing)?\b",
    r"\bto be (had|typed|done|seen)\b",
    # a clause in the place of a noun: "what is held", "of what it runs" (questions are fine)
    r"(?:^|[,;:(.] ?|\b(?:of|for|and|than|by|from|with|on|to|in) )"
    r"what (is|was|were|are|has|had|it|they|he|she|must|may|can|goes|comes|runs)\b(?=[^?]*$)",
]
RULES = [re.compile(b, re.I) for b in BANNED]
STRING = r'"((?:[^"\\]|\\.)*)"'


def texts_of(path, line):
    """The prose of a line: all of a guide's, comments and strings with a blank elsewhere."""
    if path.endswith(".md"):
        return [line]
    strings = [s for s in re.findall(STRING, line) if " " in s]
    if path.endswith(".lua"):
        return re.findall(r"--+(.*)$", line) + strings
    comments = re.findall(r"/\*+(.*?)(?:\*/|$)", line) + re.findall(r"^\s*\*\s(.*?)(?:\*/|$)", line)
    return comments + re.findall(r"//(.*)$", line) + strings


def places_of(path, line):
    for text in texts_of(path, line):
        for rule in RULES:
            found = rule.search(text)
            if found:
                yield f"'{found.group(0)}': {text.strip()[:100]}"
                break
        for sentence in re.split(r"(?<=[.!?])\s", text):
            words = len(sentence.split())
            if words > WORDS_MAX and not sentence.lstrip().startswith("|"):
                yield f"{words} words: {sentence.strip()[:100]}"
    width = len(line.expandtabs(8))
    if re.search(r"\.(h|md)$", path) and width > COLUMNS_MAX and "|" not in line and "http" not in line:
        yield f"{width} columns"


for path in sys.argv[1:]:
    with open(path, errors="replace") as lines:
        for number, line in enumerate(lines, 1):
            for place in places_of(path, line.rstrip("\n")):
                print(f"{path}:{number}: {place}")
