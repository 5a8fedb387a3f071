/* The beginning of another session, row by row, unchanged: what a fork starts from. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "record/store_priv.h"

enum { COPY_BUSY_MS = 10000 };

/* The row of a list, read as JSON whatever it is. */
#define ROW                                                                                        \
	"CASE WHEN m.codec = 0 AND json_valid(CAST(m.data AS TEXT)) THEN CAST(m.data AS TEXT) ELSE '{}' END"

/* ?1 = the last event. Messages have no seq: those that an event up to ?1 names. */
static const char *const store_copy_copies[] = {
	"INSERT OR IGNORE INTO main.kind SELECT number, name, doc FROM src.kind",
	"INSERT INTO main.event SELECT * FROM src.event WHERE seq <= ?1 ORDER BY seq",
	"INSERT INTO main.segment SELECT * FROM src.segment WHERE seq <= ?1 ORDER BY segment",
	"INSERT INTO main.object SELECT * FROM src.object WHERE seq <= ?1 ORDER BY object",
	"INSERT INTO main.checkpoint SELECT * FROM src.checkpoint WHERE seq <= ?1 ORDER BY seq",
	"INSERT INTO main.redaction SELECT * FROM src.redaction WHERE seq <= ?1",
	"INSERT INTO main.origin SELECT * FROM src.origin WHERE seq < ?1",
	"INSERT INTO main.origin SELECT ?1, id, uuid, key FROM src.session"
	" WHERE NOT EXISTS (SELECT 1 FROM src.origin WHERE seq >= ?1)",
	"INSERT INTO main.origin SELECT ?1, id, uuid, key FROM src.origin WHERE seq >= ?1 ORDER BY seq LIMIT 1",
	/* a list of messages is an array, or the name of a pooled one, which may begin with an
	 * earlier one */
	"CREATE TEMP TABLE pool AS SELECT lower(hex(hash)) AS hash, message FROM src.message",
	"CREATE INDEX temp.pool_hash ON pool(hash)",
	"CREATE TEMP TABLE list AS SELECT json_extract(body, '$.messages') AS value FROM src.event"
	" WHERE seq <= ?1 AND kind = (SELECT number FROM src.kind WHERE name = 'model.call')"
	" UNION ALL SELECT json_extract(body, '$.body') FROM src.event"
	" WHERE seq <= ?1 AND kind = (SELECT number FROM src.kind WHERE name = 'model.sent')"
	" UNION ALL SELECT json_extract(body, '$.args.messages') FROM src.event"
	" WHERE seq <= ?1 AND kind = (SELECT number FROM src.kind WHERE name = 'host.call')"
	" AND json_extract(body, '$.op') = 'model.call'",
	"CREATE TEMP TABLE pooled AS WITH RECURSIVE begins(hash) AS (SELECT value FROM temp.list WHERE value NOT LIKE '[%'"
	" UNION SELECT json_extract(" ROW
	", '$.as') FROM begins b JOIN temp.pool p ON p.hash = b.hash"
	" JOIN src.message m ON m.message = p.message)"
	" SELECT hash FROM begins WHERE hash IS NOT NULL",
	"CREATE TEMP TABLE named AS SELECT hash FROM temp.pooled"
	" UNION SELECT j.value FROM temp.list l, json_each(CASE WHEN l.value LIKE '[%' THEN l.value ELSE '[]' END) j"
	" UNION SELECT j.value FROM temp.pooled n JOIN temp.pool p ON p.hash = n.hash"
	" JOIN src.message m ON m.message = p.message, json_each(" ROW ", '$.plus') j",
	"INSERT INTO main.message SELECT * FROM src.message WHERE message IN (SELECT p.message FROM temp.pool p"
	" JOIN temp.named n ON n.hash = p.hash) ORDER BY message",
	"DROP TABLE temp.pool",
	"DROP TABLE temp.list",
	"DROP TABLE temp.pooled",
	"DROP TABLE temp.named",
};

static int store_copy_fail(struct store *s, const char *from, struct err *err)
{
	return err_set(err, ERR_IO, "can't copy session '%s': %s", from, sqlite3_errmsg(s->db));
}

