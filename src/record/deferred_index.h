/* The search index of a session that has ended: what its end left out is added afterwards.
 *
 * The end of a session waits for its index some two seconds; a flood wants more. The file is
 * borrowed (read/lease.h): the session stays one that has ended, and whoever wants to write to it
 * gets it within a moment. What has been added stays when the rest is not: nothing is begun again.
 * Memory is bounded by one step of the index. The file keeps its time of change. */
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

/* 1 the index is whole, 0 @fn or somebody who wants the file has ended it before, -1 failure:
 * ERR_BUSY while others read it in a way that does not let its journal change (some seconds are
 * waited for), ERR_FULL, ... Nobody of this process has the file open. */
NODISCARD int deferred_index_build(const char *path, later_fn *fn, void *self, struct err *err);

#endif
