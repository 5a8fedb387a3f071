/* The step of an event, for millions of events: table search_row, part of the search index.
 *
 * A search finds a word of an action's output at the output's event, but you look for the action.
 * Looking up the action of each event costs more than finding the event. So the index keeps the
 * actions of 4096 events as one blob of LEB128 numbers: how far the action is before each event
 * (0: it belongs to no step), and how far the steps of those events' own actions reach. A block is
 * written when it is full; events after the last block are looked up themselves. */
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

/* For writers: adds full blocks with the events up to @upto, two at most; *left_out: more remain.
 * An SQLite code. */
int steps_add(sqlite3 *db, uint64_t upto, bool *left_out);

/* For verify: the first event of a block that says otherwise than its events, or that has none; 0
 * none. It needs no transaction: a writer may add blocks meanwhile. An SQLite code. */
int steps_check(sqlite3 *db, uint64_t *wrong);

#endif