static int64_t store_copy_number(struct store *s, const char *sql, uint64_t seq)
{
	sqlite3_stmt *st;
	int64_t v = -1;
	if (sqlite3_prepare_v2(s->db, sql, -1, &st, NULL) != SQLITE_OK)
		return -1;
	sqlite3_bind_int64(st, 1, (int64_t)seq);
	if (sqlite3_step(st) == SQLITE_ROW)
		v = sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	return v;
}

static int store_copy_rows(struct store *s, const char *from, uint64_t seq, struct err *err)
{
	if (store_copy_number(s, "SELECT count(*) FROM src.event WHERE seq = ?1", seq) != 1)
		return err_set(err, ERR_NOENT, "session '%s' has no event #%" PRIu64, from, seq);
	int64_t later =
		store_copy_number(
			s,
			"SELECT count(*) FROM src.redaction WHERE seq > ?1 AND what = 'event' AND id <= ?1",
			seq) +
		store_copy_number(
			s,
			"SELECT count(*) FROM src.redaction r JOIN src.segment g ON r.what = 'segment' AND r.id = g.segment"
			" WHERE r.seq > ?1 AND g.seq <= ?1",
			seq) +
		store_copy_number(
			s,
			"SELECT count(*) FROM src.redaction WHERE seq > ?1 AND what IN ('object', 'message')",
			seq);
	if (later)
		return err_set(err, ERR_INVALID,
			       "session '%s' was redacted after #%" PRIu64
			       ": fork at that event or later",
			       from, seq);
	for (size_t i = 0; i < ARRAY_LEN(store_copy_copies); i++) {
		sqlite3_stmt *st;
		if (sqlite3_prepare_v2(s->db, store_copy_copies[i], -1, &st, NULL) != SQLITE_OK)
			return store_copy_fail(s, from, err);
		sqlite3_bind_int64(st, 1, (int64_t)seq);
		int rc = sqlite3_step(st);
		sqlite3_finalize(st);
		if (rc != SQLITE_DONE)
			return store_copy_fail(s, from, err);
	}
	return 0;
}

static int store_copy_exec(struct store *s, const char *sql)
{
	return sqlite3_exec(s->db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : -1;
}

static int store_attach(struct store *s, const char *from)
{
	sqlite3_stmt *st;
	if (sqlite3_prepare_v2(s->db, "ATTACH ?1 AS src", -1, &st, NULL) != SQLITE_OK)
		return -1;
	sqlite3_bind_text(st, 1, from, -1, SQLITE_STATIC);
	int rc = sqlite3_step(st);
	sqlite3_finalize(st);
	return rc == SQLITE_DONE ? 0 : -1;
}

/* The last reader of @from that closes it, or who builds its index, holds it for a moment. */
static int store_copy_wait(struct store *s, const char *from, uint64_t seq, struct err *err)
{
	if (store_attach(s, from) < 0)
		return store_copy_fail(s, from, err);
	int rc = store_copy_exec(s, "BEGIN IMMEDIATE") < 0 ? store_copy_fail(s, from, err)
							   : store_copy_rows(s, from, seq, err);
	if (rc == 0 && store_copy_exec(s, "COMMIT") < 0)
		rc = store_copy_fail(s, from, err);
	if (rc < 0)
		store_copy_exec(s, "ROLLBACK");
	store_copy_exec(s, "DETACH src");
	return rc;
}

int store_copy(struct store *s, const char *from, uint64_t seq, struct err *err)
{
	sqlite3_busy_timeout(s->db, COPY_BUSY_MS);
	int rc = store_copy_wait(s, from, seq, err);
	sqlite3_busy_timeout(s->db, STORE_BUSY_MS);
	return rc;
}

bool store_origin(struct store *s, struct store_origin *out)
{
	sqlite3_stmt *st;
	bool found = false;
	if (sqlite3_prepare_v2(s->db, "SELECT seq, id, uuid FROM origin ORDER BY seq DESC LIMIT 1",
			       -1, &st, NULL) != SQLITE_OK)
		return false;
	if (sqlite3_step(st) == SQLITE_ROW && sqlite3_column_bytes(st, 2) == UUID_LEN) {
		out->seq = (uint64_t)sqlite3_column_int64(st, 0);
		snprintf(out->id, sizeof(out->id), "%s", (const char *)sqlite3_column_text(st, 1));
		memcpy(out->uuid, sqlite3_column_blob(st, 2), UUID_LEN);
		found = true;
	}
	sqlite3_finalize(st);
	return found;
}
