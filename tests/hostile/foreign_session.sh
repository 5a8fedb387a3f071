#!/usr/bin/env bash
# A session file that somebody else has made: views, virtual tables and triggers in the place of what we made are refused, at
# once; the maintenance of an index ends when it is asked to.
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
for f in view segments virtual trigger; do
	for c in verify show events; do
		timeout -k 1 10 "$sg" $c "./$f.glass" >out 2>&1 </dev/null
		rc=$?
		[ $rc -ne 0 ] && [ $rc -lt 124 ]
		ok $? "$f: $c refuses it at once ($rc)"
	done
done
timeout -k 1 20 "$sg" resume ./trigger.glass >out 2>&1 </dev/null
rc=$?
[ $rc -ne 0 ] && [ $rc -lt 124 ]
ok $? "and it is not resumed ($rc)"
finish
