/* Whose step an event is, for millions of them: table search_row, part of the search index.
 *
 * A word that stands in an action's output is found at the output's event; what people look for is
 * the action. Looking each event up for its action costs more than finding it, so the index keeps
 * the actions of 4096 events as one blob of LEB128 numbers, each how far behind its event the
 * action stands (0: it is none's step), and how far the steps of those events' own actions reach. A
 * block is written when it is full; for what is behind the last one the events themselves are
 * asked. */
#ifndef RECORD_READ_STEPS_H
#define RECORD_READ_STEPS_H

#include <sqlite3.h>

#include "base/buf.h"
#include "base/err.h"

enum {
	STEPS_BLOCK = 4096,
	STEPS_KEPT = 256 /* blocks, 16 KiB each: as many as one stretch of a search has */
};

struct steps {
	sqlite3 *db; /* borrowed */
	sqlite3_stmt *block, *event;
	uint64_t covered; /* last event of the last block that the index reaches; 0 none */
	uint64_t blocks;  /* of the last block */
	/* owned: block b in [b % STEPS_KEPT], or another one, or none */
	struct steps_kept *kept[STEPS_KEPT];
};

/* What a file without the table (or without blocks) has is asked event by event; so are the events
 * of blocks behind the last event, or behind the mark "indexed" until @covered is set to @blocks:
 * then no words lead there. */
void steps_init(struct steps *t, sqlite3 *db);
void steps_release(struct steps *t);

/* The action that @seq is a step of, or @seq itself. */
uint64_t steps_owner(struct steps *t, uint64_t seq);

/* The last step among the covered events of the actions behind @after up to @upto, at least @upto;
 * never behind the covered ones, whatever the file says. */
uint64_t steps_reach(struct steps *t, uint64_t after, uint64_t upto);

/* Actions behind @after up to @upto that have a step behind @beyond, ascending, as an array of
 * uint64_t. */
NODISCARD int steps_open(struct steps *t, uint64_t after, uint64_t upto, uint64_t beyond,
			 struct buf *out, struct err *err);

/* For whoever writes: adds blocks that are full with the events up to @upto, two of them at most;
 * *left_out: there are more. An SQLite code. */
int steps_add(sqlite3 *db, uint64_t upto, bool *left_out);

/* For verify: the first event of a block that says otherwise than its events, or that has none; 0
 * none. It needs no transaction: a writer may add blocks meanwhile. An SQLite code. */
int steps_check(sqlite3 *db, uint64_t *wrong);

#endif
