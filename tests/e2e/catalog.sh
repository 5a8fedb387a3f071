#!/usr/bin/env bash
# The catalog against the files: the same queries with and without it, while sessions start, end, are redacted, moved,
# and removed. It keeps no redacted or removed data.
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
settle() { touch -d '1 minute ago' "$t"/sessions/*.glass; } # recently written files are left out
build() { settle && "$sg" index --catalog >"$t/out" 2>&1; }
build
is $? 0 'the catalog is built'
is "$(cat "$t/out")" 'catalog: 13 sessions added' 'with every session'
[ "$(stat -c %a "$t"/sessions/catalog/*.shard | sort -u)" = 600 ]
ok $? 'readable by its owner only'
asks=10 turned=3 # LONG: 20 and 9
[ -z "${LONG:-}" ] || asks=20 turned=9
same() { # seed, what
	python3 "$here/catalog_ask.py" "$sg" "$t/sessions" "$1" $asks >"$t/out" 2>&1
	is $? 0 "the same answers with and without it: $2"
}
same 1 'finished sessions'
"$make" "$t/sessions" fresh 60 2 900 >/dev/null
"$make" "$t/sessions" torn 60 2 901 --crash >/dev/null
same 2 'one that is new, one that was killed'
build
same 3 'those in the catalog, too'
gone() { ! grep -rqa "$1" "$t/sessions"; }
known() { python3 -c 'import glob, sqlite3, sys
print(sum(sqlite3.connect(f).execute("SELECT count(*) FROM session").fetchone()[0] for f in glob.glob(sys.argv[1] + "/*.shard")))' "$t/sessions/catalog"; }
before=$(($(known) - 1))
found() { "$sg" search "$1" --json 2>/dev/null | sed -n 's/.*"seq":\([0-9]*\).*/\1/p' | head -1; }
gone quokka
is $? 1 'a word that is in a session'
"$sg" redact "secret#$(found quokka)" --why test --yes >"$t/out" 2>&1 </dev/null
is $? 0 'it is redacted'
gone quokka
ok $? 'and in no file, the catalog included'
is "$(known)" "$before" 'the other sessions are still in the catalog'
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
build
# damage: one byte after another is another one
answers() { # of these, no page is left out: rows, details, words, deeds
	"$sg" ls --all --json
	"$sg" report --json
	"$sg" search octal isdigit --json
	"$sg" policy past "$t/sessions/past.lua" -q
}
answers >"$t/right" 2>/dev/null
shard=$(ls "$t"/sessions/catalog/*.shard | head -1)
cp -p "$shard" "$t/intact"
python3 - "$t/intact" $turned >"$t/places" <<'PY'
import os, random, sys
chance, size = random.Random(7), os.path.getsize(sys.argv[1])
print(20, 63, 100, *(chance.randrange(size) for _ in range(int(sys.argv[2]))), sep="\n")
PY
damage() { # byte
	rm -f "$t"/sessions/catalog/*.shard
	cp -p "$t/intact" "$shard"
	python3 -c 'import sys
with open(sys.argv[1], "r+b") as f:
    f.seek(int(sys.argv[2])); b = f.read(1); f.seek(int(sys.argv[2])); f.write(bytes([b[0] ^ 0x41]))' "$shard" "$1"
}
exec 8>"$t/sessions/catalog/building"
flock 8 # no builder that a reader starts replaces what is looked at here
damage 100
"$sg" report --json >/dev/null 2>"$t/out"
is "$(grep -c damaged "$t/out")" 1 'a damaged shard is named once'
differs() { # is the answer another one, also when the right one is asked for again?
	answers >"$t/out" 2>"$t/err"
	cmp -s "$t/out" "$t/right" && return 1
	mv "$t/sessions/catalog" "$t/sessions/off"
	answers >"$t/right" 2>/dev/null
	mv "$t/sessions/off" "$t/sessions/catalog"
	answers >"$t/out" 2>"$t/err"
	! cmp -s "$t/out" "$t/right"
}
wrong=0
while read -r at; do
	damage "$at"
	differs && wrong=$((wrong + 1)) && echo "# byte $at"
done <"$t/places"
is "$wrong" 0 'a turned byte of a shard changes no answer'
damage 100
exec 8>&-
rebuilt() { # the builder that a reader has started may be at it
	"$sg" index --catalog -q 2>"$t/out" && "$sg" report --json 2>"$t/out" >/dev/null && [ ! -s "$t/out" ]
}
wait_for 30 rebuilt
ok $? 'and the shard is made anew'
answers >"$t/right" 2>/dev/null
rm -rf "$t/sessions/catalog"
"$sg" index --catalog -q 2>/dev/null &
builders=$!
"$sg" index --catalog -q 2>/dev/null &
builders="$builders $!"
answers >"$t/out" 2>/dev/null
wait $builders
cmp -s "$t/out" "$t/right"
ok $? 'while two processes build the catalog, every answer is the same'
if unshare -rm true 2>/dev/null; then
	read_only() { # with the catalog as it is
		unshare -rm bash -c "$(declare -f answers); sg=$sg t=$t
			mount --bind $t/sessions $t/sessions && mount -o remount,bind,ro $t/sessions && answers" 2>/dev/null
	}
	read_only >"$t/out"
	cmp -s "$t/out" "$t/right"
	ok $? 'so it is in a directory that is read-only'
	rm -rf "$t/sessions/catalog"
	read_only >"$t/out"
	cmp -s "$t/out" "$t/right"
	ok $? 'and in one without a catalog'
	"$sg" index --catalog -q 2>"$t/out"
fi
# a session with more changed files than the catalog keeps is opened
if boxes; then
	mkdir -m 700 "$t/many"
	cat >"$t/files.lua" <<'LUA'
local sg = require "sandglass"
local a = sg.args { repo = ".", files = 0 }
local box <close> = sg.sandbox { repo = a.repo }
box:run("for i in $(seq " .. a.files .. "); do echo pelican >f$i; done")
LUA
	git init -q "$t/repo"
	git -C "$t/repo" -c user.name=a -c user.email=a@b commit -q --allow-empty -m base
	export SANDGLASS_SESSIONS=$t/many
	for many in 300 301; do "$sg" run "$t/files.lua" --no-tui --no-input --name "files$many" -- --repo "$t/repo" --files $many >"$t/out" 2>&1 </dev/null; done
	touch -d '1 minute ago' "$t"/many/*.glass
	"$sg" index --catalog >"$t/out" 2>&1
	is "$(cat "$t/out")" 'catalog: 2 sessions added' 'sessions that changed 300 and 301 files'
	is "$("$sg" when pelican --all --path f301 --json 2>"$t/out" | jq -r .path)" f301 'a file of the one with 301 is found'
	is "$("$sg" when pelican --all --path f300 --json 2>"$t/out" | jq -r .path | xargs)" 'f300 f300' 'and one that both have, in both'
	like "$("$sg" blame f301 --all 2>&1)" pelican 'blame finds it, too'
fi
mkdir -m 700 "$t/truth"
questions=20
[ -z "${LONG:-}" ] || questions=1000
SANDGLASS_SESSIONS=$t/truth python3 "$here/catalog_truth.py" "$sg" "$make" "$t/truth" "${SEED:-3}" "$questions" >"$t/out" 2>&1
is $? 0 "$questions questions while sessions begin, end, are killed, redacted, labeled, moved, copied, archived, and removed"
finish
