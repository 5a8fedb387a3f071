/* A search on its way, for filter_search.c (rows, stretches) and filter_terms.c (what leads to
 * rows). */
#ifndef QUERY_FILTER_SEARCH_H
#define QUERY_FILTER_SEARCH_H

#include "query/filter_priv.h"
#include "record/read/session.h"
#include "record/read/steps.h"
#include "record/read/values.h"

/* Where the rows of a term stand; a term may have several: its rows are those of any of them, and
 * of its looks. */
enum place_how {
	PLACE_OF,     /* those of agents or boxes: ids, ascending uint64_t */
	PLACE_ROWS,   /* these: uint64_t; behind @whole there may be any */
	PLACE_VALUES, /* what the blocks of values say to each struct value_ask */
};
struct place {
	const struct node *node;
	enum place_how how;
	struct buf ids; /* owned */
	uint64_t whole;
};

struct search {
	const struct filter *f;
	struct session *s;
	int64_t now_us;
	size_t max;
	uint64_t *seqs; /* ascending; borrowed */
	size_t nr;
	/* those of a term beside those of the words: one for each value, and one more */
	struct words words;
	struct place *place; /* owned */
	size_t places, place_cap;
	uint64_t from, to; /* what is asked for */
	struct steps steps;
	struct values values;
	uint64_t indexed;
	bool blind; /* behind the index: no words lead to rows, but blocks do */
	/* the looks are asked so; once one stretch has too many rows, the rest are asked in full */
	bool coarse;
	bool ours; /* a transaction; since: */
	int64_t begun_us;
	int64_t soon_us; /* once something is found it ends by then; 0 it does not */
	uint64_t at;	 /* up to where all is asked */
	uint64_t piece;	 /* number of rows that are all checked */
	/* of the stretch */
	uint64_t after, upto, reach;
	struct buf open; /* actions that continue after reach: uint64_t, ascending */
};

/* Fills words and places. */
NODISCARD int filter_terms(struct search *q, struct err *err);
/* ERR_DAMAGED with what SQLite says. */
int filter_search_failed(struct search *q, struct err *err);

#endif
