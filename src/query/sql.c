#include "query/sql.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "query/filter.h"
#include "query/views.h"

enum { STEPS = 2000, COLS_MAX = 64 };

static int sql_authorize(void *self, int what, const char *a, const char *b, const char *db,
			 const char *trigger)
{
	(void)self, (void)a, (void)db, (void)trigger;
	if (what == SQLITE_FUNCTION && b &&
	    (strcmp(b, "load_extension") == 0 || strcmp(b, "fts3_tokenizer") == 0))
		return SQLITE_DENY;
	return what == SQLITE_SELECT || what == SQLITE_READ || what == SQLITE_FUNCTION ||
			       what == SQLITE_RECURSIVE
		       ? SQLITE_OK
		       : SQLITE_DENY;
}

static int sql_late(void *until)
{
	return clock_mono_us() > *(const int64_t *)until;
}

static char *cell_text(sqlite3_stmt *st, int col)
{
	int len = sqlite3_column_bytes(st, col);
	if (sqlite3_column_type(st, col) == SQLITE_NULL)
		return NULL;
	if (sqlite3_column_type(st, col) == SQLITE_BLOB) {
		static const char digits[] = "0123456789abcdef";
		const unsigned char *b = sqlite3_column_blob(st, col);
		size_t n = len > 32 ? 32 : (size_t)len;
		char *hex = mem_calloc(2 * n + 3, 1);
		for (size_t i = 0; i < n; i++) {
			hex[2 * i] = digits[b[i] >> 4];
			hex[2 * i + 1] = digits[b[i] & 15];
		}
		return hex;
	}
	const unsigned char *text = sqlite3_column_text(st, col);
	return mem_strndup((const char *)text, (size_t)(len > SQL_CELL_MAX ? SQL_CELL_MAX : len));
}

static void sql_take_row(sqlite3_stmt *st, struct sql_table *t, size_t *cap)
{
	if (t->rows == *cap) {
		*cap = *cap ? *cap * 2 : 64;
		t->cell = mem_realloc(t->cell, *cap * t->cols * sizeof(*t->cell));
	}
	for (size_t i = 0; i < t->cols; i++) {
		int type = sqlite3_column_type(st, (int)i);
		t->number[i] = t->number[i] && (type == SQLITE_INTEGER || type == SQLITE_FLOAT ||
						type == SQLITE_NULL);
		t->cell[t->rows * t->cols + i] = cell_text(st, (int)i);
	}
	t->rows++;
}

/* The first column of @q's rows, with commas between. */
static void sql_listed(sqlite3 *db, const char *q, const char *arg, struct buf *out)
{
	sqlite3_stmt *st = NULL;
	if (sqlite3_prepare_v2(db, q, -1, &st, NULL) == SQLITE_OK) {
		sqlite3_bind_text(st, 1, arg, -1, SQLITE_STATIC);
		while (sqlite3_step(st) == SQLITE_ROW)
			buf_printf(out, "%s%s", out->len ? ", " : "",
				   (const char *)sqlite3_column_text(st, 0));
	}
	sqlite3_finalize(st);
}

/* Proposes an existing table or column for an unknown one. */
static int sql_no_such(sqlite3 *db, const char *text, struct err *err)
{
	/* the questions below have messages of their own */
	CLEANUP(free_ptr) char *said = mem_strdup(sqlite3_errmsg(db));
	CLEANUP(buf_release) struct buf is = BUF_INIT;
	CLEANUP(free_ptr) char *from = NULL;
	for (const char *p = text; !from && (p = strcasestr(p, "from")); p += 4)
		if (p > text && strchr(" \t\n)", p[-1]) && p[4] && strchr(" \t\n", p[4])) {
			const char *name = p + 4 + strspn(p + 4, " \t\n");
			from = mem_strndup(name, strcspn(name, " \t\n,;()"));
		}
	sqlite3_set_authorizer(db, NULL, NULL);
	if (strstr(said, "no such table"))
		sql_listed(
			db,
			"SELECT name FROM (SELECT name, type FROM sqlite_schema UNION SELECT name, type FROM sqlite_temp_schema)"
			" WHERE name IN ('event', 'blob') OR name LIKE 'v\\_%' ESCAPE '\\' ORDER BY name",
			NULL, &is);
	else if (strstr(said, "no such column") && from)
		sql_listed(db, "SELECT name FROM pragma_table_info(?1)", from, &is);
	sqlite3_set_authorizer(db, sql_authorize, NULL);
	return err_set(err, ERR_PARSE, "sql: %s%s%s", said, is.len ? "; available: " : "",
		       is.len ? buf_cstr(&is) : "");
}

