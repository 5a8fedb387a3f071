#!/usr/bin/env bash
# The search index of a session that ended in a flood: finished behind whoever searches, or by hand.
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
is "$(cat "$t/out")" 's-f00001: the search index is whole' 'which says so'
"$sg" index >"$t/out" 2>&1
is "$? $(cat "$t/out")" '0 every index is whole' 'nothing is left to do'
"$sg" search 'assertion' -n 50 -q >"$t/again"
"$sg" search '失敗' kind:exec -n 1000 -q >>"$t/again"
cmp -s "$t/with" "$t/again"
ok $? 'it gives the same answers'
"$sg" index nosuch >"$t/out" 2>&1
is "$? $(wc -l <"$t/out")" '2 1' 'a session that is not there: one line'
finish
