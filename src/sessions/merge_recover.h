/* Merges that were killed between their first write and their events: taken back at the next merge
 * or undo, so that a step has all of its sandboxes or none. Blocking: worker thread, or a command
 * of its own. */
#ifndef SESSIONS_MERGE_RECOVER_H
#define SESSIONS_MERGE_RECOVER_H

#include "base/json.h"
#include "record/read/session.h"

/* What they have left: [{"merge","box","name","mode"}], in the order of their merging. */
json_t *merge_recover_look(struct session *s);
/* The names of their sandboxes; owned. */
json_t *merge_recover_boxes(struct session *s);
/* Takes all of it back. @out, filled in any case: bodies of merge.undone; "box" in each is the box
 * of the event. @s: of a running session, a handle whose events are committed. */
NODISCARD int merge_recover(struct session *s, json_t **out, struct err *err);
/* Removes the intents: the recording goes. */
void merge_recover_forget(struct session *s);
/* "a, b" */
void merge_recover_names(const json_t *list, struct buf *out);

#endif
