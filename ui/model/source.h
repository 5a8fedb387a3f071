/* A session as the screens see it: its file, the state folded up to a cursor, and texts of its
 * events.
 *
 * Live is "the cursor follows the end", replay is "the cursor is somewhere else"; nothing else
 * differs.
 *
 * A long session is folded in slices, so that keys work at once. Until that has reached the cursor,
 * @model is a first picture, folded from the few events that tell most (session_outline): agents,
 * what they do now, what waits, the newest rows are right, sums and older rows are not there yet,
 * and @early says so. Then the whole takes its place. Who is only a little behind (a busy session)
 * is shown what stood a moment ago, whole. */
#ifndef UI_SOURCE_H
#define UI_SOURCE_H

#include "base/json.h"
#include "record/read/session.h"
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
	struct track track; /* of what has been folded so far */
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
	/* Its supervisor has gone and it has no end: nothing of it goes on and nobody can decide
	 * until it is resumed. Said by who watches the supervisor (console.c), no part of the
	 * record. */
	bool lost;
	bool failed; /* reading stopped; why says why */
	struct err why;
};

NODISCARD int source_open(struct source **out, const char *path, struct err *err);
void source_close(struct source **s);
/* Goes on towards @limit_seq (0 = the end), or back to it, for about @budget_us (0 = until it is
 * there; a first picture, once in a long while, takes some 5 ms more). Returns how many events were
 * taken in; -1 on failure. */
int source_sync(struct source *s, uint64_t limit_seq, int64_t budget_us);
/* At most @max events (0 = all), whatever it takes. */
int source_take(struct source *s, uint64_t limit_seq, int max);
/* There is more to be folded: source_sync goes on. */
bool source_reading(const struct source *s);
/* How much of the way to the cursor has been read: 100 = all of it. */
int source_percent(const struct source *s, uint64_t limit_seq);
/* Goes to exactly @seq, whatever it takes. */
void source_seek(struct source *s, uint64_t seq);
/* Keeps a way back from now on, for cursors that move: the whole is then folded to its end once,
 * whatever the cursor. */
void source_keep_way(struct source *s);

/* model_agent_state, and AGENT_LOST for whoever would go on if the session were not lost. */
enum agent_state source_agent_state(const struct source *s, const struct model_agent *a);

/* The body of event @seq; returns owned, NULL if there is none (gone, redacted). */
json_t *source_body(struct source *s, uint64_t seq);
/* Bytes of one stream of an action that had come by the cursor: at most @max from @from on. Returns
 * how many there are in all. */
uint64_t source_output(struct source *s, uint64_t action, int stream, uint64_t from, uint64_t max,
		       struct buf *out);
/* The last @max of them. Returns the offset of the first. */
uint64_t source_tail(struct source *s, uint64_t action, int stream, size_t max, struct buf *out);

#endif
