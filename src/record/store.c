#include "record/store.h"

#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/failpoint.h"
#include "record/key.h"
#include "record/store_priv.h"
#include "record/vfs.h"

/* pages of the log that are moved when there is time; twice as many, when there is none */
enum { LOG_FRAMES = 2000 };

/* Rows of one statement: its cursors stay where they are, so only for the first of them the place
 * in the table and in its indexes is looked for. A row that fails takes the transaction with it, so
 * nothing is kept for taking back the others. */
#define EVENT_ROW    "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
#define EVENT_ROWS_4 EVENT_ROW ", " EVENT_ROW ", " EVENT_ROW ", " EVENT_ROW
enum { EVENT_COLUMNS = 12, EVENT_ROWS = 16 };

const char *const store_sql[SQL_NR] = {
	[SQL_BEGIN] = "BEGIN IMMEDIATE",
	[SQL_COMMIT] = "COMMIT",
	[SQL_ROLLBACK] = "ROLLBACK",
	[SQL_EVENT] =
		"INSERT INTO event(seq, cause, agent, box, action, ts_us, mono_us, kind, salt, body, body_hash, chain)"
		" VALUES" EVENT_ROW,
	[SQL_EVENTS] =
		("INSERT OR FAIL INTO event(seq, cause, agent, box, action, ts_us, mono_us, kind, salt, body, body_hash,"
		 " chain) VALUES" EVENT_ROWS_4 ", " EVENT_ROWS_4 ", " EVENT_ROWS_4
		 ", " EVENT_ROWS_4),
	[SQL_SEGMENT] =
		"INSERT INTO segment(segment, seq, action, stream, off, len, ts_us, times, salt, hash, codec, data)"
		" VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
	[SQL_OBJECT] =
		"INSERT INTO object(seq, oid, type, size, hash, codec, data) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)"
		" ON CONFLICT(oid) DO NOTHING",
	[SQL_MESSAGE] =
		"INSERT INTO message(hash, size, codec, data) VALUES(?1, ?2, ?3, ?4) ON CONFLICT(hash) DO NOTHING",
	[SQL_CHECKPOINT] =
		"INSERT INTO checkpoint(seq, ts_us, chain, key, sig) VALUES(?1, ?2, ?3, ?4, ?5)"
		" ON CONFLICT(seq) DO NOTHING",
	[SQL_MARK] =
		"INSERT INTO mark(name, value) VALUES(?1, ?2) ON CONFLICT(name) DO UPDATE SET value = excluded.value",
	[SQL_KIND] = "INSERT OR IGNORE INTO kind(number, name, doc) VALUES(?1, ?2, ?3)",
	[SQL_REDACTION] =
		"INSERT INTO redaction(what, id, seq) VALUES(?1, ?2, ?3) ON CONFLICT(what, id) DO NOTHING",
	[SQL_ERASE_EVENT] = "UPDATE event SET salt = NULL, body = NULL WHERE seq = ?1",
	[SQL_ERASE_SEGMENT] =
		"UPDATE segment SET salt = NULL, times = NULL, data = NULL WHERE segment = ?1",
	[SQL_ERASE_OBJECT] = "UPDATE object SET data = NULL WHERE object = ?1",
	[SQL_ERASE_MESSAGE] = "UPDATE message SET data = NULL WHERE message = ?1",
};

uint64_t store_seq(const struct store *s)
{
	return s->now.seq;
}

void store_note(const struct store *s, struct lease_note *out)
{
	out->seq = s->now.seq;
	vfs_log_end(s->db, &out->salt, &out->end);
}

const char *store_why(const struct store *s)
{
	return s->why;
}

