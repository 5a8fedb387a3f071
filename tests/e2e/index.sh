#!/usr/bin/env bash
# The search index of a session that ended in a flood: finished in the background after a search, or by command.
. "$(dirname "$0")/lib.sh"
sg=$SANDGLASS
make=${SANDGLASS%/*}/helpers/sessions/make_session
if [ ! -x "$make" ] || ! command -v sqlite3 >/dev/null; then
	skip 'make_session and sqlite3 are needed'
	finish
fi
export SANDGLASS_SESSIONS=$t/sessions
mkdir -m 700 "$t/sessions"
file=$("$make" "$t/sessions" flood 60000 5 1 | tail -1)
ask() { sqlite3 -readonly "$file" "$1" 2>/dev/null; }
lacks() { # as a flood leaves it
	sqlite3 "$file" "INSERT INTO search(search) VALUES('delete-all'); UPDATE mark SET value = 0 WHERE name = 'indexed'"
}
whole() { [ "$(ask "SELECT value FROM mark WHERE name = 'indexed'")" = "$(ask 'SELECT max(seq) FROM event')" ] && [ ! -e "$file-lease" ]; }
"$sg" search assertion -n 50 -q >"$t/with"
"$sg" search '失敗' kind:exec -n 1000 -q >>"$t/with"
lacks
"$sg" search assertion -n 50 -q >"$t/without"
"$sg" search '失敗' kind:exec -n 1000 -q >>"$t/without"
cmp -s "$t/with" "$t/without" && [ -s "$t/with" ]
ok $? 'without its index a session gives the same answers'
"$sg" search xyzzy >"$t/out" 2>&1
is $? 1 'words that stand nowhere: read through'
for _ in $(seq 600); do
	whole && break
	sleep 0.1
done
whole
ok $? 'and behind that the index is finished'
lacks
"$sg" index flood >"$t/out" 2>&1
is $? 0 'by hand'
is "$(cat "$t/out")" 's-f00001: search index complete' 'which says so'
"$sg" index >"$t/out" 2>&1
is "$? $(cat "$t/out")" '0 every index is intact' 'nothing is left to do'
"$sg" search 'assertion' -n 50 -q >"$t/again"
"$sg" search '失敗' kind:exec -n 1000 -q >>"$t/again"
cmp -s "$t/with" "$t/again"
ok $? 'it gives the same answers'
asked() { for f in has:note kind:agent.end is:live 'dur>2s' 'turn:30'; do "$sg" search "$f" -q; done; }
sqlite3 "$file" 'DROP TABLE search_value; CREATE INDEX event_noted ON event(cause) WHERE kind = 420' # as one more was, once
asked >"$t/without"
"$sg" index >"$t/out" 2>&1
is "$? $(head -1 "$t/out")" '0 s-f00001: search index complete' 'a file from before there were blocks of values gets them'
asked | cmp -s - "$t/without"
ok $? 'and the same is found'
is "$(ask "SELECT count(DISTINCT place >> 20) FROM search_value")" $(($(ask 'SELECT max(seq) FROM event') / 4096)) 'there are as many as are full'
is "$(ask "SELECT count(*) FROM sqlite_master WHERE name LIKE 'event#_%' ESCAPE '#' AND type = 'index'")" 3 'the indexes that they replace are gone'
# A file that another may not write to, or that is another's: the same answers, and nothing of it or beside it changes.
lacks
mkdir "$t/others"
cp "$file" "$t/others/f.glass"
if [ "$(id -u)" = 0 ]; then chown 54321 "$t/others/f.glass"; else chmod 400 "$t/others/f.glass"; fi
sum=$(sha256sum "$t/others/f.glass")
"$sg" search assertion -n 50 -q --in "$t/others/f.glass" >"$t/again" 2>"$t/err"
"$sg" search '失敗' kind:exec -n 1000 -q --in "$t/others/f.glass" >>"$t/again" 2>>"$t/err"
cmp -s "$t/with" "$t/again" && [ ! -s "$t/err" ]
ok $? 'in a file that may not be written to the same is found'
"$sg" index "$t/others/f.glass" >"$t/out" 2>&1
is "$? $(grep -c "^sandglass: " "$t/out")" '1 1' 'its index is not finished'
like "$(cat "$t/out")" '^sandglass: index: s-f00001: .*(another user|write)' 'and why'
is "$(sha256sum "$t/others/f.glass") $(ls "$t/others")" "$sum f.glass" 'nothing of it has changed, nothing lies beside it'
if [ "$(id -u)" != 0 ]; then chmod 500 "$t/others"; fi
"$sg" search assertion -n 50 -q --in "$t/others/f.glass" >"$t/again"
is "$? $(wc -l <"$t/again")" '0 50' 'in a folder that may not be written to, too'
chmod 700 "$t/others"

# Another program reads and locks it: reported, and the next time it works.
(
	echo 'BEGIN; SELECT 1 FROM event LIMIT 1;'
	until [ -e "$t/enough" ]; do sleep 0.1; done
) | sqlite3 -readonly "$file" >"$t/reads" &
reader=$!
wait_for 20 test -s "$t/reads"
"$sg" index flood >"$t/out" 2>&1
is "$? $(cut -d: -f1-3 "$t/out")" '1 sandglass: index: s-f00001' 'a file that is being read by others is left alone'
is "$(ask "SELECT value FROM mark WHERE name = 'indexed'")" 0 'its index is as it was'
touch "$t/enough"
wait $reader
"$sg" index flood >"$t/out" 2>&1
is "$? $(cat "$t/out")" '0 s-f00001: search index complete' 'afterwards it is finished'
# asked to end in the middle of it: at once, and what is there stays
lacks
"$sg" index flood >"$t/out" 2>&1 &
index=$!
wait_for 20 test -e "$file-lease"
kill -TERM "$index"
gone() { ! kill -0 "$index" 2>/dev/null; }
wait_for 10 gone
ok $? 'SIGTERM ends it'
wait "$index"
[ "$?" != 0 ] || whole
ok $? 'with a status that says whether the index is whole'
is "$(ask 'PRAGMA quick_check')" ok 'the file is whole as a database'
"$sg" index flood >"$t/out" 2>&1
is $? 0 'and the next one finishes it'
"$sg" index nosuch >"$t/out" 2>&1
is "$? $(grep -c "^sandglass: " "$t/out")" '2 1' 'a session that is not there: one line'
finish
