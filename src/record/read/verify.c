#include "record/read/verify.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "record/read/verify_priv.h"

void verify_say(struct verify *v, const char *name, enum verify_result result, uint64_t seq,
		const char *fmt, ...)
{
	char text[400];
	va_list ap;
	if (session_stopped(v->s)) /* what was not looked at to its end has no verdict */
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	switch (result) {
	case VERIFY_OK:
		v->totals->ok++;
		break;
	case VERIFY_FAIL:
		v->totals->failed++;
		if (seq && (!v->totals->first_bad || seq < v->totals->first_bad))
			v->totals->first_bad = seq;
		break;
	case VERIFY_SKIP:
		v->totals->skipped++;
		break;
	}
	if (v->report)
		v->report(v->self, name, result, text, seq);
}

sqlite3_stmt *verify_sql(struct verify *v, const char *sql, struct err *err)
{
	sqlite3_stmt *st;
	if (sqlite3_prepare_v2(v->s->db, sql, -1, &st, NULL) == SQLITE_OK)
		return st;
	session_failed(v->s, err);
	return NULL;
}

bool verify_hash_column(sqlite3_stmt *st, int at, struct hash *out)
{
	const void *p = sqlite3_column_blob(st, at);
	if (!p || sqlite3_column_bytes(st, at) != HASH_LEN)
		return false;
	memcpy(out->b, p, HASH_LEN);
	return true;
}

bool verify_row(struct verify *v, sqlite3_stmt *st)
{
	return !session_stopped(v->s) && sqlite3_step(st) == SQLITE_ROW;
}

bool verify_end(struct verify *v, sqlite3_stmt *st, const char *name, const char *fmt, ...)
{
	char place[120];
	va_list ap;
	if (sqlite3_finalize(st) == SQLITE_OK) /* also when it was left before its last row */
		return true;
	va_start(ap, fmt);
	vsnprintf(place, sizeof(place), fmt, ap);
	va_end(ap);
	verify_say(v, name, VERIFY_FAIL, 0, "unreadable after %s: %s", place,
		   v->s->endless ? "it took longer than a file of this size needs"
				 : sqlite3_errmsg(v->s->db));
	return false;
}

bool verify_chain_at(struct verify *v, uint64_t seq, struct hash *out)
{
	struct err err;
	if (!seq) {
		session_chain_start(v->s, out);
		return true;
	}
	sqlite3_stmt *st = verify_sql(v, "SELECT chain FROM event WHERE seq = ?1", &err);
	if (!st)
		return false;
	sqlite3_bind_int64(st, 1, (int64_t)seq);
	bool found = sqlite3_step(st) == SQLITE_ROW && verify_hash_column(st, 0, out);
	sqlite3_finalize(st);
	return found;
}

int verify_names(struct verify *v, uint64_t seq, const char *field, const struct hash *hash)
{
	struct event ev;
	struct err err;
	struct arena arena = ARENA_INIT;
	CLEANUP(buf_release) struct buf hex = BUF_INIT;
	int result = 0;
	if (session_event(v->s, seq, &ev, &arena, &err) == 0) {
		hex_append(&hex, hash->b, HASH_LEN);
		CLEANUP(json_release)
		json_t *body = ev.body ? json_parse(ev.body, ev.len, "event", &err) : NULL;
		result = !ev.body ? -1 : body && !strcmp(json_str(body, field, ""), hex.data);
	}
	arena_release(&arena);
	return result;
}

/* One row against the chain so far. Returns what is wrong, NULL = nothing. */
static const char *check_row(sqlite3_stmt *st, uint64_t expect, struct hash *chain,
			     struct event *ev, bool *redacted)
{
	struct hash body_hash, stored, body;
	const void *salt = sqlite3_column_blob(st, 9);
	if (ev->seq != expect)
		return ev->seq > expect ? "events are missing before it"
					: "its number is used twice";
	if (!verify_hash_column(st, 10, &body_hash) || !verify_hash_column(st, 11, &stored))
		return "its hashes are malformed";
	*redacted = !ev->body && !salt;
	if (!*redacted) {
		if (!ev->body || !salt || sqlite3_column_bytes(st, 9) != SALT_LEN)
			return "it is partly removed";
		chain_body(salt, ev->body, ev->len, &body);
		if (!hash_eq(&body, &body_hash))
			return "its body doesn't match its hash";
	}
	chain_step(chain, ev, &body_hash);
	return hash_eq(chain, &stored) ? NULL
				       : "its chain hash doesn't follow from the previous event";
}

/* The pass over all events after @from, whose chain is @chain. @see: gather for the other
 * checks. */