enum store_rc store_failed(struct store *s, int rc)
{
	/* SQLite forgets the cause when a commit fails; the C library's errno is still that of the
	 * failed write */
	int sys = sqlite3_system_errno(s->db)	? sqlite3_system_errno(s->db)
		  : (rc & 0xff) == SQLITE_IOERR ? errno
						: 0;
	bool room =
		(rc & 0xff) == SQLITE_FULL ||
		((rc & 0xff) == SQLITE_IOERR && (sys == ENOSPC || sys == EDQUOT || sys == EFBIG));
	if (room) {
		snprintf(s->why, sizeof(s->why), "no space left for '%s' (%s); retrying", s->path,
			 sys == EDQUOT	? "quota"
			 : sys == EFBIG ? "file size limit"
					: "disk full");
		return STORE_RETRY;
	}
	if ((rc & 0xff) == SQLITE_BUSY || (rc & 0xff) == SQLITE_LOCKED) {
		snprintf(s->why, sizeof(s->why), "another program locks '%s'; retrying", s->path);
		return STORE_RETRY;
	}
	snprintf(s->why, sizeof(s->why), "can't write '%s': %s%s%s", s->path, sqlite3_errmsg(s->db),
		 sys ? ": " : "", sys ? strerrordesc_np(sys) : "");
	return STORE_FATAL;
}

/* Steps a statement that gives no rows. */
static enum store_rc store_run(struct store *s, enum sql which)
{
	sqlite3_stmt *st = s->stmt[which];
	errno = 0;
	int rc = sqlite3_step(st);
	enum store_rc result =
		rc == SQLITE_DONE || rc == SQLITE_ROW ? STORE_OK : store_failed(s, rc);
	sqlite3_reset(st);
	return result;
}

static void bind_int(sqlite3_stmt *st, int at, uint64_t v)
{
	sqlite3_bind_int64(st, at, (int64_t)v);
}

static void bind_bytes(sqlite3_stmt *st, int at, const void *p, size_t len)
{
	sqlite3_bind_blob64(st, at, len ? p : "", len, SQLITE_STATIC);
}

static void store_salt(struct store *s, uint8_t out[SALT_LEN])
{
	if (!s->salts_left) {
		random_bytes(s->salts, sizeof(s->salts));
		s->salts_left = sizeof(s->salts);
	}
	s->salts_left -= SALT_LEN;
	memcpy(out, s->salts + s->salts_left, SALT_LEN);
}

enum store_rc store_begin(struct store *s)
{
	s->before = s->now;
	s->changes = sqlite3_total_changes64(s->db);
	buf_reset(&s->anchor);
	return store_run(s, SQL_BEGIN);
}

struct proof {
	uint8_t salt[SALT_LEN];
	struct hash body, chain;
};

static void store_prove(struct store *s, const struct event *ev, struct proof *out)
{
	assert(ev->seq == s->now.seq + 1);
	store_salt(s, out->salt);
	chain_body(out->salt, ev->body, ev->len, &out->body);
	chain_step(&s->now.chain, ev, &out->body);
	out->chain = s->now.chain;
	s->now.seq = ev->seq;
}

/* @at: of the last parameter before it. */
static void bind_event(sqlite3_stmt *st, int at, const struct event *ev, const struct proof *p)
{
	bind_int(st, at + 1, ev->seq);
	bind_int(st, at + 2, ev->cause);
	bind_int(st, at + 3, ev->agent);
	bind_int(st, at + 4, ev->box);
	bind_int(st, at + 5, ev->action);
	sqlite3_bind_int64(st, at + 6, ev->ts_us);
	sqlite3_bind_int64(st, at + 7, ev->mono_us);
	sqlite3_bind_int(st, at + 8, ev->kind);
	bind_bytes(st, at + 9, p->salt, sizeof(p->salt));
	sqlite3_bind_text64(st, at + 10, ev->body, ev->len, SQLITE_STATIC, SQLITE_UTF8);
	bind_bytes(st, at + 11, p->body.b, HASH_LEN);
	bind_bytes(st, at + 12, p->chain.b, HASH_LEN);
}

