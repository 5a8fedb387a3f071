/* Which merges an undo takes back, of those that the recording has. */
#ifndef SESSIONS_UNDO_CHOICE_H
#define SESSIONS_UNDO_CHOICE_H

#include "sessions/unmerged.h"

/* Another change that an undo could revert. */
struct undo_other {
	uint64_t at; /* event; 0: there is none */
	char what[120];
};

struct undo_choice {
	size_t *merge; /* indexes of unmerged.merges, newest first; owned */
	size_t nr;
	bool other; /* none of the merges: the other one is meant */
};

/* @id: of an event, or 0 for the newest. Of 0, all merges of a step are chosen; of an @id, only
 * that one. ERR_NOENT names what can be undone, also if something newer than the newest was undone
 * already; ERR_BUSY if a later merge stands on the one with @id. */
NODISCARD int undo_choose(struct undo_choice *c, const struct unmerged *u, uint64_t id,
			  const struct undo_other *other, struct err *err);
/* Event of the newest merge that can be undone; 0: there is none. */
uint64_t undo_newest_merge(const struct unmerged *u);
/* Is @id the event or the action of a merge that was undone? */
bool undo_is_undone(const struct unmerged *u, uint64_t id);
/* Takes them back. Returns bodies of merge.undone, those that were undone also after a failure. */
json_t *undo_merges(const struct undo_choice *c, const struct unmerged *u, struct err *err);
/* One body, or {"merge","merges":[..]} of several. Takes @list. */
json_t *undo_result(json_t *list);
void undo_choice_release(struct undo_choice *c);

#endif
