/* A session for the screens: its file, the state folded up to a cursor, and texts of its events.
 *
 * Live and replay differ only in the cursor: live means that it follows the end.
 *
 * A long session is folded in slices, so that keys work at once. Until the fold has reached the
 * cursor, @model is a first picture, folded from a few important events (session_outline).
 * Agents, their current state, pending actions, and the newest rows are right; sums and older
 * rows are missing, and @early is set. Then the full model replaces it. A reader that is only a
 * little behind (a busy session) sees the full model of a moment ago. */
#ifndef UI_SOURCE_H
#define UI_SOURCE_H

#include "base/json.h"
#include "record/read/session.h"
#include "wire/event_body.h"
#include "ui/model/journal.h"
#include "ui/model/track.h"

struct changes;
struct pty_pane;

struct source {
	struct session *session;
	struct feed *feed;  /* of the whole */
	struct model model; /* what screens show */
	bool early;	    /* it is a first picture; the whole is on its way: */
	int64_t early_us;   /* when it was made (mono) */
	struct model whole;
	struct track track; /* of the events folded up to now */
	bool (*stop)(void); /* asked every few events of a slice: true ends it; NULL never */
	bool behind;	    /* there was more than the last slice could take */
	bool was_whole;	    /* it was folded up to the cursor once */
	uint64_t end;	    /* of the file, when it was looked at last, */
	bool growing;	    /* and it was not the same then as the time before */
	/* with a way back: the whole has been folded, up to its end as it was then */
	bool surveyed;
	/* mono: not before then again to the end, when the file has grown behind the cursor */
	int64_t grown_us;
	struct journal *journal; /* the way back; NULL: back is by folding anew */
	struct arena arena;
	/* State of ui/rows for the session, set together with its free function. */
	struct changes *changes; /* changes.c's */
	struct pty_pane *pty;	 /* pty.c's */
	void (*changes_free)(struct source *s);
	void (*pty_free)(struct source *s);
	/* Its supervisor has gone and the session has no end event: nothing runs and no decision
	 * is possible until it is resumed. Set by the watcher of the supervisor (console.c); not
	 * part of the recording. */
	bool lost;
	bool failed; /* reading stopped; why says why */
	struct err why;
};

NODISCARD int source_open(struct source **out, const char *path, struct err *err);
void source_close(struct source **s);
/* Continues towards @limit_seq (0 = the end), or back to it, for about @budget_us (0 = until
 * done; a rare first picture takes some 5 ms more). Returns the number of events read; -1 on
 * failure. */
int source_sync(struct source *s, uint64_t limit_seq, int64_t budget_us);
/* At most @max events (0 = all), whatever it takes. */
int source_take(struct source *s, uint64_t limit_seq, int max);
/* True if source_sync has more to fold. */
bool source_reading(const struct source *s);
/* How much of the way to the cursor has been read: 100 = all of it. */
int source_percent(const struct source *s, uint64_t limit_seq);
/* Goes to exactly @seq, whatever it takes. */
void source_seek(struct source *s, uint64_t seq);
/* Keeps a way back from now on, for cursors that move: the whole is then folded to its end once,
 * whatever the cursor. */
void source_keep_way(struct source *s);

/* model_agent_state, or AGENT_LOST for an agent that would continue in a session that is not
 * lost. */
enum agent_state source_agent_state(const struct source *s, const struct model_agent *a);

/* The body of event @seq; returns owned, NULL if there is none (gone, redacted). */
json_t *source_body(struct source *s, uint64_t seq);
/* The same as @d's struct, with its texts in @a; false: no event @seq, and @out is empty.
 * A redacted body gives an empty struct, too (wire/event_body.h). */
bool source_decode(struct source *s, uint64_t seq, const struct event_desc *d, struct arena *a,
		   void *out);
/* Bytes of one stream of an action that had come by the cursor: at most @max from @from on. Returns
 * how many there are in all. */
uint64_t source_output(struct source *s, uint64_t action, int stream, uint64_t from, uint64_t max,
		       struct buf *out);
/* The last @max of them. Returns the offset of the first. */
uint64_t source_tail(struct source *s, uint64_t action, int stream, size_t max, struct buf *out);

#endif