/* As many as the statement has rows. */
static enum store_rc put_events(struct store *s, enum sql which, const struct event *const *ev,
				int nr)
{
	UNSET struct proof p[EVENT_ROWS];
	for (int i = 0; i < nr; i++) {
		store_prove(s, ev[i], &p[i]);
		bind_event(s->stmt[which], i * EVENT_COLUMNS, ev[i], &p[i]);
	}
	s->indexed = false;
	enum store_rc rc = store_kinds_note(s, ev, (size_t)nr);
	return rc == STORE_OK ? store_run(s, which) : rc;
}

enum store_rc store_events(struct store *s, const struct event *const *ev, size_t nr)
{
	enum store_rc rc = STORE_OK;
	for (; nr >= EVENT_ROWS && rc == STORE_OK; ev += EVENT_ROWS, nr -= EVENT_ROWS)
		rc = put_events(s, SQL_EVENTS, ev, EVENT_ROWS);
	for (; nr && rc == STORE_OK; ev++, nr--)
		rc = put_events(s, SQL_EVENT, ev, 1);
	return rc;
}

static enum store_rc store_put_event(struct store *s, const struct event *ev)
{
	return put_events(s, SQL_EVENT, &ev, 1);
}

/* The event with more fields at the end of its body. */
static enum store_rc event_with(struct store *s, const struct event *ev, const char *more)
{
	struct event full = *ev;
	buf_reset(&s->body);
	buf_append(&s->body, ev->body, ev->len - 1);
	if (ev->len > 2)
		buf_putc(&s->body, ',');
	buf_puts(&s->body, more);
	buf_putc(&s->body, '}');
	full.body = s->body.data;
	full.len = s->body.len;
	return store_put_event(s, &full);
}

enum store_rc store_segment(struct store *s, const struct event *ev,
			    const struct store_segment *seg)
{
	uint8_t salt[SALT_LEN];
	struct hash hash;
	CLEANUP(buf_release) struct buf more = BUF_INIT;
	enum codec codec = codec_pack(s->packer, seg->data.data, seg->data.len, &s->packed);
	uint64_t id = s->now.segment + 1;
	store_salt(s, salt);
	chain_segment(salt, seg->times.data, seg->times.len, s->packed.data, s->packed.len, &hash);
	buf_printf(&more,
		   "\"stream\":%d,\"off\":%" PRIu64 ",\"len\":%zu,\"segment\":%" PRIu64
		   ",\"hash\":\"",
		   seg->stream, seg->off, seg->data.len, id);
	hex_append(&more, hash.b, HASH_LEN);
	buf_putc(&more, '"');
	sqlite3_stmt *st = s->stmt[SQL_SEGMENT];
	bind_int(st, 1, id);
	bind_int(st, 2, ev->seq);
	bind_int(st, 3, ev->action);
	sqlite3_bind_int(st, 4, seg->stream);
	bind_int(st, 5, seg->off);
	bind_int(st, 6, seg->data.len);
	sqlite3_bind_int64(st, 7, seg->ts_us);
	bind_bytes(st, 8, seg->times.data, seg->times.len);
	bind_bytes(st, 9, salt, sizeof(salt));
	bind_bytes(st, 10, hash.b, HASH_LEN);
	sqlite3_bind_int(st, 11, (int)codec);
	bind_bytes(st, 12, s->packed.data, s->packed.len);
	s->now.segment = id;
	enum store_rc rc = store_run(s, SQL_SEGMENT);
	return rc == STORE_OK ? event_with(s, ev, more.data) : rc;
}

static int by_oid(const void *a, const void *b)
{
	const struct store_object *x = a, *y = b;
	return memcmp(&x->oid, &y->oid, sizeof(x->oid));
}