static int sql_prepare(sqlite3 *db, const char *text, sqlite3_stmt **st, struct err *err)
{
	const char *tail = NULL;
	int rc = sqlite3_prepare_v2(db, text, -1, st, &tail);
	if (rc == SQLITE_AUTH || (rc != SQLITE_OK && strstr(sqlite3_errmsg(db), "not authorized")))
		return err_set(err, ERR_DENIED,
			       "sql: only SELECT is allowed; a recording is never changed (%s)",
			       sqlite3_errmsg(db));
	if (rc != SQLITE_OK)
		return sql_no_such(db, text, err);
	if (!*st)
		return err_set(err, ERR_PARSE, "sql: missing statement");
	if (tail[strspn(tail, " \t\n;")])
		return err_set(err, ERR_PARSE, "sql: expected one statement");
	if (!sqlite3_stmt_readonly(*st))
		return err_set(err, ERR_DENIED,
			       "sql: only SELECT is allowed; a recording is never changed");
	return 0;
}

/* @timed: a stop is the time limit, and the rows so far are a result. */
static int sql_run(sqlite3 *db, sqlite3_stmt *st, size_t max_rows, bool timed, struct sql_table *t,
		   struct err *err)
{
	int rc, cols = sqlite3_column_count(st);
	size_t cap = 0;
	t->cols = cols > COLS_MAX ? COLS_MAX : (size_t)cols;
	t->name = mem_calloc(t->cols + 1, sizeof(*t->name));
	t->number = mem_calloc(t->cols + 1, sizeof(*t->number));
	for (size_t i = 0; i < t->cols; i++) {
		t->name[i] = mem_strdup(sqlite3_column_name(st, (int)i));
		t->number[i] = true;
	}
	while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
		if (t->rows == max_rows) {
			t->cut = true;
			return 0;
		}
		sql_take_row(st, t, &cap);
	}
	t->timeout = rc == SQLITE_INTERRUPT && timed;
	if (rc == SQLITE_INTERRUPT && !timed)
		return err_set(err, ERR_CANCELLED,
			       "sql: stopped before its end, by you or because it took longer "
			       "than a file of this size needs");
	if (rc != SQLITE_DONE && !t->timeout)
		return err_set(err, ERR_PARSE, "sql: %s", sqlite3_errmsg(db));
	return 0;
}

/* @until: on clock_mono_us; 0: however long it takes. */
static int select_until(struct session *s, const char *text, size_t max_rows, int64_t until,
			struct sql_table *out, struct err *err)
{
	sqlite3 *db = session_handle(s);
	sqlite3_stmt *st = NULL;
	*out = (struct sql_table){ 0 };
	if (!db)
		return err_set(err, ERR_UNSUPPORTED, "sql: not available for this recording");
	if (filter_functions(db, err) < 0 || views_make(db, err) < 0)
		return -1;
	sqlite3_set_authorizer(db, sql_authorize, NULL);
	if (until)
		sqlite3_progress_handler(db, STEPS, sql_late, &until);
	int rc = sql_prepare(db, text, &st, err);
	if (rc == 0)
		rc = sql_run(db, st, max_rows, until != 0, out, err);
	sqlite3_finalize(st);
	session_bound(s);
	sqlite3_set_authorizer(db, NULL, NULL);
	if (rc < 0)
		sql_table_release(out);
	return rc;
}

int sql_select(struct session *s, const char *text, size_t max_rows, struct sql_table *out,
	       struct err *err)
{
	return select_until(s, text, max_rows, clock_mono_us() + (int64_t)SQL_SECONDS * 1000000,
			    out, err);
}

int sql_own(struct session *s, const char *text, size_t max_rows, struct sql_table *out,
	    struct err *err)
{
	return select_until(s, text, max_rows, 0, out, err);
}

int sql_pairs(struct session *s, const char *text, sql_pair_fn *fn, void *self, struct err *err)
{
	sqlite3 *db = session_handle(s);
	sqlite3_stmt *st = NULL;
	if (!db)
		return err_set(err, ERR_UNSUPPORTED, "sql: not available for this recording");
	if (views_make(db, err) < 0)
		return -1;
	int rc = 0, step = SQLITE_DONE;
	if (sqlite3_prepare_v2(db, text, -1, &st, NULL) != SQLITE_OK)
		rc = err_set(err, ERR_PARSE, "sql: %s", sqlite3_errmsg(db));
	while (rc == 0 && (step = sqlite3_step(st)) == SQLITE_ROW) {
		const char *first = (const char *)sqlite3_column_text(st, 0);
		const char *second = (const char *)sqlite3_column_text(st, 1);
		rc = fn(self, first ? first : "", second ? second : "", err);
	}
	if (rc == 0 && step != SQLITE_DONE)
		rc = err_set(err, ERR_IO, "sql: %s", sqlite3_errmsg(db));
	sqlite3_finalize(st);
	return rc;
}

void sql_table_release(struct sql_table *t)
{
	for (size_t i = 0; i < t->cols; i++)
		free(t->name[i]);
	for (size_t i = 0; i < t->rows * t->cols; i++)
		free(t->cell[i]);
	free(t->name);
	free(t->cell);
	free(t->number);
	*t = (struct sql_table){ 0 };
}
