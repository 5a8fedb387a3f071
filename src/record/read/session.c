#include "record/read/session.h"

#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "record/read/read_priv.h"
#include "record/read/lease.h"

static const char *const read_session_sql[READ_SQL_NR] = {
	[READ_HEAD] = "SELECT max(seq) FROM event",
	[READ_EVENT] = "SELECT " READ_EVENT_COLUMNS " FROM event WHERE seq = ?1",
	[READ_SIZE] =
		"SELECT off + len FROM segment WHERE action = ?1 AND stream = ?2 ORDER BY off DESC LIMIT 1",
	[READ_OUTPUT] =
		("SELECT off, len, codec, data FROM segment WHERE action = ?1 AND stream = ?2 AND off < ?4"
		 " AND off >= ifnull((SELECT max(off) FROM segment WHERE action = ?1 AND stream = ?2 AND off <= ?3), 0)"
		 " ORDER BY off"),
	[READ_EACH] =
		"SELECT stream, len, ts_us, times, codec, data FROM segment WHERE action = ?1 AND stream = ?2"
		" AND off >= ?3 ORDER BY off LIMIT 1",
	[READ_OBJECT] = "SELECT type, size, codec, data FROM object WHERE oid = ?1",
	[READ_MESSAGE] = "SELECT size, codec, data, message FROM message WHERE hash = ?1",
	[READ_HEADERS] =
		"SELECT seq, agent, action, ts_us, kind FROM event WHERE seq > ?1 ORDER BY seq LIMIT ?2",
	/* "agent > 0" lets it use the index; bounded so, it also begins in the right place there */
	[READ_NEXT_AGENT] =
		"SELECT agent FROM event WHERE agent > 0 AND agent BETWEEN ?1 + 1 AND 9223372036854775807"
		" ORDER BY agent LIMIT 1",
	[READ_AGENT_FIRST] =
		"SELECT seq FROM event WHERE agent > 0 AND agent = ?1 ORDER BY seq LIMIT ?2",
	[READ_AGENT_LAST] = "SELECT seq FROM event WHERE agent > 0 AND agent = ?1 AND seq <= ?2"
			    " ORDER BY seq DESC LIMIT ?3",
	[READ_STEPS] = "SELECT " READ_EVENT_COLUMNS
		       " FROM event WHERE action = ?1 AND action > 0 AND kind BETWEEN 101 AND 109"
		       " ORDER BY seq",
	[READ_SEGMENT] =
		"SELECT stream, len, ts_us, times, codec, data FROM segment WHERE segment = ?1",
};

int session_failed(struct session *s, struct err *err)
{
	int rc = sqlite3_errcode(s->db);
	enum err_code code = ERR_IO;
	if (rc == SQLITE_INTERRUPT && s->endless)
		return err_set(
			err, ERR_DAMAGED,
			"session file '%s' is damaged: a query took longer than a file of this size needs",
			s->path);
	if ((rc & 0xff) == SQLITE_CORRUPT || (rc & 0xff) == SQLITE_NOTADB)
		code = ERR_DAMAGED;
	else if ((rc & 0xff) == SQLITE_BUSY)
		code = ERR_BUSY;
	return err_set(err, code, "can't read session file '%s': %s", s->path,
		       sqlite3_errmsg(s->db));
}

sqlite3_stmt *session_sql(struct session *s, enum read_sql which, struct err *err)
{
	if (!s->stmt[which] &&
	    sqlite3_prepare_v3(s->db, read_session_sql[which], -1, SQLITE_PREPARE_PERSISTENT,
			       &s->stmt[which], NULL) != SQLITE_OK) {
		session_failed(s, err);
		return NULL;
	}
	return s->stmt[which];
}

const char *session_path(const struct session *s)
{
	return s->path;
}

const uint8_t *session_key(const struct session *s)
{
	return s->key;
}

const char *session_id(const struct session *s)
{
	return s->id;
}

int session_end(struct session *s, struct session_end *out, struct err *err)
{
	sqlite3_stmt *st;
	if (sqlite3_prepare_v2(s->db, "SELECT seq, chain FROM event ORDER BY seq DESC LIMIT 1", -1,
			       &st, NULL) != SQLITE_OK)
		return session_failed(s, err);
	int rc = sqlite3_step(st);
	out->seq = 0;
	memcpy(out->uuid, s->uuid, UUID_LEN);
	session_chain_start(s, &out->chain);
	if (rc == SQLITE_ROW && sqlite3_column_bytes(st, 1) == HASH_LEN) {
		out->seq = (uint64_t)sqlite3_column_int64(st, 0);
		memcpy(out->chain.b, sqlite3_column_blob(st, 1), HASH_LEN);
	}
	bool good = rc == SQLITE_ROW || rc == SQLITE_DONE;
	int failed = good ? 0 : session_failed(s, err);
	sqlite3_finalize(st);
	return failed;
}