enum store_rc store_objects(struct store *s, const struct event *ev, struct store_object *o,
			    size_t nr)
{
	struct hash_ctx all;
	struct hash hash;
	size_t added = 0;
	if (nr)
		qsort(o, nr, sizeof(*o), by_oid);
	hash_begin(&all);
	for (size_t i = 0; i < nr; i++) {
		sqlite3_stmt *st = s->stmt[SQL_OBJECT];
		bind_int(st, 1, ev->seq);
		bind_bytes(st, 2, o[i].oid.b, sizeof(o[i].oid.b));
		sqlite3_bind_int(st, 3, (int)o[i].type);
		bind_int(st, 4, o[i].size);
		bind_bytes(st, 5, o[i].hash.b, HASH_LEN);
		sqlite3_bind_int(st, 6, (int)o[i].codec);
		bind_bytes(st, 7, o[i].data, o[i].len);
		enum store_rc rc = store_run(s, SQL_OBJECT);
		if (rc != STORE_OK)
			return rc;
		if (!sqlite3_changes(s->db))
			continue;
		added++;
		hash_add(&all, o[i].oid.b, sizeof(o[i].oid.b));
		hash_add(&all, o[i].hash.b, HASH_LEN);
	}
	hash_end(&all, &hash);
	CLEANUP(buf_release) struct buf more = BUF_INIT;
	buf_printf(&more, "\"objects\":%zu,\"objects_hash\":\"", added);
	hex_append(&more, hash.b, HASH_LEN);
	buf_putc(&more, '"');
	return event_with(s, ev, more.data);
}

enum store_rc store_message(struct store *s, const struct hash *id, const void *bytes, size_t len,
			    bool plain)
{
	sqlite3_stmt *st = s->stmt[SQL_MESSAGE];
	enum codec codec = plain ? CODEC_RAW : codec_pack(s->packer, bytes, len, &s->packed);
	bind_bytes(st, 1, id->b, HASH_LEN);
	bind_int(st, 2, len);
	sqlite3_bind_int(st, 3, (int)codec);
	bind_bytes(st, 4, plain ? bytes : s->packed.data, plain ? len : s->packed.len);
	return store_run(s, SQL_MESSAGE);
}

static uint64_t segment_event(struct store *s, uint64_t segment)
{
	sqlite3_stmt *st;
	uint64_t seq = 0;
	if (sqlite3_prepare_v2(s->db, "SELECT seq FROM segment WHERE segment = ?1", -1, &st,
			       NULL) == SQLITE_OK) {
		bind_int(st, 1, segment);
		if (sqlite3_step(st) == SQLITE_ROW)
			seq = (uint64_t)sqlite3_column_int64(st, 0);
	}
	sqlite3_finalize(st);
	return seq;
}

enum store_rc store_redact(struct store *s, const struct event *ev, const struct store_redact *r)
{
	static const struct {
		const char *what;
		enum sql erase;
	} table[] = { { "event", SQL_ERASE_EVENT },
		      { "segment", SQL_ERASE_SEGMENT },
		      { "object", SQL_ERASE_OBJECT },
		      { "message", SQL_ERASE_MESSAGE } };
	enum store_rc rc = STORE_OK;
	if (!strcmp(r->what, "event"))
		rc = index_forget(s, r->id);
	else if (!strcmp(r->what, "segment"))
		rc = index_forget(s, segment_event(s, r->id));
	if (rc == STORE_OK)
		rc = store_put_event(s, ev);
	if (rc == STORE_OK) {
		sqlite3_stmt *st = s->stmt[SQL_REDACTION];
		sqlite3_bind_text(st, 1, r->what, -1, SQLITE_STATIC);
		bind_int(st, 2, r->id);
		bind_int(st, 3, ev->seq);
		rc = store_run(s, SQL_REDACTION);
	}
	for (size_t i = 0; rc == STORE_OK && i < ARRAY_LEN(table); i++)
		if (!strcmp(table[i].what, r->what)) {
			bind_int(s->stmt[table[i].erase], 1, r->id);
			rc = store_run(s, table[i].erase);
		}
	return rc == STORE_OK && !strcmp(r->what, "event") ? index_again(s, r->id) : rc;
}

