#!/usr/bin/env bash
# Verifies a finished session file by schema/README.md alone: sqlite3, sha256sum, xxd, openssl, git, zstd; nothing of ours.
# outside_check.sh FILE [LIMIT]: checks the first LIMIT events (default 200), all checkpoints within them, some segments
# and objects. Says what it has checked; status 1 with one line at the first thing that is wrong.
set -euo pipefail
file=$1 limit=${2:-200}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
die() { echo "outside_check: $*" >&2; exit 1; }
ask() { sqlite3 -readonly -batch "$file" "$@"; }
hash_hex() { xxd -r -p | sha256sum | cut -d' ' -f1; }

[ "$(ask 'PRAGMA application_id')" = $((0x53474c53)) ] || die "rule 1: not a session file"
[[ "$(ask 'PRAGMA user_version')" = [12] ]] || die "rule 1: another format"
uuid=$(ask 'SELECT lower(hex(uuid)) FROM session')
key=$(ask 'SELECT lower(hex(key)) FROM session')

# rules 6, 10, 11, 12; a fork begins with another session's name and key
begin=$(ask "SELECT lower(hex(uuid)) || '|' || lower(hex(key)) FROM origin ORDER BY seq LIMIT 1")
begin=${begin:-$uuid|$key}
chain=$(printf 'sandglass session 1\n%s\n%s\n' "${begin%|*}" "${begin#*|}" | sha256sum | cut -d' ' -f1)
expect=0 events=0
while IFS='|' read -r seq head salt body body_hash stored; do
	expect=$((expect + 1))
	[ "$seq" = "$expect" ] || die "rule 6: event $expect is missing"
	if [ -n "$salt" ]; then
		got=$(printf '%s' "$salt$body" | hash_hex)
		[ "$got" = "$body_hash" ] || die "rule 10: the body of event $seq is not what was written"
	fi
	chain=$(printf '%s' "$chain$head$body_hash" | hash_hex)
	[ "$chain" = "$stored" ] || die "rule 11: event $seq does not follow from the one before it"
	events=$((events + 1))
