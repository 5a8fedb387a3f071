#!/usr/bin/env bash
# The proof bundle and the independent recipe that checks it: an intact bundle is accepted, each of many changes is
# refused. Also the redacted copy of a session.
. "$(dirname "$0")/lib.sh"
sg=$SANDGLASS
make=${SANDGLASS%/*}/helpers/sessions/make_session
if [ ! -x "$make" ]; then
	skip "$make is not built (make helpers)"
	finish
fi
check=$here/../../schema/check_proof.sh
export SANDGLASS_SESSIONS=$t/sessions TZ=UTC
mkdir -m 700 "$t/sessions"
whole=$("$make" "$t/sessions" whole 500 2 1)
head=$(sqlite3 "$whole" 'SELECT lower(hex(chain)) FROM event ORDER BY seq DESC LIMIT 1')
"$sg" export whole -F proof -o "$t/good" >"$t/out"
ok $? 'a bundle'
"$check" "$t/good" "$head" >"$t/out" 2>&1
is $? 0 'accepted'
like "$(cat "$t/out")" ' events, .* as recorded' 'and says what it has checked'
PATH=/usr/bin:/bin "$check" "$t/good" >"$t/out" 2>&1
like "$(cat "$t/out")" "head $head: compare" 'without a head it names the one to compare'

refused() { # name, SQL that changes the bundle
	cp "$t/good" "$t/bad"
	sqlite3 "$t/bad" "$2" >/dev/null
	"$check" "$t/bad" "$head" >"$t/out" 2>&1
	local status=$?
	[ $status = 1 ] && grep -q '^check_proof: ' "$t/out"
	ok $? "refused: $1"
}
a=$(sqlite3 "$t/good" "SELECT seq FROM event WHERE kind_name = 'action.decided' LIMIT 1")
refused 'a letter of a body' "UPDATE event SET body = replace(body, '\"kind\":\"exec\"', '\"kind\":\"read\"') WHERE seq = (SELECT min(seq) FROM event WHERE body LIKE '%\"kind\":\"exec\"%')"
refused 'a decision turned round, its hash made anew nowhere' "UPDATE event SET body = replace(body, 'approve', 'deny') WHERE seq = $a AND body LIKE '%approve%'; UPDATE event SET body = body || ' ' WHERE seq = $a"
refused 'a time' 'UPDATE event SET ts_us = ts_us + 1 WHERE seq = 50'
refused 'the agent of an event' 'UPDATE event SET agent = agent + 1 WHERE seq = 60'
refused 'a header that fits a changed time' "UPDATE event SET header = substr(header, 1, 57) || x'00' WHERE seq = 50"
refused 'an event removed' 'DELETE FROM event WHERE seq = 100'
refused 'the last events removed' "DELETE FROM event WHERE seq > 400; UPDATE meta SET value = '400' WHERE name = 'events'; UPDATE meta SET value = (SELECT lower(hex(chain)) FROM event WHERE seq = 400) WHERE name = 'head'"
refused 'two events exchanged' 'UPDATE event SET seq = -1 WHERE seq = 70; UPDATE event SET seq = 70 WHERE seq = 71; UPDATE event SET seq = 71 WHERE seq = -1'
refused 'an event added' "INSERT INTO event SELECT max(seq) + 1, 0, 0, 0, 0, ts_us, mono_us, 420, 'note', header, salt, body, body_hash, chain FROM event"
refused 'a byte of output' "UPDATE segment SET data = x'00' || substr(data, 2) WHERE segment = 3"
refused 'a piece of output removed' 'DELETE FROM segment WHERE segment = 3'
refused 'output given to another action' 'UPDATE segment SET action = action + 1 WHERE segment = 3'
refused 'a byte of a file' "UPDATE object SET data = x'00' || substr(data, 2) WHERE object = 2"
refused 'a file under another name' "UPDATE object SET oid = x'00' || substr(oid, 2) WHERE object = 2"
refused 'a file removed' 'DELETE FROM object WHERE object = 2'
refused 'a message' "UPDATE message SET data = data || ' ' WHERE message = 1"
refused 'a message removed' "DELETE FROM message WHERE message = (SELECT max(message) FROM message)"
refused 'a body taken out without a word' 'UPDATE event SET salt = NULL, body = NULL WHERE seq = 90'
refused 'another session as its own' "UPDATE meta SET value = replace(value, substr(value, 1, 1), CASE substr(value, 1, 1) WHEN 'a' THEN 'b' ELSE 'a' END) WHERE name = 'uuid'"
refused 'a checkpoint of another chain' "UPDATE checkpoint SET chain = x'00' || substr(chain, 2)"
head -c $(($(stat -c %s "$t/good") / 2)) "$t/good" >"$t/half"
"$check" "$t/half" "$head" >"$t/out" 2>&1
is $? 1 'refused: half of it'
other=$("$make" "$t/sessions" other 500 2 2)
"$sg" export other -F proof -o "$t/other" >/dev/null
"$check" "$t/other" "$head" >"$t/out" 2>&1
is $? 1 'refused: a whole bundle of another session'

# a copy without what others need not see
seq=$("$sg" events whole --filter kind:exec --json | sed 's/.*"seq":\([0-9]*\),.*/\1/' | head -1)
"$sg" export whole -F glass --redact "$seq" -o "$t/red.glass" >"$t/out" 2>&1
is $? 0 'a redacted copy'
"$sg" verify "$t/red.glass" >"$t/out" 2>&1
is $? 0 'verifies'
like "$(cat "$t/out")" 'redacted' 'as redacted'
"$sg" verify whole >"$t/out" 2>&1
is $? 0 'and the session itself still does'
"$sg" export whole -F glass --redact $((seq + 1)) -o "$t/red2.glass" >"$t/out" 2>&1 && "$sg" verify "$t/red2.glass" >"$t/out" 2>&1
is $? 0 'so does a second copy with less'
is "$(sqlite3 "$t/red.glass" "SELECT body IS NULL FROM event WHERE seq = $seq") $(sqlite3 "$whole" "SELECT body IS NULL FROM event WHERE seq = $seq")" '1 0' \
	'the copy lacks it, the session does not'
is "$(sqlite3 "$t/red.glass" "SELECT count(*) FROM segment WHERE action = $seq AND data IS NOT NULL")" 0 'nor has it the output'
"$sg" export "$t/red.glass" -F proof -o "$t/red.proof" >/dev/null
"$check" "$t/red.proof" >"$t/out" 2>&1
is $? 0 'its bundle is accepted'
"$sg" export whole -F glass --redact 99999999 -o "$t/none.glass" >"$t/out" 2>&1
[ $? -ne 0 ] && [ ! -e "$t/none.glass" ] && [ -z "$(ls "$t" | grep part-)" ]
ok $? 'an event that is not there: nothing is left'
"$sg" show "$t/good" >"$t/out" 2>&1
like "$? $(cat "$t/out")" '^2 .*is a proof bundle, not a session file: check_proof.sh checks it' 'opening one as a session gives this error'
is "$(sqlite3 "$t/good" 'PRAGMA application_id')" "$(($(grep -A1 -e '-F proof' "$here/../../schema/README.md" | grep -oE '0x[0-9a-f]{8}' | head -1)))" \
	'and its number is the one of the format'
finish
