#!/usr/bin/env bash
# A session's file is small: short ones have small pages and no search index, the library's texts are kept once.
. "$(dirname "$0")/lib.sh"
sg=$SANDGLASS
make=${SANDGLASS%/*}/helpers/sessions/make_session
top=$(cd "$here/../.." && pwd)
command -v sqlite3 >/dev/null || { skip 'sqlite3 is needed'; finish; }
mkdir -m 700 "$t/sessions" "$t/made"
export SANDGLASS_SESSIONS=$t/sessions
printf 'local sg = require "sandglass"\nsg.note("an unusual zanzibar")\n' >"$t/note.lua"
"$sg" run --no-tui -q "$t/note.lua" </dev/null >"$t/out" 2>&1
file=$(echo "$t"/sessions/*.glass)
size() { stat -c %s "$1"; }
value() { sqlite3 -readonly "$1" "$2"; }
[ "$(size "$file")" -le 65536 ]
ok $? "a session without actions takes at most 64 KiB ($(size "$file"))"
is "$(value "$file" 'PRAGMA page_size; PRAGMA integrity_check')" $'1024\nok' 'its pages are small'
is "$(ls "$t/sessions")" "$(basename "$file")
library" 'beside it is the library'
for text in "$t"/sessions/library/*.lua; do
	[ "$(sha256sum <"$text" | cut -d' ' -f1).lua" = "$(basename "$text")" ] || echo "$text"
done >"$t/wrong"
[ ! -s "$t/wrong" ]
ok $? 'each text there has the name of its hash'
"$sg" verify "$file" >"$t/out" 2>&1
is $? 0 'it verifies'
is "$("$sg" search 'zanzibar kind:note' -q | wc -l)" 1 'it is searched without an index'
is "$("$sg" search 'zanzibar kind:session.start' 2>&1 | grep -c -- '--script')" 1 'a hit only in the script is not printed, but counted'
"$sg" index "$file" >"$t/out" 2>&1
is "$? $(value "$file" "SELECT count(*) FROM search_idx")" '0 0' 'which it does not need'

# another version's library: the session runs again with the texts of its own
cp -r "$top" "$t/other" 2>/dev/null || { mkdir "$t/other" && cp -r "$top/lua" "$top/plugins" "$t/other/"; }
for lua in "$t"/other/lua/sandglass/*.lua; do printf '\nerror "another version"\n' >>"$lua"; done
SANDGLASS_DATA=$t/other "$sg" simulate "$file" >"$t/out" 2>&1
is $? 0 'with another version, its script runs again from the kept library'
mkdir -p "$t/moved/2026/11/28"
cp "$file" "$t/moved/2026/11/28/"
cp -r "$t/sessions/library" "$t/moved/"
SANDGLASS_DATA=$t/other "$sg" simulate "$t/moved/2026/11/28/$(basename "$file")" >"$t/out" 2>&1
is $? 0 'so it does below the directory that has the library'
for text in "$t"/moved/library/*.lua; do printf ' ' >>"$text"; done
SANDGLASS_DATA=$t/other "$sg" simulate "$t/moved/2026/11/28/$(basename "$file")" >"$t/out" 2>&1
is "$(grep -c '/library/[0-9a-f]*\.lua' "$t/out")" 1 'a changed text is not used: the error names the file'
rm -rf "$t/other"

# written again, it has the recorder's pages meanwhile; a copy that was not finished changes nothing
seq=$(value "$file" 'SELECT seq FROM event WHERE kind = 420')
FAILPOINT=pack-before-rename "$sg" redact "$file#$seq" --why test --yes >"$t/out" 2>&1
"$sg" verify "$file" >"$t/out" 2>&1
is $? 0 'killed before the small file takes the place of the large one: it verifies'
"$sg" redact "$file#$seq" --why test --yes >"$t/out" 2>&1
is "$(value "$file" "SELECT body IS NULL FROM event WHERE seq = $seq; PRAGMA page_size")" $'1\n1024' 'redacted, then small again'
is "$(ls "$t/sessions" | wc -l)" 2 'the copy that was not finished is gone'
"$sg" verify "$file" >"$t/out" 2>&1
is $? 0 'it verifies'
head -c 5000 "$file" >"$t/cut.glass"
printf 'x' | dd of="$file" bs=1 seek=3000 conv=notrunc 2>/dev/null
"$sg" verify "$file" >"$t/out" 2>&1
is $? 9 'a changed byte is found'

[ -x "$make" ] || { skip "$make is not built (make helpers)"; finish; }
file=$("$make" "$t/made" four 400 | tail -1)
[ "$(size "$file")" -le 235520 ]
ok $? "400 events take at most 230 KiB ($(size "$file"))"
is "$(value "$file" "SELECT count(*) FROM kind WHERE number NOT IN (SELECT kind FROM event)")" 0 'kinds are named as far as they occur'
file=$("$make" "$t/made" long 6000 | tail -1)
is "$(value "$file" "PRAGMA page_size; SELECT value = (SELECT max(seq) FROM event) FROM mark WHERE name = 'indexed'")" $'4096\n1' 'a long session has its index'
finish
