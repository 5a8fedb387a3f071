/* One answer of a model on its way to the agent: bytes in, the same bytes out, and their meaning
 * beside them. No I/O.
 *
 *  1. Without a gate every byte passes at once. With one, events pass whole, up to the first that
 *     belongs to a tool call; it and everything after it is held until the owner has checked the
 *     calls against policy. An answer that is not a stream is held whole. Bytes fed together pass
 *     together, and their text is reported together.
 *  2. An answer that can't be parsed passes, and is reported as an answer without calls; at most
 *     ANSWER_HELD_MAX is held: a longer answer is marked `over`, its calls must be refused.
 *  3. An answer may continue another one whose calls were refused (the model was asked again): then
 *     its numbers of blocks continue after those that had passed, and its head is left out if one
 *     has passed.
 *  4. A stream that was cut keeps the last numbers of its usage; `complete` is set if it came to
 *     its end. */
#ifndef PROXY_ANSWER_H
#define PROXY_ANSWER_H

#include "proxy/sse_template.h"
#include "proxy/speak.h"

enum { ANSWER_HELD_MAX = 32 << 20, ANSWER_CALLS_MAX = 256 };
#define NO_CALL SIZE_MAX

struct answer_call {
	char *id, *name;
	struct buf args; /* as the model wrote them; JSON, except of custom tools */
	bool custom;	 /* args are plain text */
	json_t *item;	 /* as it goes back in the next request; NULL: made from the above */
	int64_t index;
};

struct answer_usage {
	int64_t in, out, cached, written; /* in: all that was read, cached included */
	int64_t written_1h;		  /* of written: for an hour */
	int64_t image_in, image_out;	  /* of in and out: tokens of images */
	char tier[16], geo[8];		  /* "batch", "us"; "" when the price is the usual one */
	bool known;
};

struct answer {
	enum speak speak;
	bool stream, gate;
	void (*pass)(void *self, const void *bytes, size_t len);
	void (*text)(void *self, const char *bytes, size_t len); /* of what the model says */
	void *self;
	/* what it was */
	struct answer_call *call;
	size_t nr_calls, cap_calls;
	struct answer_usage usage;
	struct buf said;
	char *id, *model, *stop, tier[16];
	json_t *blocks; /* what goes back when the model is asked again, in its own form */
	bool complete, failed, over;
	/* what has passed */
	bool begun;   /* its head */
	size_t items; /* blocks, whole */
	bool holding;
	struct buf held;
	/* splitter */
	struct buf event; /* bytes of an event that is not whole yet */
	size_t scanned;
	struct alike alike;
	bool to_said, to_part; /* where the words of events that are alike go */
	size_t to_call;	       /* NO_CALL none */
	/* call whose arguments the current event continues, and where; NO_CALL: not to be
	 * learned */
	size_t grown, from;
	unsigned nr_grown;
	const char *run;      /* bytes that may pass, not passed yet; in event */
	size_t run_len, told; /* told: bytes of said */
	size_t shift;	      /* rule 3 */
	bool headless;
	int64_t open; /* index of the block that is open; -1 none */
	struct buf part, sign;
};

/* @after: rule 3, NULL for a first answer. */
void answer_init(struct answer *a, enum speak speak, bool stream, bool gate,
		 const struct answer *after);
void answer_release(struct answer *a);
void answer_feed(struct answer *a, const void *bytes, size_t len);
/* The stream is over: bytes held without need pass; calls wait for answer_pass. */
void answer_end(struct answer *a);
/* Passes what was held. */
void answer_pass(struct answer *a);

/* Its arguments as an object; NULL when they are none. Returns owned. */
json_t *answer_call_args(const struct answer_call *c);
/* "end" "calls" "length" "refused", as wire/host.h REP has it. */
const char *answer_stop(const struct answer *a);
/* The request that asks again: @req, what the model said, and for each of its calls @why[i] as its
 * result. Returns owned. */
json_t *answer_ask_again(const struct answer *a, const json_t *req, const char *const *why);

#endif
