/* Reading a session file: live, finished, foreign or in a read-only place; never writes, runs or
 * needs a loop.
 *
 * A struct session is one read-only connection. Every function is one short query (a read
 * transaction never outlives the call). Threads: one session per thread. */
#ifndef RECORD_READ_SESSION_H
#define RECORD_READ_SESSION_H

#include <stdatomic.h>

#include "base/mem.h"
#include "record/read/chain.h"
#include "record/read/object.h"
#include "wire/event.h"

struct session;

/* DESIGN.md 4, "One file is true at a clean end": mode=ro; a clean file in a read-only place opens
 * immutable; a live or unclean one there is copied with its WAL to a private place first. Errors,
 * one line each: ERR_NOENT, ERR_INVALID (a directory, not a session file), ERR_UNSUPPORTED (a newer
 * format), ERR_DAMAGED. Older formats are read as they are. */
NODISCARD int session_open(struct session **out, const char *path, struct err *err);
/* The same, until @stop (borrowed; it outlives the session) is true: opening, reading and
 * verify_session then give up, with ERR_CANCELLED. */
NODISCARD int session_open_until(struct session **out, const char *path, const atomic_bool *stop,
				 struct err *err);
/* From any thread while it is open, after @stop has been set: also the one long step that does not
 * look at it. */
void session_interrupt(struct session *s);
void session_close(struct session **s);

/* A reader that saw a session run has its file in two parts, and while it has, nobody else can go
 * on with the file once its writer has left it as one (merge, undo, resume). True: it lies there as
 * one, and @s still has it as two. */
bool session_left(struct session *s);
/* Reads the file from now on as it lies there. Feeds stay where they are. On failure nothing has
 * changed. */
NODISCARD int session_rejoin(struct session *s, struct err *err);

const char *session_path(const struct session *s);
const char *session_id(const struct session *s);     /* "s-7k2m9q" */
const uint8_t *session_key(const struct session *s); /* 32 bytes: who recorded it signs with this */
const char *session_name(const struct session *s);
bool session_live(struct session *s);	  /* its writer holds the lease now */
uint64_t session_head(struct session *s); /* last committed seq; 0 = empty */

/* The origin of events and the state of their chain: enough to identify a copy of the file. */
struct session_end {
	uint64_t seq; /* of the last event; 0 = none, then chain is that of event 0 */
	uint8_t uuid[UUID_LEN];
	struct hash chain;
};
NODISCARD int session_end(struct session *s, struct session_end *out, struct err *err);

/* Event @seq into @ev; the body lives in @arena. ERR_NOENT if there is none. */
NODISCARD int session_event(struct session *s, uint64_t seq, struct event *ev, struct arena *arena,
			    struct err *err);

/* The life of the action @action: its judged, held, decided, .., ended, in order (its output and
 * snapshots are many and are left out). @ev is borrowed for the call; @fn must not ask for steps
 * itself. */
typedef void session_step_fn(void *self, const struct event *ev);
NODISCARD int session_steps(struct session *s, uint64_t action, session_step_fn *fn, void *self,
			    struct err *err);

/* Between the two, many short reads are one (and see one state): some milliseconds, as for a
 * screen; never across a wait. */
void session_hold(struct session *s);
void session_let_go(struct session *s);

/* A cursor over events in order: live is "the cursor follows the end", replay is "the cursor is
 * somewhere else". */
struct feed;
enum feed_where { FEED_ALL, FEED_AGENT, FEED_BOX, FEED_ACTION };
NODISCARD int feed_new(struct feed **out, struct session *s, enum feed_where where, uint64_t id,
		       struct err *err);
void feed_free(struct feed **f);
/* next is the first event with seq > @seq; UINT64_MAX = the end */
void feed_seek(struct feed *f, uint64_t seq);
uint64_t feed_seq(const struct feed *f);
/* 1 and an event (its body in @arena), 0 none now, -1 failure. Reads ahead in pages; never past
 * @limit_seq (0 = head). */
int feed_next(struct feed *f, struct event *ev, struct arena *arena, uint64_t limit_seq,
	      struct err *err);
/* The same backwards: events with seq < the cursor, newest first. */
int feed_prev(struct feed *f, struct event *ev, struct arena *arena, struct err *err);

/* The next @max events behind @after_seq without their bodies (seq, agent, action, time, kind): a
 * tenth of the cost. */
NODISCARD int session_headers(struct session *s, uint64_t after_seq, struct event *ev, size_t max,
			      size_t *nr_out, struct err *err);
/* Some @max events up to @upto that tell most about how things stand there: the first ones, the
 * last ones, and those of each agent; ascending. For a first picture of a session that is too long
 * to be read at once. @seq_out: owned. */
NODISCARD int session_outline(struct session *s, uint64_t upto, size_t max, uint64_t **seq_out,
			      size_t *nr_out, struct err *err);

