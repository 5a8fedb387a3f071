#!/usr/bin/env bash
# Checks a proof bundle (`sandglass export -F proof`) with sqlite3, sha256sum and git alone; nothing of ours is called.
#
#     check_proof.sh FILE [HEAD]
#
# HEAD is the chain of the last event in hexadecimal, as you know it from elsewhere: a line of anchor.log in other hands, what
# `sandglass verify` printed when the session ended. Without it the bundle is only shown to agree with itself.
# Status 0: everything holds; 1: the first thing that does not is named. schema/README.md has the rules that are cited.
set -euo pipefail
file=$1 head=${2:-}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
die() { echo "check_proof: $*" >&2; exit 1; }
ask() { sqlite3 -readonly -batch "$file" "$@" 2>"$dir/why" || die "it cannot be read: $(head -1 "$dir/why")"; }
none() { # what is wrong, a query that finds nothing when all is well
	local found
	found=$(ask "$2 LIMIT 1")
	[ -z "$found" ] || die "$1: $found"
}
# hashes: NAME QUERY with columns (hash, name, bytes): each hash is that of its bytes
hashes() {
	mkdir "$dir/$1"
	ask "SELECT writefile('$dir/$1/' || name, bytes) IS NULL FROM ($2) WHERE bytes IS NOT NULL" | grep -q 1 && die "cannot write to $dir"
	ask -separator '  ' "SELECT lower(hex(hash)), '$dir/$1/' || name FROM ($2) WHERE bytes IS NOT NULL" >"$dir/$1.list"
	[ ! -s "$dir/$1.list" ] || sha256sum -c --quiet "$dir/$1.list" >"$dir/why" 2>/dev/null ||
		die "$3: $(head -1 "$dir/why" | sed 's|.*/||')"
}

[ "$(ask 'PRAGMA application_id')" = 1397181264 ] || die 'this is no proof bundle'
[ "$(ask 'PRAGMA user_version')" = 1 ] || die 'a newer form of bundle'
[ "$(ask 'PRAGMA integrity_check(1)')" = ok ] || die 'the file is damaged'
value() { ask "SELECT value FROM meta WHERE name = '$1'"; }

# rules 6, 10, 11, 12
none 'rule 6: a hole in the events at' "SELECT seq FROM event WHERE seq NOT IN (SELECT seq + 1 FROM event) AND seq <> 1"
[ "$(ask 'SELECT count(*) || min(seq) FROM event')" = "$(value events)1" ] || die 'rule 6: events are missing'
none 'rule 11: the header does not say what the columns say, event' "SELECT seq FROM event WHERE lower(hex(header)) <>
	printf('%016x%016x%016x%016x%016x%016x%016x%04x', seq, cause, agent, box, action, ts_us, mono_us, kind)"
start=$(printf 'sandglass session 1\n%s\n%s\n' "$(value uuid)" "$(value key)" | sha256sum | cut -c1-64)
hashes body "SELECT body_hash AS hash, seq AS name, CASE WHEN salt IS NOT NULL THEN CAST(salt || CAST(body AS BLOB) AS BLOB) END AS bytes
	FROM event" 'rule 10: the body is not what was recorded, event'
hashes chain "SELECT chain AS hash, seq AS name, CAST(CASE seq WHEN 1 THEN x'$start' ELSE
	(SELECT p.chain FROM event p WHERE p.seq = e.seq - 1) END || header || body_hash AS BLOB) AS bytes FROM event e" \
	'rule 11: it does not follow from the one before, event'

# rules 13, 14
hashes segment "SELECT hash, segment AS name, CASE WHEN salt IS NOT NULL THEN CAST(salt || times_len || times || data AS BLOB) END AS bytes
	FROM segment" 'rule 14: the output is not what was recorded, segment'
none 'rule 14: the length of the times is wrong, segment' "SELECT segment FROM segment WHERE salt IS NOT NULL AND
	lower(hex(times_len)) <> printf('%08x', length(times))"
none 'rule 14: an event and its output do not agree, event' "SELECT e.seq FROM event e LEFT JOIN segment s ON s.seq = e.seq
	WHERE e.kind_name = 'output' AND e.body IS NOT NULL AND (s.seq IS NULL OR lower(hex(s.hash)) <> json_extract(e.body, '\$.hash')
	OR s.off <> json_extract(e.body, '\$.off') OR s.len <> json_extract(e.body, '\$.len') OR s.stream <> json_extract(e.body, '\$.stream')
	OR s.action <> e.action)"
none 'output that no event names, segment' "SELECT segment FROM segment WHERE seq NOT IN (SELECT seq FROM event)"

# rules 15, 16
hashes object "SELECT hash, lower(hex(oid)) AS name, CASE WHEN data IS NOT NULL THEN CAST(CASE type WHEN 2 THEN 'tree ' ELSE 'blob ' END
	|| size || x'00' || data AS BLOB) END AS bytes FROM object" 'rule 15: it is not what was recorded, object'
for type in tree blob; do
	mkdir "$dir/$type"
	ask "SELECT writefile('$dir/$type/' || lower(hex(oid)), data) FROM object WHERE data IS NOT NULL AND type = CASE '$type' WHEN 'tree'
		THEN 2 ELSE 3 END" >/dev/null
	find "$dir/$type" -type f | sort >"$dir/paths"
	git hash-object --literally -t $type --stdin-paths <"$dir/paths" >"$dir/names"
	sed 's|.*/||' "$dir/paths" | cmp -s - "$dir/names" || die "rule 15: a $type is not what its git name says"
