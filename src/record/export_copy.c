#include "record/export_copy.h"

#include <sqlite3.h>
#include <string.h>

#include "base/buf.h"
#include "record/read/chain.h"
#include "record/read/codec.h"
#include "record/vfs.h"

struct copy {
	sqlite3 *from, *to;
};

static int export_copy_failed(sqlite3 *db, const char *what, struct err *err)
{
	int rc = sqlite3_errcode(db) & 0xff;
	enum err_code code = rc == SQLITE_FULL				   ? ERR_FULL
			     : rc == SQLITE_CORRUPT || rc == SQLITE_NOTADB ? ERR_DAMAGED
									   : ERR_IO;
	return err_set(err, code, "can't %s: %s", what, sqlite3_errmsg(db));
}

static int open_both(struct copy *c, const char *from, const char *to, struct err *err)
{
	if (sqlite3_open_v2(from, &c->from, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOFOLLOW, NULL) !=
	    SQLITE_OK)
		return export_copy_failed(c->from, "read the session file", err);
	vfs_register();
	if (sqlite3_open_v2(to, &c->to,
			    SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOFOLLOW,
			    RECORD_VFS) != SQLITE_OK)
		return export_copy_failed(c->to, "write the copy", err);
	sqlite3_busy_timeout(c->from, 5000);
	return 0;
}

static int close_both(struct copy *c, int rc, struct err *err)
{
	sqlite3_close_v2(c->from);
	if (sqlite3_close(c->to) != SQLITE_OK && rc == 0)
		rc = export_copy_failed(c->to, "write the copy", err);
	return rc;
}

static int export_copy_run(sqlite3 *db, const char *sql, struct err *err)
{
	return sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK
		       ? 0
		       : export_copy_failed(db, "write the copy", err);
}

static int back_up(struct copy *c, struct err *err)
{
	sqlite3_backup *b = sqlite3_backup_init(c->to, "main", c->from, "main");
	if (!b)
		return export_copy_failed(c->to, "write the copy", err);
	int rc;
	do {
		rc = sqlite3_backup_step(b, 1024);
		if (rc == SQLITE_BUSY || rc == SQLITE_LOCKED)
			sqlite3_sleep(20);
	} while (rc == SQLITE_OK || rc == SQLITE_BUSY || rc == SQLITE_LOCKED);
	sqlite3_backup_finish(b);
	return rc == SQLITE_DONE ? 0 : export_copy_failed(c->to, "write the copy", err);
}

int export_copy_write(const char *from, const char *to, struct err *err)
{
	struct copy c = { 0 };
	int rc = open_both(&c, from, to, err);
	if (rc == 0)
		rc = back_up(&c, err);
	if (rc == 0)
		rc = export_copy_run(c.to, "PRAGMA journal_mode = DELETE", err);
	rc = close_both(&c, rc, err);
	/* pages may have been written before the first one, which says that they have sums */
	return rc == 0 ? vfs_mend_sums(to, err) : rc;
}

/* --- proof --- */

static const char export_copy_tables[] =
	"PRAGMA application_id = 1397181264; PRAGMA user_version = 1;" /* "SGKP" */
	"CREATE TABLE meta(name TEXT PRIMARY KEY, value TEXT NOT NULL);"
	"CREATE TABLE event(seq INTEGER PRIMARY KEY, cause, agent, box, action, ts_us, mono_us, kind, kind_name, header, salt, body,"
	" body_hash, chain);"
	"CREATE TABLE segment(segment INTEGER PRIMARY KEY, seq, action, stream, off, len, ts_us, times_len, times, salt, hash, codec,"
	" data);"
	"CREATE TABLE object(object INTEGER PRIMARY KEY, seq, oid, type, size, hash, data);"
	"CREATE TABLE message(message INTEGER PRIMARY KEY, hash, size, data);"
	"CREATE TABLE checkpoint(seq INTEGER PRIMARY KEY, ts_us, chain, key, sig);"
	"CREATE TABLE origin(seq INTEGER PRIMARY KEY, id, uuid, key);"
	"CREATE TABLE redaction(what, id, seq);";

enum how { AS_IS, HEADER, TIMES, UNPACK };