/* Output. Bytes of stream @stream (record.h) of @action from offset @off: appends up to @max to
 * @out. Raw: may split UTF-8 and escapes. Redacted segments read as "<redacted N bytes>". */
NODISCARD int session_output(struct session *s, uint64_t action, int stream, uint64_t off,
			     size_t max, struct buf *out, struct err *err);
uint64_t session_output_size(struct session *s, uint64_t action, int stream);
/* Both of stdout and stderr in the order in which they came: calls @fn per run of one stream. Stops
 * when it says false. */
typedef bool session_output_fn(void *self, int stream, int64_t ts_us, const void *bytes,
			       size_t len);
NODISCARD int session_output_each(struct session *s, uint64_t action, session_output_fn *fn,
				  void *self, struct err *err);

/* The chunks of one segment of any stream (by its row number, "segment" of an output event), in
 * order, with their times. */
NODISCARD int session_segment_each(struct session *s, uint64_t segment, session_output_fn *fn,
				   void *self, struct err *err);

/* Raw git object; @out reset first. ERR_NOENT when the file does not hold it (hash only),
 * ERR_CANCELLED redacted. */
NODISCARD int session_object(struct session *s, const struct object_id *id,
			     enum object_type *type_out, struct buf *out, struct err *err);
/* How many bytes that would be; none of them is read. -1 when the file has no such object. */
int64_t session_object_size(struct session *s, const struct object_id *id);
NODISCARD int session_message(struct session *s, const struct hash *id, struct buf *out,
			      struct err *err);

/* The row number of an event (its seq), segment, message (number given) or object (by @oid); 0 =
 * there is none. */
uint64_t session_row_of(struct session *s, const char *what, uint64_t id,
			const struct object_id *oid);

/* Row numbers of the action's segments of output behind @after, ascending: at most @max. */
NODISCARD int session_segments(struct session *s, uint64_t action, uint64_t after, uint64_t *row,
			       size_t max, size_t *nr_out, struct err *err);

/* Full text: seqs (ascending) of events and output that match; words are and-ed, "a phrase",
 * prefix*. Any script; a word is found inside longer ones too, case is not looked at. What the
 * index does not reach yet is read through. */
NODISCARD int session_search(struct session *s, const char *match, uint64_t after_seq, size_t max,
			     uint64_t *seqs, size_t *nr_out, struct err *err);

/* The first event behind @after; 0 none. In a file of ours that is the next number. ERR_DAMAGED: it
 * cannot be read. */
NODISCARD int session_next(struct session *s, uint64_t after, uint64_t *seq_out, struct err *err);
/* How far the search index reaches (a seq); it follows in the background. */
uint64_t session_indexed(struct session *s);
/* It has no index because it is short: reading it through takes milliseconds. */
enum { SESSION_SHORT_EVENTS = 4096, SESSION_SHORT_BYTES = 4 << 20 };
bool session_short(struct session *s);
/* The blocks of numbers and lists beside it (read/values.h) reach the last event; of a file from
 * before there were any they do not. */
bool session_valued(struct session *s);

/* Called now and then while events behind the index are read through: where that is, and where it
 * ends. NULL: nobody is. */
typedef void session_reading_fn(void *self, uint64_t at, uint64_t head);
void session_on_reading(struct session *s, session_reading_fn *fn, void *self);
void session_reading(struct session *s, uint64_t at); /* for callers that read it through */

/* The same words asked of one event after the other; the session outlives it. */
struct look;
struct look *look_new(struct session *s, const char *match);
/* one phrase, as it is; it may hold quotes */
struct look *look_new_text(struct session *s, const char *text);
void look_free(struct look **l);
bool look_holds(struct look *l, uint64_t seq);
/* A text could not be read, so that look_holds has said no where it may not be so: -1, and the
 * first reason. */
NODISCARD int look_failed(const struct look *l, struct err *err);
/* Asks the index for the events behind @after up to @upto, which it must reach, unless an earlier
 * answer says it: from now on look_holds does not read those of them that cannot hold the words. A
 * range that begins where the last one did is only added to. */
NODISCARD int look_range(struct look *l, uint64_t after, uint64_t upto, struct err *err);
/* From now on the index is asked less than it knows, which is faster: look_next gives more events
 * that do not hold the words (never fewer that do). What look_range asked before is forgotten when
 * this changes. At first it is off. */
void look_coarsely(struct look *l, bool on);
/* The index knows more about that range than it was asked: a short one, and one of few trigrams,
 * are asked in full all the same. */
bool look_sampled(const struct look *l);
/* The next event behind @seq in that range that may hold them; 0 none. */
uint64_t look_next(const struct look *l, uint64_t seq);

/* For src/query only: the connection (struct sqlite3 *), to run a compiled filter. */
void *session_handle(struct session *s);
/* Bounds queries by the size of the file again, after a caller has used the progress handler. */
void session_bound(struct session *s);

#endif
