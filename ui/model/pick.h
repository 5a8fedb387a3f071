/* The rows of a session that match a filter.
 *
 * 1. Recorded rows are queried from the file in SQL, in pieces, so that the screen stays alive
 *    while a long session is filtered (pick_work reports the end). Only the numbers of matching
 *    rows are in memory.
 * 2. An action that has not ended at the cursor is checked by the predicate over its known state,
 *    at each new event. A file without SQL (a fixture) uses the predicate for all rows. A test
 *    checks that both give the same rows.
 * One thread; a pick belongs to one source. */
#ifndef UI_PICK_H
#define UI_PICK_H

#include "query/filter.h"
#include "ui/model/source.h"

struct pick;

/* ERR_PARSE as filter_parse says it. */
NODISCARD int pick_new(struct pick **out, const char *text, const struct filter_saved *saved,
		       size_t *column_out, struct err *err);
void pick_free(struct pick **p);
const struct filter *pick_filter(const struct pick *p);

/* Asks on, for at most about @budget_us. True if there is more to do. */
bool pick_work(struct pick *p, struct source *s, int64_t now_us, int64_t budget_us);
/* Those of @of that match, as far as is known; borrowed until the next call for the same list of
 * rows. */
const struct rows *pick_rows(struct pick *p, struct source *s, const struct rows *of,
			     int64_t now_us);
/* A decision has a row of its own, but is a step in the life of an action: a filter lists the
 * action instead. */
bool pick_is_step(enum event_kind kind);
/* 0 to 100: how far it has come. */
int pick_percent(const struct pick *p, struct source *s);
const char *pick_failed(const struct pick *p); /* why nothing can be asked; NULL */

#endif
