#!/usr/bin/env bash
# Files of format 1 (tests/sessions/format1.tar.zst, written before format 2): one that ended, one whose recorder was
# killed. They are read, verified, resumed, redacted, and run again.
. "$(dirname "$0")/lib.sh"
sg=$SANDGLASS
for tool in zstd sqlite3; do
	command -v $tool >/dev/null || { skip "$tool is not installed"; finish; }
done
mkdir -m 700 "$t/sessions"
export SANDGLASS_SESSIONS=$t/sessions
zstd -dcq "$here/../sessions/format1.tar.zst" | tar -C "$t/sessions" -xf -
ended=$(echo "$t"/sessions/*-ended-*.glass) killed=$(echo "$t"/sessions/*-killed-*.glass)
value() { sqlite3 -readonly "$1" "$2"; }
is "$(value "$ended" 'PRAGMA user_version; PRAGMA page_size')" $'1\n4096' 'a file of format 1'
seqs=$(value "$ended" 'SELECT count(*), max(seq) FROM event')
"$sg" verify "$ended" >"$t/out" 2>&1
is $? 0 'it verifies'
"$sg" search zanzibar -q --in "$ended" >"$t/out" 2>&1
is "$? $(wc -l <"$t/out" | tr -d ' ')" "0 $(wc -l <"$t/out" | tr -d ' ')" 'it is searched by its index'
[ -s "$t/out" ]
ok $? 'with hits'
"$sg" export -F jsonl "$ended" >"$t/events" 2>"$t/out"
is "$?|$(wc -l <"$t/events")|" "0|$((${seqs%|*} + 1))|" 'it is exported, with a first line about the session'

"$sg" simulate "$ended" >"$t/out" 2>&1
is $? 0 'its script runs again from the recording, with the texts that it holds'
is "$(value "$ended" 'PRAGMA user_version')" 1 'reading has changed nothing'

is "$(value "$killed" "SELECT count(*) > 50 FROM event")" 1 'the killed one has its events in the log'
need_boxes
id=$("$sg" resume "$killed" -d </dev/null 2>"$t/out")
over() { "$sg" ls --json 2>/dev/null | grep -q '"ended".*killed\|killed.*"ended"'; }
wait_for 60 over
ok $? "the killed one is resumed and ends ($id)"
"$sg" events "$killed" >"$t/out" 2>&1
like "$(cat "$t/out")" 'to the end' 'its script went on'
"$sg" verify "$killed" >"$t/out" 2>&1
is $? 0 'it verifies'
is "$(value "$killed" 'PRAGMA user_version')" 2 'and has format 2 from then on'

note=$(value "$ended" "SELECT seq FROM event WHERE kind = 420 ORDER BY seq LIMIT 1")
"$sg" redact "$ended#$note" --why 'not to be kept' --yes >"$t/out" 2>&1
is $? 0 'an event of the ended one is removed'
is "$(value "$ended" "SELECT body IS NULL FROM event WHERE seq = $note")" 1 'it is gone'
"$sg" verify "$ended" >"$t/out" 2>&1
is $? 0 'and it verifies'
finish
