"""look_for.py SESSION WORD...: is a word, as it is, in base64, in hexadecimal or percent-encoded, in any value of any
table of a session file, unpacked? Prints where; exit status 1 when it is. --deny N: fails when fewer than N were seen."""
import base64, sqlite3, subprocess, sys, urllib.parse, zlib


def forms(word):
    w = word.encode()
    yield w
    yield w.hex().encode()
    yield urllib.parse.quote(word, safe="").encode()
    for before in range(3):
        whole = base64.b64encode(b"\0" * before + w)
        yield whole[(before * 8 + 5) // 6 : (before + len(w)) * 8 // 6]


def unpacked(v):
    yield v
    if v[:4] == b"\x28\xb5\x2f\xfd":
        yield subprocess.run(["zstd", "-dcq"], input=v, capture_output=True).stdout
    try:
        yield zlib.decompress(v)
    except zlib.error:
        pass


def main():
    wanted = {f for word in sys.argv[2:] for f in forms(word) if len(f) >= 6}
    db = sqlite3.connect("file:%s?mode=ro" % sys.argv[1], uri=True)
    bad = seen = 0
    for (table,) in db.execute("select name from sqlite_master where type='table'").fetchall():
        try:
            rows = db.execute('select * from "%s"' % table)
        except sqlite3.Error:
            continue
        for row in rows:
            for v in row:
                v = v.encode() if isinstance(v, str) else v
                if not isinstance(v, bytes):
                    continue
                seen += 1
                for text in unpacked(v):
                    for w in wanted:
                        if w in text:
                            bad += 1
                            print(table, w, text[max(0, text.index(w) - 60) : text.index(w) + 40])
    print("looked at", seen)
    sys.exit(bad != 0 or seen < 20)


main()
