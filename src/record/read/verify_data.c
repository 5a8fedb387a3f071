/* The data that events refer to: segments, git objects, messages, and their redactions. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "record/read/verify_priv.h"

static const char *check_segment(struct verify *v, sqlite3_stmt *st, uint64_t seq)
{
	struct hash stored, now;
	if (!verify_hash_column(st, 2, &stored))
		return "has no hash";
	int named = verify_names(v, seq, "hash", &stored);
	if (named == 0)
		return "is not the one its event names";
	const void *salt = sqlite3_column_blob(st, 3);
	if (!salt && sqlite3_column_type(st, 6) == SQLITE_NULL) {
		v->totals->redacted++;
		return NULL;
	}
	if (!salt || sqlite3_column_bytes(st, 3) != SALT_LEN)
		return "is partly removed";
	const void *data = sqlite3_column_blob(st, 6);
	size_t len = (size_t)sqlite3_column_bytes(st, 6);
	chain_segment(salt, sqlite3_column_blob(st, 4), (size_t)sqlite3_column_bytes(st, 4), data,
		      len, &now);
	if (!hash_eq(&now, &stored))
		return "doesn't match its hash";
	CLEANUP(buf_release) struct buf plain = BUF_INIT;
	struct err err;
	if (codec_unpack((enum codec)sqlite3_column_int(st, 5), data, len,
			 (size_t)sqlite3_column_int64(st, 7), &plain, &err) < 0)
		return "can't be decompressed";
	return NULL;
}

/* Place, length and stream of a segment are proven by its event; the row must say the same. */
static const char segment_sql[] =
	"SELECT s.segment, s.seq, s.hash, s.salt, s.times, s.codec, s.data, s.len,"
	" e.action IS s.action AND (e.body IS NULL OR (json_extract(e.body, '$.off') IS s.off AND"
	" json_extract(e.body, '$.len') IS s.len AND json_extract(e.body, '$.stream') IS s.stream))"
	" FROM segment s LEFT JOIN event e ON e.seq = s.seq ORDER BY s.segment";

int verify_segments(struct verify *v, struct err *err)
{
	sqlite3_stmt *st = verify_sql(v, segment_sql, err);
	const char *wrong = NULL;
	uint64_t id = 0, seq = 0, missing = 0;
	if (!st)
		return -1;
	while (!wrong && verify_row(v, st)) {
		id = (uint64_t)sqlite3_column_int64(st, 0);
		seq = (uint64_t)sqlite3_column_int64(st, 1);
		wrong = sqlite3_column_int(st, 8) ? check_segment(v, st, seq)
						  : "is not the one its event names";
		v->totals->segments++;
	}
	if (!verify_end(v, st, "segments", "segment %" PRIu64 " of event %" PRIu64, id, seq))
		return 0;
	if (!wrong) { /* and the other way round: no output event without its segment */
		st = verify_sql(
			v,
			"SELECT min(e.seq) FROM event e LEFT JOIN segment s ON s.seq = e.seq WHERE e.kind = 10"
			" AND s.seq IS NULL",
			err);
		if (!st)
			return -1;
		if (verify_row(v, st))
			missing = (uint64_t)sqlite3_column_int64(st, 0);
		if (!verify_end(v, st, "segments", "segment %" PRIu64 ", search for missing ones",
				id))
			return 0;
	}
	if (wrong)
		verify_say(v, "segments", VERIFY_FAIL, seq,
			   "segment %" PRIu64 " of event %" PRIu64 " %s", id, seq, wrong);
	else if (missing)
		verify_say(v, "segments", VERIFY_FAIL, missing,
			   "the output of event %" PRIu64 " is missing", missing);
	else
		verify_say(v, "segments", VERIFY_OK, 0, "%" PRIu64 " %s",
			   VERIFY_NR(v->totals->segments, "segment matches its hash",
				     "segments match their hashes"));
	return 0;
}

