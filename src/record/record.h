/* The recorder: the only writer of a session file. Loop thread only (a writer thread of its own
 * sits behind it).
 *
 * Rules (DESIGN.md 4, schema/README.md):
 * 1. record_append gives the seq at once and keeps a copy of the event. The appends of one loop
 *    turn are committed in one transaction (NORMAL), in order.
 * 2. record_barrier is the only way to an effect: its callback runs on the loop after a FULL commit
 *    that holds everything up to its seq (events, segments, objects handed in before it).
 * 3. A batch that fails for lack of space, quota, or a lock is kept and retried whole; barriers
 *    wait meanwhile and record_state is RECORD_STALLED. An I/O error ends the session: RECORD_DEAD,
 *    barriers never run.
 * 4. Only committed events are announced (on_head), and readers open the file themselves:
 *    src/record/read/. */
#ifndef RECORD_RECORD_H
#define RECORD_RECORD_H

#include "base/hash.h"
#include "loop/loop.h"
#include "record/read/lease.h"
#include "record/read/object.h"
#include "wire/event.h"

struct record;

enum record_state { RECORD_OK, RECORD_STALLED, RECORD_DEAD };

struct record_ops {
	/* A commit has made everything up to @seq readable. At most once a loop turn. */
	void (*on_head)(void *self, uint64_t seq);
	/* The state changed; @why is one line for users ("no space left on device, retrying"). */
	void (*on_state)(void *self, enum record_state state, const char *why);
	/* The file is a copy for others: additions are signed but not anchored. The session's
	 * anchors belong to the original, which would then end before them. */
	bool copy;
};

/* Creates DIR/DATE-NAME-ID.glass (0600; the directory 0700 and fsynced), takes its lease (flock on
 * the file's companion), writes session.start with @start_body (borrowed JSON object; the recorder
 * adds id, name, version, key). Refuses network file systems (ERR_UNSUPPORTED, names the option to
 * use). */
NODISCARD int record_create(struct record **out, struct loop *l, const char *dir, const char *name,
			    json_t *start_body, const struct record_ops *ops, void *self,
			    struct err *err);

/* Opens a session whose supervisor has gone and continues it (after a crash, or resume): verifies
 * from the last checkpoint against the anchor, appends session.resumed. ERR_BUSY if its writer
 * lives, ERR_DAMAGED if the file is shorter than its anchor, or than its writer's last commit. */
NODISCARD int record_resume(struct record **out, struct loop *l, const char *path,
			    const struct record_ops *ops, void *self, struct err *err);

/* Is the file whole, and not shorter than its anchor says and than @was, what its writer had noted?
 * Fills @torn with where its log breaks off, if nobody knows what stood there; else with "". */
NODISCARD int resume_check(const char *path, const struct lease_note *was, char *torn, size_t cap,
			   struct err *err);

/* Creates a session file beside @from (or in @dir) that starts with the first @seq events of it,
 * unchanged: events, their output, objects, and messages; table origin names their session.
 * record_resume continues it and appends session.forked instead of session.resumed. @name NULL: as
 * @from. One transaction makes the copy; a failed one leaves nothing. ERR_NOENT: no event has the
 * number @seq; ERR_INVALID: a redaction after @seq affects the copied events. */
NODISCARD int record_fork(const char *from, uint64_t seq, const char *dir, const char *name,
			  char **path_out, struct err *err);

const char *record_path(const struct record *r); /* borrows */
const char *record_id(const struct record *r);	 /* borrows; "s-7k2m9q" */
enum record_state record_state(const struct record *r);
uint64_t record_head(const struct record *r); /* last seq given */
uint64_t record_committed(const struct record *r);

/* Secret values that must never reach the file. Every event body and every output stream is
 * searched for them before it is kept (output also over chunk boundaries: the last bytes of a
 * stream that could be the beginning of a value wait for their successors or the end of the stream)
 * and each occurrence becomes "<secret:NAME>". Copies both strings. Values under 6 bytes:
 * refused. */
NODISCARD int record_secret(struct record *r, const char *name, const char *value, size_t len,
			    struct err *err);

/* Values that the records created or opened after it know from the beginning. Copies @s; NULL =
 * none. */
struct secrets;
void record_hide(const struct secrets *s);
/* The secrets that a record knows now, for a search on another thread; without honeytokens. Returns
 * owned. */
