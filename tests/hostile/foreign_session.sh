#!/usr/bin/env bash
# A foreign session file: views, virtual tables, and triggers in place of ours are refused at once. Index maintenance
# ends on request.
. "$(dirname "$0")/../e2e/lib.sh"
sg=$SANDGLASS
cd "$t" || exit 1
echo 'print "one"' >one.lua
"$sg" run one.lua --name one --no-input --no-tui >out 2>&1 </dev/null
file=$(ls "$HOME"/.local/share/sandglass/sessions/*.glass | head -1)
timeout 20 "$sg" verify "$file" >out 2>&1
is $? 0 'our own file is fine'
make() { # name, SQL: a copy of ours that it has been done to
	cp "$file" "$1.glass"
	python3 -c '
import sqlite3, sys
c = sqlite3.connect(sys.argv[1], isolation_level=None)
c.execute("PRAGMA legacy_alter_table=ON")
c.executescript(sys.argv[2])' "$1.glass" "$2" || echo "# $1 could not be made"
}
make view "ALTER TABLE event RENAME TO event2; CREATE VIEW event AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS seq, 0 AS cause, 0 AS agent, 0 AS box, 0 AS action, i AS ts_us, i AS mono_us, 1 AS kind, x'' AS salt, '{}' AS body, x'' AS body_hash, x'' AS chain FROM n"
make segments "ALTER TABLE segment RENAME TO segment2; CREATE VIEW segment AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS seq, 1 AS action, 1 AS stream, i AS off FROM n"
make virtual "DROP TABLE mark; CREATE VIRTUAL TABLE mark USING fts5(a)"
make trigger "CREATE TRIGGER more AFTER INSERT ON event BEGIN DELETE FROM checkpoint; END"
make computed "ALTER TABLE mark RENAME TO mark2; CREATE TABLE mark(name TEXT, value INTEGER, slow GENERATED ALWAYS AS (length(printf('%.*c', 900000000, 'x'))) VIRTUAL)"
make indexed "CREATE INDEX slow ON event(length(hex(body)))"
make unnamed "ALTER TABLE session RENAME TO session2; CREATE TABLE session AS SELECT NULL AS id, uuid, NULL AS name, key FROM session2"
make default "ALTER TABLE mark RENAME TO mark2; CREATE TABLE mark(name TEXT PRIMARY KEY, value INTEGER NOT NULL DEFAULT (length(randomblob(900000000)))) STRICT, WITHOUT ROWID; DROP TABLE mark2"
make checked "ALTER TABLE mark RENAME TO mark2; CREATE TABLE mark(name TEXT PRIMARY KEY, value INTEGER NOT NULL CHECK (length(randomblob(900000000)) > 0)) STRICT, WITHOUT ROWID; DROP TABLE mark2"
make other_view "DROP VIEW v_event; CREATE VIEW v_event AS SELECT 1 AS seq, 'now' AS time, 'note' AS kind, 0 AS cause, 0 AS agent, 0 AS box, 0 AS action, '{}' AS body"
make other_trigger "DROP TRIGGER event_stays; CREATE TRIGGER event_stays BEFORE DELETE ON event BEGIN DELETE FROM checkpoint; END"
make quoted "DROP VIEW v_event; CREATE VIEW v_event AS SELECT '--' AS seq, 'now' AS time"
make more "CREATE TABLE more(a)"
for f in view segments virtual trigger computed indexed unnamed default checked other_view other_trigger quoted more; do
	for c in verify show events; do
		timeout -k 1 10 "$sg" $c "./$f.glass" >out 2>&1 </dev/null
		rc=$?
		[ $rc -ne 0 ] && [ $rc -lt 124 ]
		ok $? "$f: $c refuses it at once ($rc)"
	done
done
# a table whose pages lead to one another: from its root on, each page names the next one 200 times
cat >endless.py <<'P'
import struct, sys
name, table = sys.argv[1:]
import sqlite3
c = sqlite3.connect(name)
root, = c.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", (table,)).fetchone()
c.close()
data = bytearray(open(name, "rb").read())
size = struct.unpack(">H", data[16:18])[0]
pages = len(data) // size
leaf = bytes(data[(root - 1) * size:root * size])
LEVELS, CELLS = 8, 200
def inner(child):
    cell, at, page = struct.pack(">I", child) + b"\x7f", size, bytearray(size)
    page[0] = 5
    page[3:5] = struct.pack(">H", CELLS)
    page[8:12] = struct.pack(">I", child)
    for i in range(CELLS):
        at -= len(cell)
        page[at:at + len(cell)] = cell
        page[12 + 2 * i:14 + 2 * i] = struct.pack(">H", at)
    page[5:7] = struct.pack(">H", at)
    return page
if leaf[0] != 13: sys.exit("the table has more than one page")
first = pages + 1
for level in range(LEVELS - 1):
    data += inner(first + level + 1 if level < LEVELS - 2 else first + LEVELS - 1)
data += leaf
data[(root - 1) * size:root * size] = inner(first)
data[28:32] = struct.pack(">I", len(data) // size)
open(name, "wb").write(data)
P
for f in segment; do
	make "endless-$f" "INSERT INTO message(hash, size, codec, data) VALUES (randomblob(32), 1, 0, x'78'), (randomblob(32), 1, 0, x'79');
		INSERT INTO segment(seq, action, stream, off, len, ts_us, hash, codec, data) VALUES (1, 1, 1, 0, 1, 1, randomblob(32), 0, x'78'), (2, 1, 1, 1, 1, 1, randomblob(32), 0, x'78')"
	python3 endless.py "endless-$f.glass" "$f"
	ok $? "a session file whose table $f has no end"
	timeout -k 1 60 "$sg" verify "./endless-$f.glass" >out 2>&1 </dev/null
	rc=$?
	[ $rc -ne 0 ] && [ $rc -lt 124 ]
	ok $? "verify of it comes to an end ($rc)"
done
# numbers that count nothing
make kind "DROP TRIGGER event_kept; UPDATE event SET kind = 70000 WHERE seq = (SELECT max(seq) FROM event)"
make agent "DROP TRIGGER event_kept; UPDATE event SET agent = -3 WHERE seq = (SELECT max(seq) FROM event)"
for f in kind agent; do
	for c in verify events; do
		timeout -k 1 20 "$sg" $c "./$f.glass" >out 2>&1 </dev/null
		rc=$?
		[ $rc -ne 0 ] && [ $rc -lt 124 ]
		ok $? "$f: $c refuses a number that is out of range ($rc)"
	done
done
timeout -k 1 20 "$sg" resume ./trigger.glass >out 2>&1 </dev/null
rc=$?
[ $rc -ne 0 ] && [ $rc -lt 124 ]
ok $? "and it is not resumed ($rc)"
finish