const char *session_name(const struct session *s)
{
	return s->name;
}

bool session_live(struct session *s)
{
	return lease_held(s->path);
}

void *session_handle(struct session *s)
{
	return s->db;
}

void session_hold(struct session *s)
{
	sqlite3_exec(s->db, "BEGIN", NULL, NULL, NULL);
}

void session_let_go(struct session *s)
{
	sqlite3_exec(s->db, "COMMIT", NULL, NULL, NULL);
}

uint64_t session_head(struct session *s)
{
	struct err err;
	sqlite3_stmt *st = session_sql(s, READ_HEAD, &err);
	uint64_t head = 0;
	if (st && sqlite3_step(st) == SQLITE_ROW && sqlite3_column_int64(st, 0) > 0)
		head = (uint64_t)sqlite3_column_int64(st, 0);
	if (st)
		sqlite3_reset(st);
	return head;
}

bool session_row(sqlite3_stmt *st, struct event *ev, struct arena *arena, struct err *err)
{
	int64_t least = 0, kind = sqlite3_column_int64(st, 7);
	for (int i = 0; i < 7; i++) {
		int64_t v = sqlite3_column_int64(st, i);
		least = v < least ? v : least;
	}
	const char *body = (const char *)sqlite3_column_text(st, 8);
	size_t len = (size_t)sqlite3_column_bytes(st, 8);
	*ev = (struct event){
		.seq = (uint64_t)sqlite3_column_int64(st, 0),
		.cause = (uint64_t)sqlite3_column_int64(st, 1),
		.agent = (uint64_t)sqlite3_column_int64(st, 2),
		.box = (uint64_t)sqlite3_column_int64(st, 3),
		.action = (uint64_t)sqlite3_column_int64(st, 4),
		.ts_us = sqlite3_column_int64(st, 5),
		.mono_us = sqlite3_column_int64(st, 6),
		.kind = (uint16_t)sqlite3_column_int(st, 7),
		.body = body ? arena_strndup(arena, body, len) : NULL,
		.len = body ? len : 0,
	};
	if (least >= 0 && kind >= 0 && kind <= UINT16_MAX)
		return true;
	err_set(err, ERR_DAMAGED, "event %" PRId64 " has a number out of range",
		(int64_t)sqlite3_column_int64(st, 0));
	return false;
}

int session_event(struct session *s, uint64_t seq, struct event *ev, struct arena *arena,
		  struct err *err)
{
	sqlite3_stmt *st = session_sql(s, READ_EVENT, err);
	if (!st)
		return -1;
	sqlite3_bind_int64(st, 1, (int64_t)seq);
	int rc = sqlite3_step(st);
	bool good = rc == SQLITE_ROW && session_row(st, ev, arena, err);
	if (rc == SQLITE_ROW)
		;
	else if (rc == SQLITE_DONE)
		err_set(err, ERR_NOENT, "session '%s' has no event #%" PRIu64, s->id, seq);
	else
		session_failed(s, err);
	sqlite3_reset(st);
	return good ? 0 : -1;
}

int session_steps(struct session *s, uint64_t action, session_step_fn *fn, void *self,
		  struct err *err)
{
	sqlite3_stmt *st = session_sql(s, READ_STEPS, err);
	int rc;
	if (!st)
		return -1;
	sqlite3_bind_int64(st, 1, (sqlite3_int64)action);
	bool good = true;
	while (good && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		struct arena arena = ARENA_INIT;
		struct event ev;
		good = session_row(st, &ev, &arena, err);
		if (good)
			fn(self, &ev);
		arena_release(&arena);
	}
	if (good && rc != SQLITE_DONE)
		session_failed(s, err);
	sqlite3_reset(st);
	return rc == SQLITE_DONE ? 0 : -1;
}

/* A number that counts bytes: none of ours has more in one piece. false: ERR_DAMAGED. */
bool bytes_column(sqlite3_stmt *st, int at, size_t *out, struct err *err)
{
	int64_t n = sqlite3_column_int64(st, at);
	*out = (size_t)n;
	return (n >= 0 && n <= CODEC_MAX) ||
	       err_set(err, ERR_DAMAGED, "stored bytes have a length out of range: %" PRId64, n) ==
		       0;
}

/* Unpacks columns @at (codec) and @at + 1 (data) of the row; -1 with ERR_CANCELLED when
 * redacted. */
int read_session_unpack(sqlite3_stmt *st, int at, size_t size, struct buf *out, struct err *err)
{
	if (sqlite3_column_type(st, at + 1) == SQLITE_NULL)
		return err_set(err, ERR_CANCELLED, "redacted");
	return codec_unpack((enum codec)sqlite3_column_int(st, at), sqlite3_column_blob(st, at + 1),
			    (size_t)sqlite3_column_bytes(st, at + 1), size, out, err);
}