done < <(ask "SELECT seq, printf('%016x%016x%016x%016x%016x%016x%016x%04x', seq, cause, agent, box, action, ts_us, mono_us, kind),
	lower(ifnull(hex(salt), '')), lower(hex(CAST(ifnull(body, '') AS BLOB))), lower(hex(body_hash)), lower(hex(chain))
	FROM event ORDER BY seq LIMIT $limit")

# rule 18: an Ed25519 public key as DER is twelve fixed bytes and the key
printf '302a300506032b6570032100%s' "$key" | xxd -r -p >"$dir/key.der"
openssl pkey -pubin -inform DER -in "$dir/key.der" -out "$dir/key.pem"
signed=0
while IFS='|' read -r seq ts now sig stored; do
	[ "$now" = "$stored" ] || die "rule 18: the checkpoint at $seq signs another chain"
	owner=$(ask "SELECT lower(hex(uuid)) FROM origin WHERE seq >= $seq ORDER BY seq LIMIT 1")
	printf 'sandglass checkpoint 1\n%s\n%s\n%s\n%s\n' "${owner:-$uuid}" "$seq" "$now" "$ts" >"$dir/text"
	printf '%s' "$sig" | xxd -r -p >"$dir/sig"
	openssl pkeyutl -verify -rawin -pubin -inkey "$dir/key.pem" -in "$dir/text" -sigfile "$dir/sig" >/dev/null ||
		die "rule 18: the signature at event $seq does not hold"
	signed=$((signed + 1))
done < <(ask "SELECT c.seq, c.ts_us, lower(hex(c.chain)), lower(hex(c.sig)), lower(hex(e.chain)) FROM checkpoint c
	JOIN event e ON e.seq = c.seq WHERE lower(hex(c.key)) = '$key' ORDER BY c.seq")
[ "$(ask 'SELECT max(seq) FROM checkpoint')" = "$(ask 'SELECT max(seq) FROM event')" ] || die "rule 19: the end is not signed"

# rule 14
segments=0
while IFS='|' read -r segment bytes hash named; do
	[ "$(printf '%s' "$bytes" | hash_hex)" = "$hash" ] || die "rule 14: segment $segment is not what was written"
	[ "$hash" = "$named" ] || die "rule 14: segment $segment is not the one that its event names"
	segments=$((segments + 1))
done < <(ask "SELECT s.segment, lower(hex(s.salt) || printf('%08x', length(s.times)) || hex(s.times) || hex(s.data)),
	lower(hex(s.hash)), json_extract(e.body, '\$.hash') FROM segment s JOIN event e ON e.seq = s.seq
	WHERE s.data IS NOT NULL AND e.body IS NOT NULL ORDER BY s.segment LIMIT 50")

# rules 15, 16
objects=0
while IFS='|' read -r oid type size hash codec data; do
	printf '%s' "$data" | xxd -r -p >"$dir/stored"
	if [ "$codec" = 1 ]; then
		command -v zstd >/dev/null || continue
		zstd -dcq "$dir/stored" >"$dir/bytes"
	else
		cp "$dir/stored" "$dir/bytes"
	fi
	[ "$({ printf '%s %s\0' "$type" "$size"; cat "$dir/bytes"; } | sha256sum | cut -d' ' -f1)" = "$hash" ] ||
		die "rule 15: object $oid is not what was written"
	[ "$(git hash-object --literally -t "$type" --stdin <"$dir/bytes")" = "$oid" ] || die "rule 15: $oid is not its git name"
	objects=$((objects + 1))
done < <(ask "SELECT lower(hex(oid)), CASE type WHEN 2 THEN 'tree' ELSE 'blob' END, size, lower(hex(hash)), codec, hex(data)
	FROM object WHERE data IS NOT NULL ORDER BY object LIMIT 20")
groups=0
for seq in $(ask "SELECT DISTINCT seq FROM object ORDER BY seq LIMIT 10"); do
	got=$(ask "SELECT hex(oid) || hex(hash) FROM object WHERE seq = $seq ORDER BY oid" | tr -d '\n' | hash_hex)
	[ "$got" = "$(ask "SELECT json_extract(body, '\$.objects_hash') FROM event WHERE seq = $seq")" ] ||
		die "rule 16: the objects of event $seq are not those that it added"
	groups=$((groups + 1))
done
# rules 17, 24 to 26: what calls name is there, and is what its name says
while IFS='|' read -r hash codec data; do
	printf '%s' "$data" | xxd -r -p >"$dir/stored"
	if [ "$codec" = 1 ]; then
		command -v zstd >/dev/null || continue
		zstd -dcq "$dir/stored" >"$dir/bytes"
	else
		cp "$dir/stored" "$dir/bytes"
	fi
	[ "$(sha256sum <"$dir/bytes" | cut -d' ' -f1)" = "$hash" ] || die "rule 17: message $hash is not what was written"
done < <(ask "SELECT lower(hex(hash)), codec, hex(data) FROM message WHERE data IS NOT NULL ORDER BY message LIMIT 50")
named="SELECT json_extract(e.body, '\$.' || f.field) AS list FROM event e JOIN kind k ON k.number = e.kind
	JOIN (SELECT 'model.call' AS name, 'messages' AS field UNION ALL SELECT 'model.sent', 'body') f ON f.name = k.name"
missing=$(ask "WITH RECURSIVE pool AS MATERIALIZED (SELECT lower(hex(hash)) AS hash,
		CASE WHEN codec = 0 AND json_valid(CAST(data AS TEXT)) THEN CAST(data AS TEXT) ELSE '{}' END AS row FROM message),
	named AS ($named),
	begins(hash) AS (SELECT list FROM named WHERE list NOT LIKE '[%' UNION
		SELECT json_extract(p.row, '\$.as') FROM begins b JOIN pool p ON p.hash = b.hash),
	every(hash) AS (SELECT hash FROM begins UNION
		SELECT j.value FROM named n, json_each(CASE WHEN n.list LIKE '[%' THEN n.list ELSE '[]' END) j UNION
		SELECT j.value FROM begins b JOIN pool p ON p.hash = b.hash, json_each(p.row, '\$.plus') j)
	SELECT hash FROM every WHERE hash IS NOT NULL AND hash NOT IN (SELECT hash FROM pool) LIMIT 1")
[ -z "$missing" ] || die "rule 28: $missing is named and missing"
lists=$(ask "SELECT count(*) FROM ($named)")
echo "$events events, $lists lists of messages, $signed signatures, $segments segments, $objects objects, $groups additions: as written"
