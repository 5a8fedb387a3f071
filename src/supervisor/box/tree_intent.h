/* The intents of a running session's merges: sessions/merge_intent.h. Loop thread. */
#ifndef SUPERVISOR_BOX_TREE_INTENT_H
#define SUPERVISOR_BOX_TREE_INTENT_H

#include "sessions/merge_intent.h"
#include "supervisor/core/core.h"

/* Appends a merge.undone for each body of merge_recover's @list. */
void tree_recovered(struct super *s, uint64_t cause, const json_t *list);
/* Removes the file once everything up to now is committed. Takes the content of @i. */
void tree_intent_done(struct super *s, struct merge_intent *i);

#endif
