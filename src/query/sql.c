#include "query/sql.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "query/filter.h"
#include "query/views.h"

enum { STEPS = 2000, COLS_MAX = 64 };

static int authorize(void *self, int what, const char *a, const char *b, const char *db, const char *trigger)
{
	(void)self, (void)a, (void)db, (void)trigger;
	if (what == SQLITE_FUNCTION && b && (strcmp(b, "load_extension") == 0 || strcmp(b, "fts3_tokenizer") == 0))
		return SQLITE_DENY;
	return what == SQLITE_SELECT || what == SQLITE_READ || what == SQLITE_FUNCTION || what == SQLITE_RECURSIVE
		       ? SQLITE_OK
		       : SQLITE_DENY;
}

static int late(void *until)
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
		char *hex = xcalloc(2 * n + 3, 1);
		for (size_t i = 0; i < n; i++) {
			hex[2 * i] = digits[b[i] >> 4];
			hex[2 * i + 1] = digits[b[i] & 15];
		}
		return hex;
	}
	const unsigned char *text = sqlite3_column_text(st, col);
	return xstrndup((const char *)text, (size_t)(len > SQL_CELL_MAX ? SQL_CELL_MAX : len));
}

static void take_row(sqlite3_stmt *st, struct sql_table *t, size_t *cap)
{
	if (t->rows == *cap) {
		*cap = *cap ? *cap * 2 : 64;
		t->cell = xrealloc(t->cell, *cap * t->cols * sizeof(*t->cell));
	}
	for (size_t i = 0; i < t->cols; i++) {
		int type = sqlite3_column_type(st, (int)i);
		t->number[i] = t->number[i] && (type == SQLITE_INTEGER || type == SQLITE_FLOAT || type == SQLITE_NULL);
		t->cell[t->rows * t->cols + i] = cell_text(st, (int)i);
	}
	t->rows++;
}

static int prepare(sqlite3 *db, const char *text, sqlite3_stmt **st, struct err *err)
{
	const char *tail = NULL;
	int rc = sqlite3_prepare_v2(db, text, -1, st, &tail);
	if (rc == SQLITE_AUTH || (rc != SQLITE_OK && strstr(sqlite3_errmsg(db), "not authorized")))
		return err_set(err, ERR_DENIED, "sql: only SELECT is run here, the record is never changed (%s)",
			       sqlite3_errmsg(db));
	if (rc != SQLITE_OK)
		return err_set(err, ERR_PARSE, "sql: %s", sqlite3_errmsg(db));
	if (!*st)
		return err_set(err, ERR_PARSE, "sql: there is no statement");
	if (tail[strspn(tail, " \t\n;")])
		return err_set(err, ERR_PARSE, "sql: one statement at a time");
	if (!sqlite3_stmt_readonly(*st))
		return err_set(err, ERR_DENIED, "sql: only SELECT is run here, the record is never changed");
	return 0;
}

static int run(sqlite3 *db, sqlite3_stmt *st, size_t max_rows, struct sql_table *t, struct err *err)
{
	int rc, cols = sqlite3_column_count(st);
	size_t cap = 0;
	t->cols = cols > COLS_MAX ? COLS_MAX : (size_t)cols;
	t->name = xcalloc(t->cols + 1, sizeof(*t->name));
	t->number = xcalloc(t->cols + 1, sizeof(*t->number));
	for (size_t i = 0; i < t->cols; i++) {
		t->name[i] = xstrdup(sqlite3_column_name(st, (int)i));
		t->number[i] = true;
	}
	while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
		if (t->rows == max_rows) {
			t->cut = true;
			return 0;
		}
		take_row(st, t, &cap);
	}
	t->timeout = rc == SQLITE_INTERRUPT;
	if (rc != SQLITE_DONE && !t->timeout)
		return err_set(err, ERR_PARSE, "sql: %s", sqlite3_errmsg(db));
	return 0;
}

int sql_select(struct session *s, const char *text, size_t max_rows, struct sql_table *out, struct err *err)
{
	sqlite3 *db = session_handle(s);
	sqlite3_stmt *st = NULL;
	int64_t until = clock_mono_us() + (int64_t)SQL_SECONDS * 1000000;
	*out = (struct sql_table){ 0 };
	if (!db)
		return err_set(err, ERR_UNSUPPORTED, "sql: this record has none");
	if (filter_functions(db, err) < 0 || views_make(db, err) < 0)
		return -1;
	sqlite3_set_authorizer(db, authorize, NULL);
	sqlite3_progress_handler(db, STEPS, late, &until);
	int rc = prepare(db, text, &st, err);
	if (rc == 0)
		rc = run(db, st, max_rows, out, err);
	sqlite3_finalize(st);
	sqlite3_progress_handler(db, 0, NULL, NULL);
	sqlite3_set_authorizer(db, NULL, NULL);
	if (rc < 0)
		sql_table_release(out);
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