done
mkdir -p "$dir/adds"
ask "SELECT writefile('$dir/adds/' || seq, CAST((SELECT group_concat(pair, '') FROM (SELECT CAST(oid || hash AS BLOB) AS pair FROM object o
	WHERE o.seq = e.seq ORDER BY oid)) AS BLOB)) FROM event e WHERE seq IN (SELECT seq FROM object)" >/dev/null
ask -separator '  ' "SELECT json_extract(body, '\$.objects_hash'), '$dir/adds/' || seq FROM event WHERE body IS NOT NULL AND
	seq IN (SELECT seq FROM object)" >"$dir/adds.list"
[ ! -s "$dir/adds.list" ] || sha256sum -c --quiet "$dir/adds.list" >"$dir/why" 2>/dev/null ||
	die "rule 16: objects are not those that were added by event: $(head -1 "$dir/why" | sed 's|.*/||')"
none 'rule 16: objects are missing, event' "SELECT e.seq FROM event e WHERE json_extract(e.body, '\$.objects') > 0 AND
	json_extract(e.body, '\$.objects') <> (SELECT count(*) FROM object o WHERE o.seq = e.seq)"

# rules 17, 21, 22, 28
hashes message "SELECT hash, message AS name, data AS bytes FROM message" 'rule 17: it is not what its name says, message'
list="json_extract(body, CASE kind_name WHEN 'model.call' THEN '\$.messages' ELSE '\$.body' END)"
none 'rule 28: a message that is named is missing' "WITH RECURSIVE
	called(list) AS (SELECT $list FROM event WHERE kind_name IN ('model.call', 'model.sent') AND $list IS NOT NULL),
	row(name, text, base, keep) AS (SELECT lower(hex(hash)), CAST(data AS TEXT), json_extract(CAST(data AS TEXT), '\$.as'),
		json_extract(CAST(data AS TEXT), '\$.keep') FROM message WHERE data IS NOT NULL AND json_valid(CAST(data AS TEXT)) AND
		json_type(CAST(data AS TEXT), '\$.plus') = 'array'),
	size(name, begin, n) AS (SELECT name, 0, json_array_length(text, '\$.plus') FROM row WHERE base IS NULL UNION ALL
		SELECT r.name, coalesce(r.keep, s.n), coalesce(r.keep, s.n) + json_array_length(r.text, '\$.plus')
		FROM size s JOIN row r ON r.base = s.name),
	used(name, upto) AS (SELECT s.name, s.n FROM size s WHERE s.name IN (SELECT list FROM called) UNION
		SELECT r.base, min(u.upto, s.begin) FROM used u JOIN row r ON r.name = u.name JOIN size s ON s.name = u.name
		WHERE r.base IS NOT NULL),
	named(name) AS (SELECT list FROM called WHERE list NOT LIKE '[%' UNION ALL
		SELECT value FROM called, json_each(list) WHERE list LIKE '[%' UNION ALL
		SELECT j.value FROM used u JOIN row r ON r.name = u.name JOIN size s ON s.name = u.name, json_each(r.text, '\$.plus') j
		WHERE s.begin + j.key < u.upto UNION ALL
		SELECT base FROM row WHERE name IN (SELECT name FROM used) AND base IS NOT NULL)
	SELECT name FROM named WHERE name NOT IN (SELECT lower(hex(hash)) FROM message)"
none 'rule 21: started before it was allowed, action' "SELECT s.action FROM event s WHERE s.kind_name = 'action.started' AND NOT EXISTS
	(SELECT 1 FROM event v WHERE v.action = s.action AND v.seq < s.seq AND (v.body IS NULL OR
	(v.kind_name = 'action.judged' AND json_extract(v.body, '\$.verdict') = 'allow') OR (v.kind_name = 'action.decided' AND
	json_extract(v.body, '\$.decision') IN ('approve', 'edit', 'promote', 'release'))))"
none 'rule 22: a body is gone and nobody said so, event' "SELECT seq FROM event WHERE (salt IS NULL OR body IS NULL) AND seq NOT IN
	(SELECT id FROM redaction WHERE what = 'event')"
none 'rule 22: output is gone and nobody said so, segment' "SELECT segment FROM segment WHERE (salt IS NULL OR data IS NULL) AND segment
	NOT IN (SELECT id FROM redaction WHERE what = 'segment')"
none 'rule 22: contents are gone and nobody said so, object' "SELECT object FROM object WHERE data IS NULL AND object NOT IN
	(SELECT id FROM redaction WHERE what = 'object')"
none 'rule 22: a message is gone and nobody said so' "SELECT message FROM message WHERE data IS NULL AND message NOT IN
	(SELECT id FROM redaction WHERE what = 'message')"
none 'rule 22: a removal without its event' "SELECT id FROM redaction WHERE seq NOT IN (SELECT seq FROM event WHERE kind_name = 'redacted')"
none 'rule 18: a checkpoint of another chain, event' "SELECT c.seq FROM checkpoint c LEFT JOIN event e ON e.seq = c.seq WHERE e.chain IS NOT c.chain"

last=$(ask 'SELECT lower(hex(chain)) FROM event ORDER BY seq DESC LIMIT 1')
[ "$last" = "$(value head)" ] || die 'the head is not that of the last event'
[ -z "$head" ] || [ "$last" = "$head" ] || die "another record: its head is $last"
echo "$(value id): $(value events) events, $(ask 'SELECT count(*) FROM segment') segments, $(ask 'SELECT count(*) FROM object') objects," \
	"$(ask 'SELECT count(*) FROM message') messages, $(ask 'SELECT count(*) FROM redaction') redacted: as recorded"
[ -n "$head" ] || echo "head $last: compare it with what you know from elsewhere"
