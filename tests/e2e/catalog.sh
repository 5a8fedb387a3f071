#!/usr/bin/env bash
# The catalog against the files: the same questions with and without it, while sessions begin, end, are redacted, moved and
# removed; and what was redacted or removed is nowhere in it.
. "$(dirname "$0")/lib.sh"
sg=$SANDGLASS
make=${SANDGLASS%/*}/helpers/sessions/make_session
if [ ! -x "$make" ] || ! command -v python3 >/dev/null; then
	skip 'make_session and python3 are needed'
	finish
fi
export SANDGLASS_SESSIONS=$t/sessions
mkdir -m 700 "$t/sessions"
for seed in $(seq 12); do "$make" "$t/sessions" "n$seed" 150 2 "$seed" >/dev/null; done
cat >"$t/secret.lua" <<'LUA'
local sg = require "sandglass"
sg.note(("akkouq"):reverse() .. " is here")
sg.note(("tabmow"):reverse() .. " too")
LUA
"$sg" run "$t/secret.lua" --no-tui --name secret >"$t/out" 2>&1 </dev/null
is $? 0 'a session with two words of its own'
settle() { touch -d '1 minute ago' "$t"/sessions/*.glass; } # what was written a moment ago is not taken in
build() { settle && "$sg" index --catalog >"$t/out" 2>&1; }
build
is $? 0 'the catalog is built'
is "$(cat "$t/out")" 'catalog: 13 sessions added' 'with every session'
[ "$(stat -c %a "$t"/sessions/catalog/*.shard | sort -u)" = 600 ]
ok $? 'readable by its owner only'
same() { # seed, what
	python3 "$here/catalog_ask.py" "$sg" "$t/sessions" "$1" 20 >"$t/out" 2>&1
	is $? 0 "the same answers with and without it: $2"
}
same 1 'finished sessions'
"$make" "$t/sessions" fresh 60 2 900 >/dev/null
"$make" "$t/sessions" torn 60 2 901 --crash >/dev/null
same 2 'one that is new, one that was killed'
build
same 3 'those in the catalog, too'
gone() { ! grep -rqa "$1" "$t/sessions"; }
found() { "$sg" search "$1" --json 2>/dev/null | sed -n 's/.*"seq":\([0-9]*\).*/\1/p' | head -1; }
gone quokka
is $? 1 'a word that is in a session'
"$sg" redact "secret#$(found quokka)" --why test --yes >"$t/out" 2>&1 </dev/null
is $? 0 'it is redacted'
gone quokka
ok $? 'and in no file, the catalog included'
same 4 'after a redaction'
build
same 5 'and a new catalog'
grep -qa wombat "$t"/sessions/catalog/*.shard
ok $? 'the other word is in it'
"$sg" prune secret --yes >"$t/out" 2>&1
gone wombat
ok $? 'and gone when the session is'
mkdir "$t/away"
mv "$t"/sessions/*-n3-*.glass "$t/away/"
mv "$t"/sessions/*-n4-f00004.glass "$t/sessions/2025-11-22-moved-f00004.glass"
cp -p "$t"/sessions/*-n5-f00005.glass "$t/sessions/2025-11-22-copied-f99995.glass"
same 6 'one moved away, one renamed, one copied'
for shard in "$t"/sessions/catalog/*.shard; do head -c 5000 /dev/urandom >"$shard"; done
same 7 'damaged shards'
finish
