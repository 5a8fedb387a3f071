/* Sessions as tables of other engines: JSON lines, DIR/TABLE/date=YYYY-MM-DD/part.jsonl, one object
 * a row, with the same fields in each row of a table. The rows stream; memory doesn't grow with
 * them. schema/README.md and schema/tables.clickhouse.sql describe the fields. */
#ifndef EXCHANGE_TABLES_H
#define EXCHANGE_TABLES_H

#include "base/json.h"
#include "record/read/session.h"

enum table {
	TABLE_SESSIONS,
	TABLE_ACTIONS,
	TABLE_EVENTS,
	TABLE_FILES,
	TABLE_MODEL_CALLS,
	TABLE_CLAIMS,
	TABLE_NR
};

struct tables;
/* Begins in a new directory beside @dir, which doesn't exist unless @force. */
NODISCARD int tables_begin(struct tables **out, const char *dir, bool force, struct err *err);
/* Adds the session's actions, events, files, and model calls. */
NODISCARD int tables_session(struct tables *t, struct session *s, struct err *err);
/* Adds a row of the day of @ts_us (UTC). Takes @row. */
NODISCARD int tables_row(struct tables *t, enum table table, int64_t ts_us, json_t *row,
			 struct err *err);
uint64_t tables_rows(const struct tables *t, enum table table);
/* Changed files that no row has: of events whose list is cut ("more"). */
uint64_t tables_files_left(const struct tables *t);
const char *tables_name(enum table table);
/* Syncs and gives the directory its name. */
NODISCARD int tables_finish(struct tables *t, struct err *err);
/* Removes what isn't finished. */
void tables_free(struct tables **t);

#endif