struct secrets *record_hidden(const struct record *r);

/* As record_secret, for a honeytoken: wherever it is found (an event, an output, a message of a
 * model), honeytoken.seen follows; once for each place and action, as far as the last of them are
 * remembered. The rules of record_secret hold. */
NODISCARD int record_honeytoken(struct record *r, const char *name, const char *value, size_t len,
				struct err *err);
/* From now on text with the shape of a live token (live_token.h) becomes "<secret:token-SHAPE-N>"
 * in output, and so does its value in all later events. A possible token at the end of a piece is
 * recorded when the next piece shows that it is not a token, or when its action ends. A terminal's
 * echo of a token that is typed key by key is held behind the fixed beginning of the token. */
void record_hide_tokens(struct record *r);
/* The honeytokens of a record, for objects_look. Returns owned; NULL without honeytokens. */
struct secrets *record_honeytokens(const struct record *r);
/* Bytes of action @action that are sent out and not kept (a connection's): are there honeytokens in
 * them? @held: the caller's, one for each connection. */
void record_look(struct record *r, uint64_t action, struct buf *held, const void *bytes,
		 size_t len);

/* Appends one event; @ev's seq, ts_us and mono_us are filled in by the recorder, its body is
 * copied. Returns the seq; cannot fail (rule 3). A body that is not a JSON object is a bug
 * (assert). */
uint64_t record_append(struct record *r, const struct event *ev);
/* The same for a body still in parts: takes @body. */
uint64_t record_append_json(struct record *r, enum event_kind kind, uint64_t cause, uint64_t agent,
			    uint64_t box, uint64_t action, json_t *body);

typedef void record_done_fn(void *self);
/* @done runs on the loop when rule 2 holds for @seq (never from inside this call). */
void record_barrier(struct record *r, uint64_t seq, record_done_fn *done, void *self);
/* Forgets barriers of @self that have not run. */
void record_barrier_forget(struct record *r, const void *self);

/* Output of an action. Streams: 1 stdout, 2 stderr, 3 pty, 4 model request and 5 model response
 * (the bytes on the wire), 6 what the model says, as it comes; apart, whole, with times. Chunks are
 * gathered into segments of 16 to 64 KiB (closed also after 20 ms of silence and at
 * record_output_end). */
enum record_stream {
	STREAM_OUT = 1,
	STREAM_ERR = 2,
	STREAM_PTY = 3,
	STREAM_REQUEST = 4,
	STREAM_RESPONSE = 5,
	STREAM_TEXT = 6
};
void record_output(struct record *r, uint64_t action, enum record_stream s, const void *bytes,
		   size_t len);
/* all its streams; call before action.ended is appended */
void record_output_end(struct record *r, uint64_t action);
/* Output of @s kept back as a possible start of a secret is recorded now. Returns the number of
 * recorded bytes up to now. */
uint64_t record_output_mark(struct record *r, uint64_t action, enum record_stream s);
/* The output of @s so far can be read after the next barrier. */
void record_output_seal(struct record *r, uint64_t action, enum record_stream s);
/* The producer dropped @bytes bytes: recorded as output.gap; offsets continue after the gap. */
void record_output_gap(struct record *r, uint64_t action, enum record_stream s, uint64_t bytes,
		       const char *why);
/* Output in order, cleaned of secrets, before it is kept (for the caller of the action). One
 * tap. */
typedef void record_clean_fn(void *self, uint64_t action, enum record_stream s, const void *bytes,
			     size_t len);
void record_on_output(struct record *r, record_clean_fn *fn, void *self);
/* One text cleaned of secrets: puts it into @out (reset first) and returns true if it held one. */
bool record_clean(struct record *r, const void *bytes, size_t len, struct buf *out);
/* The same for a text that comes in pieces: @held, the caller's, keeps of it what could be the
 * beginning of a secret until the next piece or the @end; @out is added to. */
void record_clean_piece(struct record *r, struct buf *held, const void *bytes, size_t len, bool end,
			struct buf *out);
/* The same for input, which has no live tokens after record_hide_tokens. */
void record_clean_input(struct record *r, struct buf *held, const void *bytes, size_t len, bool end,
			struct buf *out);
