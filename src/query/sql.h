/* A user's own SELECT over a session file: read-only in three ways (the connection, an authorizer
 * that lets nothing but reading through, one statement only), for at most SQL_SECONDS. One thread,
 * the session's. */
#ifndef QUERY_SQL_H
#define QUERY_SQL_H

#include "base/err.h"
#include "record/read/session.h"

enum { SQL_SECONDS = 5, SQL_CELL_MAX = 4000 };

struct sql_table {
	size_t cols, rows;
	char **name;  /* of the columns; owned */
	char **cell;  /* rows * cols, row by row; NULL is NULL; owned */
	bool *number; /* of each column: its values are numbers */
	bool cut;     /* there were more rows than asked for */
	bool timeout; /* it was stopped; the rows so far are here */
};

/* ERR_PARSE: what SQLite says of the text; ERR_DENIED: it wants more than to read; ERR_UNSUPPORTED:
 * no SQL here. */
NODISCARD int sql_select(struct session *s, const char *text, size_t max_rows,
			 struct sql_table *out, struct err *err);
/* The same for a SELECT of our own, which takes as long as the session is. */
NODISCARD int sql_own(struct session *s, const char *text, size_t max_rows, struct sql_table *out,
		      struct err *err);
/* The same for a SELECT of two texts: calls with those of each row, which aren't kept. */
typedef int sql_pair_fn(void *self, const char *first, const char *second, struct err *err);
NODISCARD int sql_pairs(struct session *s, const char *text, sql_pair_fn *fn, void *self,
			struct err *err);
void sql_table_release(struct sql_table *t);

#endif
