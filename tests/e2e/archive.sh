#!/usr/bin/env bash
# Archives: finished sessions move into a directory by date, are read there by every command, survive a kill at each step,
# are redacted there, and work when the directory is moved.
. "$(dirname "$0")/lib.sh"
sg=$SANDGLASS
make=${SANDGLASS%/*}/helpers/sessions/make_session
for tool in "$make" sqlite3; do
	command -v "$tool" >/dev/null || { skip "$tool is needed"; finish; }
done
export SANDGLASS_SESSIONS=$t/sessions
mkdir -m 700 "$t/sessions"
printf 'local sg = require "sandglass"\nsg.note("an unusual zan" .. "zibar")\nsg.note("kept wo" .. "rds")\n' >"$t/note.lua"
printf 'local sg = require "sandglass"\nsg.sleep(60)\n' >"$t/long.lua"
"$sg" run --no-tui -q "$t/note.lua" --name one </dev/null >"$t/out" 2>&1
"$sg" run --no-tui -q "$t/note.lua" --name two </dev/null >"$t/out" 2>&1
made=$("$make" "$t/sessions" four 400 | tail -1)
one=$(basename "$t"/sessions/*-one-*.glass)
day=${one:0:4}/${one:5:2}/${one:8:2}
at=$t/sessions/archive/$day/$one
id_of() { local b=${1%.glass}; echo "s-${b##*-}"; }
ids() { "$sg" ls --json 2>/dev/null | grep -oE '"session":"[^"]*' | sort; }
before=$(ids)
"$sg" search 'zanzibar kind:note' -q | sort >"$t/found"
"$sg" report --json 2>/dev/null >"$t/report"

is "$("$sg" archive one -n --json 2>&1 | grep -oE '"done":"[^"]*')" '"done":"would archive' 'a dry run names the session'
[ -e "$t/sessions/$one" ] && [ ! -e "$t/sessions/archive" ]
ok $? 'and changes nothing'
for point in archive-before-rename archive-before-removal; do
	FAILPOINT=$point "$sg" archive one >"$t/out" 2>&1
	is "$(ids)" "$before" "killed at $point: each session is there once"
	"$sg" verify one >"$t/out" 2>&1
	is $? 0 'and verifies'
done
"$sg" archive one >"$t/out" 2>&1
is $? 0 'a session is archived'
is "$(ls "$t/sessions" | grep -c -- -one-) $([ -e "$at" ] && echo there) $(find "$t/sessions/archive" -name '*-pack' | wc -l)" '0 there 0' 'it is in the archive only'
"$sg" archive --older-than 0s >"$t/out" 2>&1
is "$? $(ls "$t/sessions" | grep -c glass)" '0 0' 'by age: the others, too'
is "$(ids)" "$before" 'ls lists them as before'
"$sg" search 'zanzibar kind:note' -q | sort | cmp -s - "$t/found" && [ -s "$t/found" ]
ok $? 'search finds the same'
"$sg" report --json 2>/dev/null | cmp -s - "$t/report"
ok $? 'report counts the same'
for command in 'show one' 'events one' 'verify one' 'simulate one' 'export one -F jsonl' 'compare one two' 'policy past' 'policy mine' 'diff one'; do
	"$sg" $command >"$t/out" 2>&1
	status=$?
	case $command in 'diff one') want=[02] ;; 'compare one two') want=[01] ;; 'policy mine') want=[012] ;; 'policy past') want=[012] ;; *) want=0 ;; esac
	[[ $status = $want ]] && ! grep -q 'not found\|no session' "$t/out"
	ok $? "$command reads it in place"
done
anchors=$(wc -l <"$at-anchor")
[ "$anchors" -ge 1 ]
ok $? "its anchors are beside it ($anchors)"
is "$(stat -c %a "$at") $(sqlite3 -readonly "$at" 'PRAGMA page_size')" '600 1024' 'it is as small as it was'
"$sg" prune --older-than 0s --yes >"$t/out" 2>&1
is "$(ids)" "$before" 'prune by age leaves archives alone'

# refused by name
id=$("$sg" run -d "$t/long.lua" --name long </dev/null 2>"$t/out")
"$sg" archive long >"$t/out" 2>&1
is "$? $(grep -c "$id is running" "$t/out")" '1 1' 'a running session is refused by name'
is "$("$sg" archive long --json 2>/dev/null | jq -r '.session + " " + .done')" "$id refused" 'for programs, too'
"$sg" stop --now -S "$id" >"$t/out" 2>&1
over() { "$sg" archive long -n >"$t/out" 2>&1; }
wait_for 20 over
"$sg" archive long >"$t/out" 2>&1
is $? 0 'when it has ended it is archived'

# interrupted, and then its log cut: --force does not archive it as if nothing were missing
"$sg" run -d "$t/long.lua" --name cut </dev/null >"$t/out" 2>&1
cut=$(echo "$t"/sessions/*-cut-*.glass)
written() { [ -s "$cut-wal" ] && "$sg" events cut 2>/dev/null | grep -q 'host.start'; }
wait_for 20 written
kill -9 "$(head -1 "$cut-lease" | cut -d' ' -f1)"
gone() { "$sg" ls | grep -q 'interrupted'; }
wait_for 20 gone
cp "$cut-wal" "$t/wal"
truncate -s 5000 "$cut-wal"
"$sg" archive --force cut >"$t/out" 2>&1
is "$? $(stat -c %s "$cut-wal") $([ -e "$cut-lease" ] && echo noted)" '1 5000 noted' 'a session whose log is cut is not archived, and keeps its log'
cp "$t/wal" "$cut-wal"
"$sg" archive --force cut >"$t/out" 2>&1
is "$? $([ -e "$cut" ] && echo here)" '0 ' 'with the whole log it is'
"$sg" verify cut >"$t/out" 2>&1
is $? 0 'and verifies'
find "$t/sessions" -name '*-cut-*' -delete

# a redaction reaches it there, and the catalogs of those that use the archive
cataloged() { "$sg" index --catalog >"$t/out" 2>&1; ls "$t"/sessions/catalog/*.shard >/dev/null 2>&1; }
wait_for 60 cataloged
ok $? 'the catalog has the archived sessions'
FAILPOINT=archive-before-removal "$sg" archive --restore one >"$t/out" 2>&1
FAILPOINT=archive-before-rename "$sg" archive one >"$t/out" 2>&1
is "$([ -e "$t/sessions/$one" ] && [ -e "$at" ] && [ -e "$at-pack" ] && echo three)" three 'killed moves leave a copy and a draft'
cp "$t/sessions/$one" "$t/sessions/$one-pack"
seq=$(sqlite3 -readonly "$t/sessions/$one" "SELECT min(seq) FROM event WHERE body LIKE '%kept words%'")
"$sg" redact "one#$seq" --why test --yes >"$t/out" 2>&1
[ $? != 0 ] && grep -q "$at" "$t/out"
ok $? 'a redaction meanwhile names the copy that it does not reach'
is "$(find "$t/sessions" -name '*-pack' | wc -l) $(grep -rla 'kept words' "$t/sessions" | grep -c -- "-one-")" '0 1' 'and leaves neither draft'
: >"${at%/*}/${one%.glass}.glass-pack"
"$sg" archive one >"$t/out" 2>&1
is "$? $(grep -rla 'kept words' "$t/sessions" | grep -c -- "-one-") $(find "$t/sessions" -name '*-pack' | wc -l)" '0 0 0' 'the move, done again, replaces the copy'
"$sg" archive --restore one >"$t/out" 2>&1
is "$? $([ -e "$t/sessions/$one" ] && [ ! -e "$at" ] && echo back)" '0 back' 'a session is restored'
"$sg" archive one >"$t/out" 2>&1
for name in one two; do
	for seq in $("$sg" search zanzibar -S "$name" --json 2>/dev/null | grep -oE '"seq":[0-9]+' | cut -d: -f2) \
		$(sqlite3 -readonly "$(find "$t/sessions" -name "*-$name-*.glass")" "SELECT seq FROM event WHERE body LIKE '%zanzibar%'"); do
		"$sg" redact "$name#$seq" --why test --yes >>"$t/out" 2>&1
	done
done
is "$(grep -rlac zanzibar "$t/sessions" | wc -l)" 0 'after a redaction the words are nowhere in sessions, archives, and catalogs'
"$sg" verify one >"$t/out" 2>&1
is $? 0 'and it verifies'

# an archive that is not mounted may hold a copy; runs at the same time keep each other's archive
"$sg" run --no-tui -q "$t/note.lua" --name three </dev/null >"$t/out" 2>&1
for i in 1 2 3 4 5 6; do
	"$make" "$t/sessions" "par$i" 40 >/dev/null
	"$sg" archive "par$i" -o "$t/par$i" >"$t/out$i" 2>&1 &
done
wait
is "$("$sg" archive --list | grep -c "^$t/par[1-6]$") $(cat "$t"/par*/used-by | sort -u)" "6 $t/sessions" 'six runs at the same time: each archive is in the list'
is "$(find "$t"/par? -name '*.glass' | wc -l) $(ls "$t/sessions" | grep -c -- -par)" '6 0' 'and holds its session'
for i in 1 2 3; do "$make" "$t/sessions" "twice$i" 40 >/dev/null; done
touch -d '2 days ago' "$t"/sessions/*-twice*.glass
for i in 1 2; do "$sg" archive --older-than 1d -o "$t/twice" >"$t/out$i" 2>&1 & pids[i]=$!; done
wait "${pids[1]}"; first=$?
wait "${pids[2]}"
is "$first $? $(find "$t/twice" -name '*-twice*.glass' | wc -l)" '0 0 3' 'two runs over the same sessions: each is moved once, none is refused'
mv "$t/par1" "$t/par1-away"
mkdir "$t/par1"
is "$("$sg" archive --list --json | jq -r 'select(.there == false).archive')" "$t/par1" 'an empty mount point is no archive'
"$sg" archive three --force -o "$t/par1" >"$t/out" 2>&1
[ $? != 0 ] && [ -z "$(ls -A "$t/par1")" ] && ls "$t"/sessions/*-three-*.glass >/dev/null
ok $? 'nothing is moved there, where a mount would hide it'
seq=$(sqlite3 -readonly "$t"/sessions/*-three-*.glass "SELECT min(seq) FROM event WHERE body LIKE '%kept words%'")
"$sg" redact "three#$seq" --why test --yes >"$t/out" 2>&1
[ $? != 0 ] && grep -q "$t/par1'" "$t/out" && ! grep -qa 'kept words' "$t"/sessions/*-three-*.glass
ok $? 'a redaction names the archive that it does not reach'
"$sg" archive --forget "$t/par1" >"$t/out" 2>&1
is "$? $("$sg" archive --list | grep -c "^$t/par")" '0 5' 'an archive is forgotten'
for i in 2 3 4 5 6; do "$sg" archive --forget "$t/par$i" >"$t/out" 2>&1; done
"$sg" archive --forget "$t/twice" >"$t/out" 2>&1
is "$(cat "$t/par2/used-by" | wc -l) $([ -s "$t/sessions/archives" ] && echo some)" '0 ' 'and forgets the directory'
seq=$(sqlite3 -readonly "$t"/sessions/*-three-*.glass "SELECT min(seq) FROM event WHERE body LIKE '%zanzibar%'")
"$sg" redact "three#$seq" --why test --yes >"$t/out" 2>&1
is $? 0 'a redaction then reaches every copy'
"$sg" prune three --yes >"$t/out" 2>&1

# moved, as by rsync, to where nobody knows the session
mkdir -m 700 "$t/elsewhere" "$t/home2" "$t/new"
cp -rp "$t/sessions/archive" "$t/elsewhere/moved"
rm -rf "$t/sessions"
export HOME=$t/home2 SANDGLASS_SESSIONS=$t/new
"$sg" archive --use "$t/elsewhere/mved" >"$t/out" 2>&1
is "$? $("$sg" archive --list) $(ls "$t/elsewhere")" '2  moved' 'a directory that is not there is not made an archive'
"$sg" archive --use "$t/elsewhere/moved" >"$t/out" 2>&1
is "$? $("$sg" archive --list)" "0 $t/elsewhere/moved" 'a moved archive is taken into use'
is "$(ids | grep -vc "$id")" "$(printf '%s\n' "$before" | wc -l)" 'ls lists its sessions'
"$sg" verify two >"$t/out" 2>&1
is "$? $(grep -c 'anchor.*agree' "$t/out")" '0 1' 'one verifies with the anchors that came along'
is "$("$sg" verify two --json | tail -1 | python3 -c 'import json, sys; o = json.load(sys.stdin); print(o["anchors"], o["anchors_beside"] > 0)')" '0 True' 'which --json tells apart from those of the anchor log'
is "$("$sg" verify two --json | jq -r 'select(.check == "anchor").result')" skipped 'they are no witness: who changes the session can change them'
two=$(find "$t/elsewhere" -name '*-two-*.glass')
"$sg" verify two --anchor "$two-anchor" >"$t/out" 2>&1
is $? 2 'nor when they are named'
cp -p "$two-anchor" "$t/witness"
"$sg" verify two --anchor "$t/witness" >"$t/out" 2>&1
is $? 0 'a copy kept elsewhere is'
"$sg" simulate two >"$t/out" 2>&1
status=$?
grep -q redacted "$t/out" || [ $status = 0 ]
ok $? 'its script can run again'
two=$(find "$t/elsewhere" -name '*-two-*.glass')
seq=$(sqlite3 -readonly "$two" "SELECT min(seq) FROM event WHERE body LIKE '%kept words%'")
"$sg" redact "two#$seq" --why test --yes >"$t/out" 2>&1
is "$? $(grep -c "$t/sessions'" "$t/out") $(grep -ca 'kept words' "$two")" '1 1 0' 'a redaction there says that a directory which uses the archive is out of reach'
is "$("$sg" ls --sessions "$t/elsewhere/moved" --json | wc -l)" "$("$sg" ls --json | wc -l)" 'it is a sessions directory as well'
mv "$t/elsewhere/moved" "$t/away"
"$make" "$t/new" gone 40 >/dev/null
"$sg" prune gone --yes >"$t/out" 2>&1
is "$? $(ls "$t/new" | grep -c -- '-gone-') $(grep -c "elsewhere/moved'" "$t/out")" '1 0 1' 'prune fails if an archive that is away may hold a copy'
"$make" "$t/new" both 40 >/dev/null
mkdir -p -m 700 "$t/new/archive/2025/11/21"
cp -p "$t"/new/*-both-*.glass "$t/new/archive/2025/11/21/"
"$sg" prune both --yes >"$t/out" 2>&1
is "$? $(grep -c "/new/archive/2025.*-both-.*elsewhere/moved'" "$t/out")" '1 1' 'it names a copy that is left and the archive that is away'
rm -rf "$t/new/archive"
is "$("$sg" ls 2>&1 >/dev/null | grep -c "archive '.*/elsewhere/moved'")" 1 'an archive that is away is named'
mv "$t/away" "$t/elsewhere/moved"
four=$(find "$t/elsewhere" -name '*-four-*.glass')
byte=$(grep -abom1 '"verdict":"allow"' "$four" | head -1 | cut -d: -f1)
printf 'X' | dd of="$four" bs=1 seek="$((byte + 12))" conv=notrunc 2>/dev/null
"$sg" archive --restore two >"$t/out" 2>&1
is "$? $(ls "$t/new" | grep -c -- '-two-.*glass$')" '0 1' 'a session of it is restored'
is "$(ls "$t/new/library")" "$(ls "$t/elsewhere/moved/library")" 'with the texts of the library that it may need'
"$sg" archive two -o "$t/elsewhere/moved" >"$t/out" 2>&1
is $? 0 'and goes back'
"$sg" archive --restore four >"$t/out" 2>&1
is "$? $(find "$t/elsewhere" -name '*-four-*.glass' | wc -l) $(find "$t/new" -name '*four*' | wc -l)" '1 1 0' 'a damaged one stays where it is'

# prune by size
for i in 1 2 3; do
	file=$t/new/2025-11-21-p$i-p0000$i.glass
	"$make" "$t/new" "p$i" 100 >/dev/null
	mv "$t"/new/*-p$i-*.glass "$file"
	touch -d "2025-11-2$i" "$file"
done
size=$(stat -c %s "$t"/new/*-p3-*.glass)
"$sg" prune --keep-size $((size * 5 / 2)) --yes >"$t/out" 2>&1
is "$? $(ls "$t/new" | grep -c glass) $(ls "$t/new" | grep -c -- -p1-)" '0 2 0' 'prune by size removes the oldest'
"$sg" prune --keep-size 10Q --yes >"$t/out" 2>&1
is "$? $(ls "$t/new" | grep -c glass)" '2 2' 'a size that is none changes nothing'
"$sg" prune --keep-size 20000000T --yes >"$t/out" 2>&1
is "$? $(ls "$t/new" | grep -c glass)" '2 2' 'nor does a size that no number holds'
finish