/* Input of a running @action for its proc.stdin, cleaned as above; @out is added to. The record
 * keeps what could be the beginning of a secret: returns its size (held_bytes). The next piece
 * continues it, or an event at record_output_end. */
int64_t record_typed_input(struct record *r, uint64_t action, const void *bytes, size_t len,
			   struct buf *out);
/* The same for JSON text, which stays JSON: for text sent to a script or a console. */
bool record_clean_json(struct record *r, const char *text, size_t len, struct buf *out);
/* The same for parsed JSON, in place: the texts and the bytes in it ({"b64": ...}). */
bool record_clean_value(struct record *r, json_t *body);
/* Bytes that wait for the writer. Above RECORD_FLOOD producers must be slowed (stop reading the
 * pipe). */
enum { RECORD_FLOOD = 8 << 20 };
size_t record_backlog(const struct record *r);

/* Git objects of one snapshot, handed over as a unit that is committed in one transaction together
 * with @ev. The set is built on any one thread; record_objects takes it. Objects that the file has
 * already are dropped by the writer. */
struct objects;
struct objects *objects_new(void);
void objects_free(struct objects **o);
/* Scans files added from now on for @bait (borrowed until record_objects or objects_free; may be
 * NULL) and for live tokens; record_objects notes each find. */
void objects_look(struct objects *o, const struct secrets *bait);
/* For a session without live tokens (record_hide_tokens): true if a file holds one, so that its
 * bytes must not be added. record_objects notes it. */
bool objects_hide(struct objects *o, const void *bytes, size_t len, const struct object_id *oid);
/* Copies the bytes (compresses them). Fills @id_out. */
void objects_add(struct objects *o, enum object_type type, const void *bytes, size_t len,
		 struct object_id *id_out);
size_t objects_count(const struct objects *o);
/* Returns the event's seq. To its body the recorder adds "objects": how many, "objects_hash": H
 * over sorted (oid, H). */
uint64_t record_objects(struct record *r, struct objects *o, const struct event *ev);

/* Model messages pooled by content: kept once however often they are sent. Fills @id_out with
 * H(bytes). */
void record_message(struct record *r, const void *bytes, size_t len, struct hash *id_out);
/* What a body holds for a list of them, so that a chat that grows costs what is new in it, not its
 * square: @names (array of the hexadecimal H of each; taken) itself while it is short, else the
 * name of a pooled list (schema/README.md, rules 24 to 28), which session_list reads. Call before
 * the event that holds it is appended. Returns owned. */
json_t *record_list(struct record *r, json_t *names) NODISCARD;

/* Removes the named data permanently: "event" (by seq), "segment" or "message" (by row number),
 * "object" (by @oid); who/why are recorded. ERR_NOENT: the file does not hold it. The file still
 * verifies, as "1 body redacted". @done runs when file, index, and WAL hold nothing of it. */
NODISCARD int record_redact(struct record *r, const char *what, uint64_t seq_or_segment,
			    const struct object_id *oid, const char *who, const char *why,
			    record_done_fn *done, void *self, struct err *err);

/* In @done of a redaction: why a shard of the catalog, or a copy in an archive, may still hold
 * words of it; NULL: none does. Borrowed. */
const char *record_catalog_left(const struct record *r);

/* Signed checkpoint and anchor now (also made every 1,000 events or 60 s, at decisions, at the
 * end). */
void record_checkpoint(struct record *r);

/* Clean end: appends session.end with @end_body (takes it), last checkpoint, one file in
 * journal_mode=DELETE. Blocks until done (bounded by the backlog). Frees @r in every case. */
NODISCARD int record_close(struct record **r, json_t *end_body, struct err *err);
/* As if killed: for tests and for the end after RECORD_DEAD. */
void record_abandon(struct record **r);

/* For fixtures that must look the same every time: what would be the clocks, chance and the
 * machine's name. Holds for the records created after it; salts and signatures stay what they are.
 * NULL = the real ones. Borrowed. */
struct record_fixed {
	int64_t (*wall_us)(void);
	int64_t (*mono_us)(void);
	int64_t (*asleep_us)(void); /* may be NULL: never */
	const char *id; /* six characters; the file is DATE-NAME-ID.glass of the fixed date */
	const char *host;
};
void record_fix(const struct record_fixed *fixed);

#endif