static int verify_walk(struct verify *v, uint64_t from, struct hash chain, bool see,
		       const char **why, uint64_t *bad, struct err *err)
{
	sqlite3_stmt *st = verify_sql(v,
				      "SELECT " READ_EVENT_COLUMNS
				      ", salt, body_hash, chain FROM event WHERE seq > ?1"
				      " ORDER BY seq",
				      err);
	if (!st)
		return -1;
	sqlite3_bind_int64(st, 1, (int64_t)from);
	struct arena arena = ARENA_INIT;
	int rc;
	*why = NULL;
	v->head = from;
	while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
		struct event ev;
		bool redacted = false;
		arena_reset(&arena);
		struct err range = ERR_INIT;
		bool ranged = session_row(st, &ev, &arena, &range);
		const char *wrong = *why     ? NULL
				    : ranged ? check_row(st, v->head + 1, &chain, &ev, &redacted)
					     : "one of its numbers is out of range";
		if (wrong) {
			*why = wrong;
			*bad = ev.seq > v->head + 1 ? v->head + 1 : ev.seq;
			if (!see)
				break;
		}
		if (see)
			verify_see(v, &ev);
		v->head = ev.seq;
		v->totals->events++;
		v->totals->redacted += redacted;
	}
	arena_release(&arena);
	bool read = rc == SQLITE_DONE || rc == SQLITE_ROW;
	if (!read) {
		session_failed(v->s, err);
		err_wrap(err, "after event %" PRIu64, v->head);
	}
	sqlite3_finalize(st);
	return read ? 0 : -1;
}

static int verify_chain(struct verify *v, struct err *err)
{
	struct hash start;
	const char *why;
	uint64_t bad = 0;
	session_chain_start(v->s, &start);
	if (verify_walk(v, 0, start, true, &why, &bad, err) < 0)
		return -1;
	if (why)
		verify_say(v, "chain", VERIFY_FAIL, bad, "event %" PRIu64 ": %s", bad, why);
	else
		verify_say(v, "chain", VERIFY_OK, 0, "%" PRIu64 " %s, chain intact%s",
			   VERIFY_NR(v->totals->events, "event", "events"),
			   v->totals->redacted ? ", some bodies redacted" : "");
	return 0;
}

static void verify_finish(struct verify *v)
{
	free(v->key);
	free(v->action);
}

int verify_session(struct session *s, const struct verify_opts *opts, verify_report_fn *report,
		   void *self, struct verify_totals *totals, struct err *err)
{
	static const struct {
		int (*fn)(struct verify *, struct err *);
		const char *content; /* name of one that reads what is not in events; NULL */
	} check[] = {
		{ verify_bytes, "bytes" },     { verify_pages, "pages" },
		{ verify_chain, NULL },	       { verify_signatures, NULL },
		{ verify_anchor, NULL },       { verify_segments, "segments" },
		{ verify_objects, "objects" }, { verify_messages, "messages" },
		{ verify_order, NULL },	       { verify_closed, NULL },
		{ verify_complete, NULL },     { verify_redactions, NULL },
	};
	static const struct verify_opts none;
	struct verify v = { .s = s,
			    .opts = opts ? opts : &none,
			    .report = report,
			    .self = self,
			    .totals = totals };
	*totals = (struct verify_totals){ 0 };
	/* one transaction, unless that would keep a writer's WAL from being emptied */
	bool whole = !session_live(s);
	if (whole)
		sqlite3_exec(s->db, "BEGIN", NULL, NULL, NULL);
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < ARRAY_LEN(check) && !session_stopped(s); i++) {
		if (check[i].content && v.opts->quick)
			verify_say(&v, check[i].content, VERIFY_SKIP, 0, "not checked (--quick)");
		else
			rc = check[i].fn(&v, err);
	}
	if (session_stopped(s))
		rc = err_set(err, ERR_CANCELLED, "stopped");
	if (whole)
		sqlite3_exec(s->db, "COMMIT", NULL, NULL, NULL);
	verify_finish(&v);
	return rc;
}

struct first_failure {
	char text[300];
};

static void keep_failure(void *self, const char *name, enum verify_result result, const char *text,
			 uint64_t seq)
{
	struct first_failure *f = self;
	(void)seq;
	if (result == VERIFY_FAIL && !f->text[0])
		snprintf(f->text, sizeof(f->text), "%s: %s", name, text);
}

int verify_tail(struct session *s, struct err *err)
{
	static const struct verify_opts none;
	struct verify_totals totals = { 0 };
	struct first_failure failure = { "" };
	struct verify v = {
		.s = s, .opts = &none, .report = keep_failure, .self = &failure, .totals = &totals
	};
	struct hash chain;
	const char *why = NULL;
	uint64_t from = 0, bad = 0;
	sqlite3_stmt *st = verify_sql(&v, "SELECT max(seq) FROM checkpoint", err);
	if (!st)
		return -1;
	if (sqlite3_step(st) == SQLITE_ROW)
		from = (uint64_t)sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	if (!verify_chain_at(&v, from, &chain))
		return err_set(err, ERR_DAMAGED,
			       "session file '%s' ends before event %" PRIu64 ", which was signed",
			       s->path, from);
	int rc = verify_walk(&v, from, chain, false, &why, &bad, err);
	if (rc == 0 && why)
		rc = err_set(err, ERR_DAMAGED,
			     "session file '%s' is damaged: event %" PRIu64 ": %s", s->path, bad,
			     why);
	if (rc == 0)
		rc = verify_anchor(&v, err);
	if (rc == 0 && failure.text[0])
		rc = err_set(err, ERR_DAMAGED, "session file '%s' is not intact: %s", s->path,
			     failure.text);
	verify_finish(&v);
	return rc;
}
