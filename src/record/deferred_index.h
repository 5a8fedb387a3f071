/* The search index of a session that has ended: adds what the end left out.
 *
 * The end of a session spends at most two seconds on its index; a flood needs more. The file is
 * borrowed (read/lease.h): the session still counts as ended, and a process that asks to write
 * gets the file within a moment. Finished steps stay when the rest is interrupted.
 * Memory is bounded by one step of the index. The file keeps its modification time. */
#ifndef RECORD_DEFERRED_INDEX_H
#define RECORD_DEFERRED_INDEX_H

#include "record/read/session.h"

/* Its index does not reach its last event, or it is long and lacks blocks of values
 * (read/values.h), as a file from before there were any, and deferred_index_may. Lacking blocks of
 * steps (read/steps.h) alone are no reason: searches are right without them, and they are added
 * when something else is. */
bool deferred_index_due(struct session *s);

/* 0 if it has ended, nobody writes it, and it is ours; else -1 with which of these it is, and what
 * helps. Until then searches read through what the index lacks. */
NODISCARD int deferred_index_may(struct session *s, struct err *err);

/* Called after each step; false: enough for now. */
typedef bool later_fn(void *self, uint64_t at, uint64_t head);

/* 1: the index is complete; 0: @fn or another process that needs the file ended it early;
 * -1: failure, ERR_BUSY while readers keep the journal from changing (after some seconds),
 * ERR_FULL, ... No other part of this process may have the file open. */
NODISCARD int deferred_index_build(const char *path, later_fn *fn, void *self, struct err *err);

#endif
