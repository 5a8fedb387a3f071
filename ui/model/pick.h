/* The rows of a session that a filter lets through.
 *
 * 1. What is recorded is asked of the file in SQL, in pieces, so that a long session is filtered
 * while the screen lives on
 *    (pick_work says when it is not done). Nothing is read into memory but the numbers that match.
 * 2. An action that has not ended at the cursor is asked by the predicate over what is known of it
 * there, at every new
 *    event; a file without SQL (a fixture) is asked so altogether. Both give the same rows: a test
 *    holds them together.
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
bool pick_is_step(uint16_t kind);
/* 0 to 100: how far it has come. */
int pick_percent(const struct pick *p, struct source *s);
const char *pick_failed(const struct pick *p); /* why nothing can be asked; NULL */

#endif