int session_object(struct session *s, const struct object_id *id, enum object_type *type_out,
		   struct buf *out, struct err *err)
{
	sqlite3_stmt *st = session_sql(s, READ_OBJECT, err);
	if (!st)
		return -1;
	sqlite3_bind_blob(st, 1, id->b, sizeof(id->b), SQLITE_STATIC);
	int rc = sqlite3_step(st), result = -1;
	buf_reset(out);
	if (rc == SQLITE_ROW) {
		enum object_type type = (enum object_type)sqlite3_column_int(st, 0);
		result = read_session_unpack(st, 2, (size_t)sqlite3_column_int64(st, 1), out, err);
		if (result == 0 && type_out)
			*type_out = type;
	} else if (rc == SQLITE_DONE) {
		char hex[41];
		object_hex(id, hex);
		err_set(err, ERR_NOENT, "session '%s' has no object %s", s->id, hex);
	} else {
		session_failed(s, err);
	}
	sqlite3_reset(st);
	return result;
}

int64_t session_object_size(struct session *s, const struct object_id *id)
{
	struct err err = ERR_INIT;
	sqlite3_stmt *st = session_sql(s, READ_OBJECT, &err);
	if (!st)
		return -1;
	sqlite3_bind_blob(st, 1, id->b, sizeof(id->b), SQLITE_STATIC);
	int64_t size = sqlite3_step(st) == SQLITE_ROW ? sqlite3_column_int64(st, 1) : -1;
	sqlite3_reset(st);
	return size;
}

int session_message(struct session *s, const struct hash *id, struct buf *out, struct err *err)
{
	int64_t row;
	return session_message_row(s, id, &row, out, err);
}

int session_message_row(struct session *s, const struct hash *id, int64_t *row_out, struct buf *out,
			struct err *err)
{
	sqlite3_stmt *st = session_sql(s, READ_MESSAGE, err);
	if (!st)
		return -1;
	sqlite3_bind_blob(st, 1, id->b, HASH_LEN, SQLITE_STATIC);
	int rc = sqlite3_step(st), result = -1;
	buf_reset(out);
	if (rc == SQLITE_ROW) {
		*row_out = sqlite3_column_int64(st, 3);
		result = read_session_unpack(st, 1, (size_t)sqlite3_column_int64(st, 0), out, err);
	} else if (rc == SQLITE_DONE)
		err_set(err, ERR_NOENT, "session '%s' has no such message", s->id);
	else
		session_failed(s, err);
	sqlite3_reset(st);
	return result;
}

uint64_t session_row_of(struct session *s, const char *what, uint64_t id,
			const struct object_id *oid)
{
	static const struct {
		const char *what, *sql;
	} table[] = { { "event", "SELECT seq FROM event WHERE seq = ?1" },
		      { "segment", "SELECT segment FROM segment WHERE segment = ?1" },
		      { "message", "SELECT message FROM message WHERE message = ?1" },
		      { "object", "SELECT object FROM object WHERE oid = ?1" } };
	sqlite3_stmt *st = NULL;
	uint64_t row = 0;
	for (size_t i = 0; i < ARRAY_LEN(table); i++)
		if (!strcmp(table[i].what, what) &&
		    sqlite3_prepare_v2(s->db, table[i].sql, -1, &st, NULL) == SQLITE_OK) {
			if (!strcmp(what, "object"))
				sqlite3_bind_blob(st, 1, oid ? oid->b : NULL,
						  oid ? (int)sizeof(oid->b) : 0, SQLITE_STATIC);
			else
				sqlite3_bind_int64(st, 1, (int64_t)id);
			if (sqlite3_step(st) == SQLITE_ROW)
				row = (uint64_t)sqlite3_column_int64(st, 0);
		}
	sqlite3_finalize(st);
	return row;
}

int session_segments(struct session *s, uint64_t action, uint64_t after, uint64_t *row, size_t max,
		     size_t *nr_out, struct err *err)
{
	static const char text[] =
		"SELECT segment FROM segment WHERE action = ?1 AND segment > ?2 ORDER BY segment LIMIT ?3";
	sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(s->db, text, -1, &st, NULL);
	*nr_out = 0;
	if (rc == SQLITE_OK) {
		sqlite3_bind_int64(st, 1, (int64_t)action);
		sqlite3_bind_int64(st, 2, (int64_t)after);
		sqlite3_bind_int64(st, 3, (int64_t)max);
		while ((rc = sqlite3_step(st)) == SQLITE_ROW)
			row[(*nr_out)++] = (uint64_t)sqlite3_column_int64(st, 0);
	}
	int result = rc == SQLITE_DONE ? 0 : session_failed(s, err);
	sqlite3_finalize(st);
	return result;
}