static const char *verify_data_check_object(struct verify *v, sqlite3_stmt *st,
					    const struct object_id *oid, const struct hash *stored)
{
	struct object_id name;
	struct hash now;
	if (sqlite3_column_type(st, 6) == SQLITE_NULL) {
		v->totals->redacted++;
		return NULL;
	}
	CLEANUP(buf_release) struct buf plain = BUF_INIT;
	struct err err;
	enum object_type type = (enum object_type)sqlite3_column_int(st, 2);
	if (codec_unpack((enum codec)sqlite3_column_int(st, 5), sqlite3_column_blob(st, 6),
			 (size_t)sqlite3_column_bytes(st, 6), (size_t)sqlite3_column_int64(st, 3),
			 &plain, &err) < 0)
		return "can't be decompressed";
	chain_object(type, plain.data, plain.len, &now);
	if (!hash_eq(&now, stored))
		return "doesn't match its hash";
	object_name(type, plain.data, plain.len, &name);
	return memcmp(&name, oid, sizeof(name)) ? "doesn't match its git ID" : NULL;
}

/* The objects of one event are complete: does its body hold their hash? */
static const char *end_group(struct verify *v, uint64_t seq, struct hash_ctx *group)
{
	struct hash all;
	hash_end(group, &all);
	return verify_names(v, seq, "objects_hash", &all) == 0
		       ? "is not among the objects of its event"
		       : NULL;
}

int verify_objects(struct verify *v, struct err *err)
{
	sqlite3_stmt *st = verify_sql(
		v, "SELECT seq, oid, type, size, hash, codec, data FROM object ORDER BY seq, oid",
		err);
	const char *wrong = NULL;
	uint64_t group = 0;
	struct hash_ctx all;
	struct object_id oid = { { 0 } };
	if (!st)
		return -1;
	while (!wrong && verify_row(v, st)) {
		struct hash stored;
		uint64_t seq = (uint64_t)sqlite3_column_int64(st, 0);
		if (sqlite3_column_bytes(st, 1) != sizeof(oid.b) ||
		    !verify_hash_column(st, 4, &stored)) {
			wrong = "has no name";
			group = seq;
			break;
		}
		if (seq != group) {
			wrong = group ? end_group(v, group, &all) : NULL;
			if (wrong)
				break;
			hash_begin(&all);
			group = seq;
		}
		memcpy(oid.b, sqlite3_column_blob(st, 1), sizeof(oid.b));
		hash_add(&all, oid.b, sizeof(oid.b));
		hash_add(&all, stored.b, HASH_LEN);
		wrong = verify_data_check_object(v, st, &oid, &stored);
		v->totals->objects++;
	}
	if (!verify_end(v, st, "objects", "%" PRIu64 " objects, the last of event %" PRIu64,
			v->totals->objects, group))
		return 0;
	if (!wrong && group)
		wrong = end_group(v, group, &all);
	uint64_t missing = 0;
	if (!wrong) { /* an event that added objects of which none is left */
		st = verify_sql(
			v,
			"SELECT min(e.seq) FROM event e WHERE e.body LIKE '%\"objects_hash\":%' AND"
			" json_extract(e.body, '$.objects') > 0 AND NOT EXISTS"
			" (SELECT 1 FROM object o WHERE o.seq = e.seq)",
			err);
		if (!st)
			return -1;
		if (verify_row(v, st))
			missing = (uint64_t)sqlite3_column_int64(st, 0);
		if (!verify_end(v, st, "objects", "event %" PRIu64 ", search for missing ones",
				group))
			return 0;
	}
	char hex[41];
	object_hex(&oid, hex);
	if (wrong)
		verify_say(v, "objects", VERIFY_FAIL, group, "object %s of event %" PRIu64 " %s",
			   hex, group, wrong);
	else if (missing)
		verify_say(v, "objects", VERIFY_FAIL, missing,
			   "the objects of event %" PRIu64 " are missing", missing);
	else
		verify_say(v, "objects", VERIFY_OK, 0, "%" PRIu64 " %s",
			   VERIFY_NR(v->totals->objects, "git object matches its hash",
				     "git objects match their hashes"));
	return 0;
}

