/* A session as the screens see it: its file, the state folded up to a cursor, and texts of its events.
 *
 * Live is "the cursor follows the end", replay is "the cursor is somewhere else"; nothing else differs. */
#ifndef UI_SOURCE_H
#define UI_SOURCE_H

#include "base/json.h"
#include "record/read/session.h"
#include "ui/model/model.h"

struct changes;
struct pty_pane;

struct source {
	struct session *session;
	struct feed *feed;
	struct model model;
	struct arena arena;
	struct changes *changes; /* changes.c's */
	struct pty_pane *pty;    /* pty.c's */
	bool failed;      /* reading stopped; why says why */
	struct err why;
};

NODISCARD int source_open(struct source **out, const char *path, struct err *err);
void source_close(struct source **s);
/* Folds what is new up to @limit_seq (0 = the end), at most @max events (0 = all). Returns how many; -1 on failure. */
int source_sync(struct source *s, uint64_t limit_seq, int max);
/* Goes to exactly @seq: forwards by folding on, backwards by folding again from the start. */
void source_seek(struct source *s, uint64_t seq);

/* The body of event @seq; returns owned, NULL if there is none (gone, redacted). */
json_t *source_body(struct source *s, uint64_t seq);
/* Bytes of one stream of an action that had come by the cursor: the last @max of them. Returns the offset of the first.
 */
uint64_t source_tail(struct source *s, uint64_t action, int stream, size_t max, struct buf *out);

#endif