enum store_rc store_checkpoint(struct store *s)
{
	uint8_t sig[SIGN_LEN];
	if (s->now.seq == s->now.signed_seq)
		return STORE_OK;
	int64_t ts_us = clock_wall_us();
	buf_reset(&s->body);
	chain_checkpoint(s->uuid, s->now.seq, &s->now.chain, ts_us, &s->body);
	sign_make(s->seed, s->body.data, s->body.len, sig);
	sqlite3_stmt *st = s->stmt[SQL_CHECKPOINT];
	bind_int(st, 1, s->now.seq);
	sqlite3_bind_int64(st, 2, ts_us);
	bind_bytes(st, 3, s->now.chain.b, HASH_LEN);
	bind_bytes(st, 4, s->key, sizeof(s->key));
	bind_bytes(st, 5, sig, sizeof(sig));
	s->now.signed_seq = s->now.seq;
	s->now.signed_us = clock_mono_us();
	anchor_line(&s->anchor, s->uuid, s->now.seq, &s->now.chain, ts_us, s->key, sig);
	return store_run(s, SQL_CHECKPOINT);
}

enum store_rc store_commit_now(struct store *s, bool full)
{
	vfs_relax(s->db, !full);
	enum store_rc rc = store_run(s, SQL_COMMIT);
	vfs_relax(s->db, false);
	return rc;
}

/* A commit that changes no page would not sync. */
static enum store_rc mark_durable(struct store *s)
{
	sqlite3_bind_text(s->stmt[SQL_MARK], 1, "durable", -1, SQLITE_STATIC);
	bind_int(s->stmt[SQL_MARK], 2, s->now.seq);
	return store_run(s, SQL_MARK);
}

enum store_rc store_commit(struct store *s, bool full)
{
	/* signed: every 1,000 events, but in a flood not more often than four times a second */
	bool due = s->now.seq - s->now.signed_seq >= 1000 &&
		   clock_mono_us() - s->now.signed_us >= 250000;
	enum store_rc rc = due ? store_checkpoint(s) : STORE_OK;
	full |= s->anchor.len > 0; /* what an anchor names must be durable */
	if (rc == STORE_OK && full && sqlite3_total_changes64(s->db) == s->changes)
		rc = mark_durable(s);
	failpoint_hit("record-before-commit");
	if (rc == STORE_OK)
		rc = store_commit_now(s, full);
	failpoint_hit("record-after-commit");
	if (rc == STORE_OK && s->anchor.len && !s->unanchored)
		anchor_append(s->anchor.data, s->anchor.len);
	return rc;
}

void store_unanchored(struct store *s)
{
	s->unanchored = true;
}

void store_rollback(struct store *s)
{
	for (size_t i = 0; i < SQL_NR; i++)
		sqlite3_reset(s->stmt[i]);
	if (!sqlite3_get_autocommit(s->db)) /* some failures roll back by themselves */
		sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
	s->now = s->before;
	memset(s->kinds, 0, sizeof(s->kinds));
}

/* How many frames the log has after a commit. */
int store_on_log(void *self, sqlite3 *db, const char *name, int frames)
{
	struct store *s = self;
	(void)db;
	(void)name;
	s->frames = frames;
	return SQLITE_OK;
}

/* In a transaction, which nobody waits for: no other program writes there meanwhile. */
static void lengthen_log(struct store *s)
{
	if (store_run(s, SQL_BEGIN) != STORE_OK) {
		s->why[0] = 0; /* nothing is retried: another time will do */
		return;
	}
	vfs_log_grow(s->db);
	(void)store_run(s, SQL_ROLLBACK);
}

void store_tidy(struct store *s, bool busy)
{
	vfs_catch_up(s->db);
	if (s->frames < LOG_FRAMES && !busy && vfs_log_is_short(s->db))
		lengthen_log(s);
	if (s->frames < (busy ? 2 * LOG_FRAMES : LOG_FRAMES))
		return;
	int log = 0, moved = 0;
	int rc = sqlite3_wal_checkpoint_v2(s->db, NULL, SQLITE_CHECKPOINT_PASSIVE, &log, &moved);
	/* else a reader is in the way: the next call tries again */
	if (rc == SQLITE_OK && moved == log)
		s->frames = 0;
}

void store_rest(struct store *s)
{
	sqlite3_db_release_memory(s->db);
	malloc_trim(0);
}
