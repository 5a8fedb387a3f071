/* glass_noted(seq, mark): has somebody left a note (mark 1: a mark) on this event? A note names its event by cause, for
 * which there is no index: the notes of a file are looked for once per connection, then only in what has come since. */
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "query/filter_inner.h"
#include "query/listed.h"

struct noted {
	uint64_t *on; /* events, times two; plus one: by a mark. Ascending, once it is looked at */
	size_t nr, cap;
	int64_t upto;
};

static void noted_free(void *self)
{
	struct noted *n = self;
	free(n->on);
	free(n);
}

static int compare(const void *x, const void *y)
{
	const uint64_t *a = x, *b = y;
	return (*a > *b) - (*a < *b);
}

/* What the file has behind @upto. False: it cannot be read. */
static bool look(struct noted *n, sqlite3 *db)
{
#define IS_MARK "CASE WHEN json_valid(body) THEN ifnull(json_extract(body,'$.level')='mark',0) ELSE 0 END"
#define AND_THE_END " UNION ALL SELECT 0, 0, max(seq) FROM event"
	static const char listed[] = "SELECT cause, 0, max(seq) FROM " LISTED_NOTED " AND seq>?1 GROUP BY cause UNION ALL SELECT cause, 1, seq FROM "
				     LISTED_MARKED " AND seq>?1 AND " IS_MARK AND_THE_END;
	static const char read[] = "SELECT cause, " IS_MARK ", seq FROM event WHERE kind=420 AND seq>?1" AND_THE_END;
	sqlite3_stmt *st = NULL;
	int rc = SQLITE_ERROR;
	int64_t upto = n->upto;
	if (sqlite3_prepare_v2(db, listed, -1, &st, NULL) == SQLITE_OK || sqlite3_prepare_v2(db, read, -1, &st, NULL) == SQLITE_OK) {
		sqlite3_bind_int64(st, 1, n->upto);
		while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
			uint64_t on = (uint64_t)sqlite3_column_int64(st, 0);
			int64_t seq = sqlite3_column_int64(st, 2);
			upto = seq > upto ? seq : upto;
			if (!on)
				continue;
			GROW(n->on, n->nr, n->cap);
			n->on[n->nr++] = on * 2 + (sqlite3_column_int(st, 1) != 0);
		}
	}
	sqlite3_finalize(st);
	n->upto = rc == SQLITE_DONE ? upto : n->upto;
	if (n->nr > 1)
		qsort(n->on, n->nr, sizeof(*n->on), compare);
	return rc == SQLITE_DONE;
}

static bool has(const struct noted *n, uint64_t value)
{
	return n->nr > 0 && bsearch(&value, n->on, n->nr, sizeof(*n->on), compare);
}

static void sql_noted(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	struct noted *n = sqlite3_user_data(ctx);
	(void)argc;
	if (!sqlite3_get_auxdata(ctx, 1)) { /* once a statement: the second argument is written in it */
		if (!look(n, sqlite3_context_db_handle(ctx))) {
			sqlite3_result_error(ctx, "the notes cannot be read", -1);
			return;
		}
		sqlite3_set_auxdata(ctx, 1, n, NULL);
	}
	uint64_t on = (uint64_t)sqlite3_value_int64(argv[0]) * 2;
	sqlite3_result_int(ctx, has(n, on + 1) || (!sqlite3_value_int(argv[1]) && has(n, on)));
}

int filter_noted(void *db)
{
	sqlite3_stmt *st = NULL;
	bool there = sqlite3_prepare_v2(db, "SELECT glass_noted(0,0)", -1, &st, NULL) == SQLITE_OK; /* with what it has seen */
	sqlite3_finalize(st);
	return there ? SQLITE_OK
		     : sqlite3_create_function_v2(db, "glass_noted", 2, SQLITE_UTF8 | SQLITE_DIRECTONLY, NEW(struct noted), sql_noted,
						  NULL, NULL, noted_free);
}