/* The source of one table; the columns in @at are transformed. */
static const struct table {
	const char *select, *insert;
	enum how how;
	/* HEADER: where the made column stands; UNPACK: codec stands here, data behind it */
	int at;
} export_copy_list[] = {
	{ "SELECT e.seq, cause, agent, box, action, ts_us, mono_us, kind, coalesce(k.name, ''), NULL, salt, CAST(body AS BLOB), body_hash,"
	  " chain FROM event e LEFT JOIN kind k ON k.number = e.kind ORDER BY e.seq",
	  "INSERT INTO event VALUES(?,?,?,?,?,?,?,?,?,?,?,CAST(? AS TEXT),?,?)", HEADER, 9 },
	{ "SELECT segment, seq, action, stream, off, len, ts_us, NULL, times, salt, hash, codec, data FROM segment ORDER BY segment",
	  "INSERT INTO segment VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?)", TIMES, 7 },
	{ "SELECT object, seq, oid, type, size, hash, codec, data FROM object ORDER BY object",
	  "INSERT INTO object VALUES(?,?,?,?,?,?,?)", UNPACK, 6 },
	{ "SELECT message, hash, size, codec, data FROM message ORDER BY message",
	  "INSERT INTO message VALUES(?,?,?,?)", UNPACK, 3 },
	{ "SELECT seq, ts_us, chain, key, sig FROM checkpoint",
	  "INSERT INTO checkpoint VALUES(?,?,?,?,?)", AS_IS, 0 },
	{ "SELECT seq, id, uuid, key FROM origin", "INSERT INTO origin VALUES(?,?,?,?)", AS_IS, 0 },
	{ "SELECT what, id, seq FROM redaction", "INSERT INTO redaction VALUES(?,?,?)", AS_IS, 0 },
	{ "SELECT 'uuid', lower(hex(coalesce((SELECT uuid FROM origin ORDER BY seq LIMIT 1), uuid))) FROM session UNION ALL"
	  " SELECT 'key', lower(hex(coalesce((SELECT key FROM origin ORDER BY seq LIMIT 1), key))) FROM session UNION ALL"
	  " SELECT 'id', id FROM session UNION ALL SELECT 'name', name FROM session UNION ALL"
	  " SELECT 'head', lower(hex(chain)) FROM event WHERE seq = (SELECT max(seq) FROM event) UNION ALL"
	  " SELECT 'events', CAST(max(seq) AS TEXT) FROM event",
	  "INSERT INTO meta VALUES(?,?)", AS_IS, 0 },
};

static void bind_header(sqlite3_stmt *in, sqlite3_stmt *out, int at)
{
	uint8_t h[CHAIN_HEADER];
	for (int i = 0; i < 7; i++)
		put_u64be(h + 8 * i, (uint64_t)sqlite3_column_int64(in, i));
	int kind = sqlite3_column_int(in, 7);
	h[56] = (uint8_t)(kind >> 8);
	h[57] = (uint8_t)kind;
	sqlite3_bind_blob(out, at + 1, h, sizeof(h), SQLITE_TRANSIENT);
}

static int bind_unpacked(sqlite3_stmt *in, sqlite3_stmt *out, int at, struct err *err)
{
	CLEANUP(buf_release) struct buf bytes = BUF_INIT;
	if (sqlite3_column_type(in, at + 1) == SQLITE_NULL) /* redacted */
		return 0;
	if (codec_unpack((enum codec)sqlite3_column_int(in, at), sqlite3_column_blob(in, at + 1),
			 (size_t)sqlite3_column_bytes(in, at + 1),
			 (size_t)sqlite3_column_int64(in, at == 6 ? 4 : 2), &bytes, err) < 0)
		return -1;
	sqlite3_bind_blob64(out, at + 1, bytes.len ? bytes.data : "", bytes.len, SQLITE_TRANSIENT);
	return 0;
}

static int bind_row(const struct table *t, sqlite3_stmt *in, sqlite3_stmt *out, struct err *err)
{
	uint8_t four[4];
	int cols = sqlite3_bind_parameter_count(out);
	for (int i = 0; i < cols; i++)
		sqlite3_bind_value(out, i + 1, sqlite3_column_value(in, i));
	if (t->how == HEADER)
		bind_header(in, out, t->at);
	if (t->how == TIMES && sqlite3_column_type(in, 8) != SQLITE_NULL) {
		put_u32be(four, (uint32_t)sqlite3_column_bytes(in, 8));
		sqlite3_bind_blob(out, t->at + 1, four, sizeof(four), SQLITE_TRANSIENT);
	}
	if (t->how == UNPACK) {
		sqlite3_bind_null(out, t->at + 1);
		return bind_unpacked(in, out, t->at, err);
	}
	return 0;
}

static int copy_table(struct copy *c, const struct table *t, struct err *err)
{
	sqlite3_stmt *in = NULL, *out = NULL;
	int rc = 0, step = SQLITE_DONE;
	if (sqlite3_prepare_v2(c->from, t->select, -1, &in, NULL) != SQLITE_OK)
		rc = export_copy_failed(c->from, "read the session file", err);
	else if (sqlite3_prepare_v2(c->to, t->insert, -1, &out, NULL) != SQLITE_OK)
		rc = export_copy_failed(c->to, "write the bundle", err);
	while (rc == 0 && (step = sqlite3_step(in)) == SQLITE_ROW) {
		rc = bind_row(t, in, out, err);
		if (rc == 0 && sqlite3_step(out) != SQLITE_DONE)
			rc = export_copy_failed(c->to, "write the bundle", err);
		sqlite3_reset(out);
		sqlite3_clear_bindings(out);
	}
	if (rc == 0 && step != SQLITE_DONE)
		rc = export_copy_failed(c->from, "read the session file", err);
	sqlite3_finalize(in);
	sqlite3_finalize(out);
	return rc;
}

int export_copy_proof(const char *from, const char *to, struct err *err)
{
	struct copy c = { 0 };
	int rc = open_both(&c, from, to, err);
	/* one state of a session that may run */
	if (rc == 0)
		rc = export_copy_run(c.from, "BEGIN", err);
	if (rc == 0)
		rc = export_copy_run(c.to, "PRAGMA journal_mode = DELETE; BEGIN", err);
	if (rc == 0)
		rc = export_copy_run(c.to, export_copy_tables, err);
	for (size_t i = 0; rc == 0 && i < ARRAY_LEN(export_copy_list); i++)
		rc = copy_table(&c, &export_copy_list[i], err);
	if (rc == 0)
		rc = export_copy_run(c.to, "COMMIT", err);
	return close_both(&c, rc, err);
}
