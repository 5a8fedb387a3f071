/* glass_noted(seq, mark): does this event have a note (mark 1: a bookmark)? A note names its event
 * by cause, for which no index exists: the notes of a file are listed once per connection, then
 * only new ones. */
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "query/filter_priv.h"
#include "record/read/values.h"

struct noted {
	uint64_t *on; /* events, times two; plus one: by a mark. Ascending, once it is looked at */
	size_t nr, cap;
	uint64_t upto;
};

static void noted_free(void *self)
{
	struct noted *n = self;
	free(n->on);
	free(n);
}

static int noted_compare(const void *x, const void *y)
{
	const uint64_t *a = x, *b = y;
	return (*a > *b) - (*a < *b);
}

enum { LATELY = 256 };

struct listing {
	struct noted *n;
	struct buf odd; /* events that the blocks do not cover: uint64_t */
	/* recently reported, plus one: a script's notes are about its few agents */
	int64_t lately[LATELY];
};

static void noted_add(struct noted *n, uint64_t on, bool mark)
{
	if (!on)
		return;
	GROW(n->on, n->nr, n->cap);
	n->on[n->nr++] = on * 2 + mark;
}

static void noted_on_value(void *self, uint64_t seq, int64_t on, bool odd)
{
	struct listing *l = self;
	int64_t *lately = &l->lately[(uint64_t)on % LATELY];
	if (seq <= l->n->upto)
		return;
	if (odd) {
		buf_append(&l->odd, &seq, sizeof(seq));
		return;
	}
	if (*lately != on + 1)
		noted_add(l->n, (uint64_t)on / 2, on & 1);
	*lately = on + 1;
}

static bool noted_read_notes(struct noted *n, sqlite3_stmt *st, uint64_t from, uint64_t to)
{
	int rc;
	sqlite3_bind_int64(st, 1, (sqlite3_int64)from);
	sqlite3_bind_int64(st, 2, (sqlite3_int64)to);
	while ((rc = sqlite3_step(st)) == SQLITE_ROW)
		noted_add(n, (uint64_t)sqlite3_column_int64(st, 0), sqlite3_column_int(st, 1));
	sqlite3_reset(st);
	return rc == SQLITE_DONE;
}

/* Up to @upto: by the blocks, and where they do not tell by the events. */
static bool list_notes(struct noted *n, sqlite3 *db, uint64_t upto)
{
	static const char sql[] =
		"SELECT cause, CASE WHEN json_valid(body) THEN ifnull(json_extract(body,'$.level')='mark',0) ELSE 0 END "
		"FROM event NOT INDEXED WHERE kind=420 AND seq>=?1 AND seq<=?2";
	struct listing l = { .n = n };
	struct values v;
	struct err err;
	sqlite3_stmt *st = NULL;
	values_init(&v, db);
	bool good = sqlite3_prepare_v2(db, sql, -1, &st, NULL) == SQLITE_OK &&
		    values_each(&v, VALUE_NOTED, n->upto, v.covered, INT64_MIN, INT64_MAX,
				noted_on_value, &l, &err) == 0;
	for (size_t at = 0; good && at < l.odd.len; at += sizeof(uint64_t)) {
		uint64_t seq;
		memcpy(&seq, l.odd.data + at, sizeof(seq));
		good = noted_read_notes(n, st, seq, seq);
	}
	good = good &&
	       noted_read_notes(n, st, (n->upto > v.covered ? n->upto : v.covered) + 1, upto);
	sqlite3_finalize(st);
	values_release(&v);
	buf_release(&l.odd);
	return good;
}

/* The events of the file after n->upto. False: unreadable. */
static bool noted_look(struct noted *n, sqlite3 *db)
{
	sqlite3_stmt *st = NULL;
	uint64_t upto = n->upto;
	bool read =
		sqlite3_prepare_v2(db, "SELECT max(seq) FROM event", -1, &st, NULL) == SQLITE_OK &&
		sqlite3_step(st) == SQLITE_ROW;
	if (read)
		upto = (uint64_t)sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	if (read && upto > n->upto) {
		read = list_notes(n, db, upto);
		n->upto = read ? upto : n->upto;
		if (n->nr > 1)
			qsort(n->on, n->nr, sizeof(*n->on), noted_compare);
	}
	return read;
}

static bool noted_has(const struct noted *n, uint64_t value)
{
	return n->nr > 0 && bsearch(&value, n->on, n->nr, sizeof(*n->on), noted_compare);
}

static void sql_noted(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	struct noted *n = sqlite3_user_data(ctx);
	(void)argc;
	/* once a statement: the second argument is written in it */
	if (!sqlite3_get_auxdata(ctx, 1)) {
		if (!noted_look(n, sqlite3_context_db_handle(ctx))) {
			sqlite3_result_error(ctx, "can't read the notes", -1);
			return;
		}
		sqlite3_set_auxdata(ctx, 1, n, NULL);
	}
	uint64_t on = (uint64_t)sqlite3_value_int64(argv[0]) * 2;
	sqlite3_result_int(ctx, noted_has(n, on + 1) ||
					(!sqlite3_value_int(argv[1]) && noted_has(n, on)));
}

struct telling {
	filter_notes_fn *fn;
	void *self;
};

/* glass_notes(telling): tells all of them. */
static void sql_notes(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	struct noted *n = sqlite3_user_data(ctx);
	const struct telling *t = sqlite3_value_pointer(argv[0], "glass_notes");
	(void)argc;
	if (!t || !noted_look(n, sqlite3_context_db_handle(ctx))) {
		sqlite3_result_error(ctx, "can't read the notes", -1);
		return;
	}
	for (size_t i = 0; i < n->nr; i++)
		t->fn(t->self, n->on[i] / 2, n->on[i] & 1);
}

bool filter_notes(void *db, filter_notes_fn *fn, void *self)
{
	struct telling t = { fn, self };
	sqlite3_stmt *st = NULL;
	bool good = sqlite3_prepare_v2(db, "SELECT glass_notes(?1)", -1, &st, NULL) == SQLITE_OK &&
		    sqlite3_bind_pointer(st, 1, &t, "glass_notes", NULL) == SQLITE_OK &&
		    sqlite3_step(st) == SQLITE_ROW;
	return sqlite3_finalize(st) == SQLITE_OK && good;
}

int filter_noted(void *db)
{
	const int flags = SQLITE_UTF8 | SQLITE_DIRECTONLY;
	sqlite3_stmt *st = NULL;
	/* including the notes that it has seen */
	bool there = sqlite3_prepare_v2(db, "SELECT glass_noted(0,0)", -1, &st, NULL) == SQLITE_OK;
	sqlite3_finalize(st);
	if (there)
		return SQLITE_OK;
	struct noted *n = NEW(struct noted);
	int rc = sqlite3_create_function_v2(db, "glass_noted", 2, flags, n, sql_noted, NULL, NULL,
					    noted_free);
	return rc == SQLITE_OK ? sqlite3_create_function(db, "glass_notes", 1, flags, n, sql_notes,
							 NULL, NULL)
			       : rc;
}
