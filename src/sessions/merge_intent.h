/* The intent of a merge: a file that exists from before its first write until its events are
 * committed. The merge holds a lock on the file, as do the children that write: a file without
 * a lock belongs to a merge that was killed. Any thread. */
#ifndef SESSIONS_MERGE_INTENT_H
#define SESSIONS_MERGE_INTENT_H

#include "base/json.h"

struct merge_intent {
	char *path; /* NULL: no intent file */
	int fd;
};
#define MERGE_INTENT_INIT ((struct merge_intent){ .fd = -1 })

/* Durable when it returns. @merges: [{"merge" (id),"box" (id),"name","mode"}], in their order;
 * taken. */
NODISCARD int merge_intent_write(struct merge_intent *i, const char *session, json_t *merges,
				 struct err *err);
/* The events are committed. Does nothing for an intent that was not written. */
void merge_intent_remove(struct merge_intent *i);
/* The file stays: the events are not committed. */
void merge_intent_release(struct merge_intent *i);

/* Of merges of @session that were killed: [{"session","merges","file"}]. */
json_t *merge_intents_left(const char *session);
/* Waits until no merge of @session holds its intent; ERR_BUSY after 30 s. */
NODISCARD int merge_intents_wait(const char *session, struct err *err);
/* The merges of @intent were taken back. */
void merge_intent_settled(const json_t *intent);

#endif