int verify_messages(struct verify *v, struct err *err)
{
	sqlite3_stmt *st = verify_sql(
		v, "SELECT message, hash, size, codec, data FROM message ORDER BY message", err);
	uint64_t id = 0;
	bool bad = false;
	if (!st)
		return -1;
	while (!bad && verify_row(v, st)) {
		CLEANUP(buf_release) struct buf plain = BUF_INIT;
		struct hash stored, now;
		struct err ignored;
		id = (uint64_t)sqlite3_column_int64(st, 0);
		v->totals->messages++;
		if (sqlite3_column_type(st, 4) == SQLITE_NULL) {
			v->totals->redacted++;
			continue;
		}
		bad = !verify_hash_column(st, 1, &stored) ||
		      codec_unpack((enum codec)sqlite3_column_int(st, 3),
				   sqlite3_column_blob(st, 4), (size_t)sqlite3_column_bytes(st, 4),
				   (size_t)sqlite3_column_int64(st, 2), &plain, &ignored) < 0;
		if (!bad) {
			hash_of(plain.data, plain.len, &now);
			bad = !hash_eq(&now, &stored);
		}
	}
	if (!verify_end(v, st, "messages", "message %" PRIu64, id))
		return 0;
	const char *wrong = NULL;
	uint64_t seq = 0;
	int lists = bad ? 0 : verify_lists(v, &seq, &wrong, err);
	if (lists)
		return lists < 0 ? -1 : 0;
	if (bad)
		verify_say(v, "messages", VERIFY_FAIL, 0,
			   "message %" PRIu64 " doesn't match its hash", id);
	else if (wrong)
		verify_say(v, "messages", VERIFY_FAIL, seq, "event %" PRIu64 " %s", seq, wrong);
	else
		verify_say(v, "messages", VERIFY_OK, 0, "%" PRIu64 " %s",
			   VERIFY_NR(v->totals->messages, "message matches its hash",
				     "messages match their hashes"));
	return 0;
}

/* Every NULL needs a row in the table, and every row of the table needs an event. */
static const char redaction_sql[] =
	"SELECT (SELECT count(*) FROM event e WHERE e.body IS NULL AND NOT EXISTS"
	"   (SELECT 1 FROM redaction r WHERE r.what = 'event' AND r.id = e.seq))"
	" + (SELECT count(*) FROM segment s WHERE s.data IS NULL AND NOT EXISTS"
	"   (SELECT 1 FROM redaction r WHERE r.what = 'segment' AND r.id = s.segment))"
	" + (SELECT count(*) FROM object o WHERE o.data IS NULL AND NOT EXISTS"
	"   (SELECT 1 FROM redaction r WHERE r.what = 'object' AND r.id = o.object))"
	" + (SELECT count(*) FROM message m WHERE m.data IS NULL AND NOT EXISTS"
	"   (SELECT 1 FROM redaction r WHERE r.what = 'message' AND r.id = m.message))"
	" + (SELECT count(*) FROM redaction r LEFT JOIN event e ON e.seq = r.seq AND e.kind = 20"
	"   WHERE e.seq IS NULL OR (e.body IS NOT NULL AND (json_extract(e.body, '$.what') IS NOT r.what"
	"     OR json_extract(e.body, '$.id') IS NOT r.id)))";

int verify_redactions(struct verify *v, struct err *err)
{
	sqlite3_stmt *st = verify_sql(v, redaction_sql, err);
	if (!st)
		return -1;
	int64_t unknown = verify_row(v, st) ? sqlite3_column_int64(st, 0) : 1;
	if (!verify_end(v, st, "redactions", "%" PRIu64 " redactions", v->totals->redacted))
		return 0;
	if (unknown)
		verify_say(v, "redactions", VERIFY_FAIL, 0,
			   "%" PRId64 " removals without a redaction event", unknown);
	else
		verify_say(v, "redactions", VERIFY_OK, 0, "%" PRIu64 " %s redacted",
			   v->totals->redacted, v->totals->redacted == 1 ? "body" : "bodies");
	return 0;
}
