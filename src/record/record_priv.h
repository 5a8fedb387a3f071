/* Shared by the parts of the recorder: items on their way from the loop thread to the writer
 * thread. */
#ifndef RECORD_RECORD_PRIV_H
#define RECORD_RECORD_PRIV_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/mem.h"
#include "record/live_token.h"
#include "record/lru.h"
#include "record/record.h"
#include "record/secrets.h"
#include "record/store.h"

/* --- items: made on the loop thread, freed by the writer -------------------------------------- */
enum item_type {
	ITEM_EVENT,
	ITEM_SEGMENT,
	ITEM_OBJECTS,
	ITEM_MESSAGE,
	ITEM_REDACT,
	ITEM_CHECKPOINT
};

struct item {
	struct item *next;
	enum item_type type;
	size_t cost; /* what it adds to the backlog */
	struct event ev;
	union {
		struct store_segment segment; /* owns data and times */
		struct objects *objects;
		struct {
			struct hash id;
			bool plain; /* kept as it is */
		} message;
		struct store_redact redact;
	};
	char bytes[]; /* body of the event, or the message; ev.body points here */
};

struct batch {
	struct batch *next;
	struct item *first, **last;
	size_t cost;
	bool full;    /* must be durable */
	bool scrub;   /* holds a redaction */
	bool written; /* into the transaction that is open */
};

/* The writer's: turns that were taken and are not committed yet. */
struct unsettled {
	struct batch *first, **last;
	size_t cost;
	int64_t since_us;
	bool begun;	 /* the transaction */
	bool full;	 /* what is asked of its commit */
	bool checkpoint; /* signed at its end */
	bool scrub;
};

struct barrier {
	uint64_t seq;
	record_done_fn *done;
	void *self;
};

/* An action that has been requested and has not ended: its output belongs to the same agent and
 * box. */
struct open_action {
	uint64_t action, agent, box;
};

struct flusher { /* a deferred call cannot be taken back: it outlives its record with NULL inside */
	struct record *r;
};

struct record {
	struct loop *loop;
	struct record_ops ops;
	void *self;
	char *path, *id;
	uint8_t uuid[UUID_LEN];
	int lease, reserve;
	struct loop_wake *wake;
	struct loop_timer *timer;	/* closes segments that have fallen silent */
	struct loop_timer *quiet_timer; /* a checkpoint after 60 s */
	struct flusher *flusher;
	struct secrets *secrets;
	struct found *found; /* honeytoken_seen.c */
	bool hide_tokens;    /* token_hide.c */
	size_t tokens_hidden;
	struct outputs *outputs;
	struct recent *pooled; /* messages handed over; NULL none yet */
	struct recent *lists;  /* list.c; NULL none yet */
	record_clean_fn *tap;
	void *tap_self;
	struct batch *turn; /* what this loop turn has appended */
	struct barrier *barrier;
	size_t barriers, barrier_cap;
	struct open_action *open;
	size_t opens, open_cap;
	struct buf text, clean; /* scratch */
	uint64_t head, announced;
	int64_t asleep;	   /* how long the machine has slept since its boot, as last noted */
	int64_t clock_off; /* wall minus boot clock */
	int64_t mono_us;
	uint64_t checked; /* head at the last quiet checkpoint */
	enum record_state told;

	_Atomic size_t backlog;
	_Atomic int state;

	pthread_t thread;
	pthread_mutex_t mu;
	pthread_cond_t cond; /* for the writer */
	struct batch *queue, **queue_last;
	bool stop;    /* drain, then end */
	bool abandon; /* end at once */
	uint64_t committed, durable;
	char why[200]; /* of the state */
	struct redact_done *redacted;
	char catalog_left[600]; /* set by the writer before redacted */

	struct store *store; /* the writer's; the loop thread's before and after */
	struct unsettled unsettled;
};

int64_t record_wall_us(void); /* the clocks, or what stands for them */
int64_t record_mono_us(void);
int64_t record_asleep_us(void);

/* Hands <bytes, len> to the pool of messages unless it was before; fills @id_out with H of it. */
void record_pool(struct record *r, const void *bytes, size_t len, bool plain, struct hash *id_out);

struct redact_done {
	struct redact_done *next;
	record_done_fn *done;
	void *self;
};

struct item *item_new(enum item_type type, const void *bytes, size_t len);
void batch_free(struct batch *first); /* and those after it */
/* Gives the item's event its seq and times and queues it. */
uint64_t record_queue_event(struct record *r, struct item *i);
/* Hands this turn's batch to the writer. */
void record_flush(struct record *r);

/* honeytoken_seen.c: honeytokens that were found since they were noted last. */
struct object_found {
	const char *instead; /* of a honeytoken; NULL: a live token */
	struct object_id oid;
	const char *shape; /* of the live token; static */
	char *value;	   /* owned */
	size_t off, len;
	bool hidden; /* its file is not kept */
};
void honeytoken_seen_begin(struct record *r);
void honeytoken_seen_end(struct record *r);
size_t honeytoken_seen_mark(const struct record *r);
/* forgets finds since @mark: they were in a copy of recorded data */
void honeytoken_seen_forget(struct record *r, size_t mark);
/* Appends honeytoken.seen for each; @at: seq, agent, box and action of what held them. */
void honeytoken_seen_note(struct record *r, const char *where, const struct event *at);
struct token_place {
	int stream;
	uint64_t off;	    /* in the recorded stream */
	size_t shown;	    /* bytes that stand for the token there; 0: the token itself */
	struct event event; /* seq, agent, box and action of what held it */
};
/* Appends secret.seen; once for each token and action. */
void honeytoken_seen_note_token(struct record *r, const char *value, const struct live_token *t,
				const struct token_place *at);
struct token_look {
	size_t from; /* all tokens that begin before this place of the text are known */
	int found;
};
/* Appends secret.seen for text shaped like a live token that begins before @until in @text, which
 * is at @off of @stream; for a bounded number in all calls with @look. */
void honeytoken_seen_look_tokens(struct record *r, int stream, uint64_t off, const struct buf *text,
				 size_t until, struct token_look *look, const struct event *at);
void honeytoken_seen_note_file(struct record *r, const struct object_found *f,
			       const struct event *at);

/* token_hide.c */
struct token_hold {
	struct buf held; /* could continue a live token */
	struct buf past; /* the last bytes that were given out before it, of a terminal */
};
void token_hold_release(struct token_hold *h);
/* Moves what is certain from @h and <bytes, len> to the end of @out, without live tokens. @end: no
 * more comes. */
void token_hide_stream(struct record *r, struct token_hold *h, const void *bytes, size_t len,
		       bool end, const struct token_place *at, struct buf *out);
/* Makes a token that was found elsewhere a secret. */
void token_hide_learn(struct record *r, const char *shape, const char *value, size_t len);

/* The open action of that id, or NULL. */
const struct open_action *record_open_action(const struct record *r, uint64_t action);

void record_on_wake(void *self);
void record_on_quiet(void *self);

/* writer.c */
void writer_start(struct record *r);
void writer_end(struct record *r); /* joins */

/* output.c */
struct outputs *outputs_new(void);
void outputs_free(struct outputs **o);
void outputs_end_all(struct record *r);
void outputs_on_timer(void *self);

/* objects.c */
struct store_object *objects_items(struct objects *o, size_t *nr_out);

#endif
