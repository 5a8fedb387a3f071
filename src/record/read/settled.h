/* Which snapshots describe a sandbox's files at an event.
 *
 * An action's files are scanned once it has ended, and the scan takes a moment: the action's
 * snapshot comes after its end, perhaps with other events between. So the newest snapshot before an
 * event doesn't always describe the files at that event:
 *
 * 1. A snapshot after the event counts if every action that it may come from ("by") had ended by
 *    the event.
 * 2. An action's request stands for the whole action: the files when it had ended. So does its
 *    end; a snapshot that names the action then counts even if it names others too.
 * 3. Nothing else after the event counts: no rollback, and no snapshot that names no action.
 *
 * Reading only; one thread. */
#ifndef RECORD_READ_SETTLED_H
#define RECORD_READ_SETTLED_H

#include "record/read/session.h"

/* The files of @box at event @seq are those of the newest snapshots up to the answer, which is @seq
 * or behind it. 0 stays 0. */
uint64_t session_settled(struct session *s, uint64_t box, uint64_t seq);

/* The snapshot that says what layer @repo of @box was at event @seq; 0 = it was as in the base. A
 * box that is a copy, or that took the place of another when the session was resumed, was that one
 * before. */
uint64_t session_snapshot_at(struct session *s, uint64_t box, const char *repo, uint64_t seq);
/* The box that @box began as, 0 = none; *upto_out: until which event. */
uint64_t session_box_before(struct session *s, uint64_t box, uint64_t *upto_out);

/* Where @action ended; 0 = it has not. */
uint64_t session_action_end(struct session *s, uint64_t action);
/* The next event of @kind behind event @after, of @box (0: of any, which reads them all); 0 = there
 * is none. */
uint64_t session_next_of(struct session *s, unsigned kind, uint64_t box, uint64_t after);
/* The next snapshot of @box behind event @after; 0 = there is none, or none for a long time. */
uint64_t session_next_snapshot(struct session *s, uint64_t box, uint64_t after);

#endif
