/* The data of a running session for an OTLP collector: the spans that have ended after an event, as
 * a request for /v1/traces, and the session's state, as one for /v1/metrics.
 *
 * Read from committed events. The session file itself is the queue, so nothing is kept in memory
 * for an unreachable collector, and nothing is lost. One batch holds at most OTLP_SPANS spans,
 * or about OTLP_BYTES bytes; `more` is set if there are others. A span is made when its subject
 * has ended. Its ids are those of `export -F otlp`, so that a span sent twice is the same one.
 * tree.after is included if the snapshot was there by then. Any thread. */
#ifndef EXCHANGE_OTLP_BATCH_H
#define EXCHANGE_OTLP_BATCH_H

#include "exchange/otlp.h"

enum { OTLP_SPANS = 256, OTLP_BYTES = 1 << 20 };

/* Counts since the session began, and what holds at this moment. */
struct otlp_state {
	bool running;
	/* actions; failed: did not do what they should, denied ones among them */
	uint64_t ended, failed;
	uint64_t held;			/* actions that wait for a user */
	int64_t queue_age_us;		/* how long the first of them has; 0 none waits */
	uint64_t lag_events, lag_bytes; /* what the recorder has taken and not committed yet */
	int64_t now_us;			/* wall */
};

struct otlp_batch {
	uint64_t after; /* events behind this one */
	uint64_t upto;	/* and not behind this one */
	bool content;	/* with messages and output */
	/* the session ends: its own span too, and those of agents that have no end */
	bool last;
	bool ok;	      /* last: it was a success */
	const uint64_t *open; /* last: those agents; borrowed */
	size_t nr_open;
	int64_t now_us;
	/* filled */
	struct buf traces; /* the request; empty when there are no spans */
	size_t spans;
	uint64_t reached;	/* the next batch begins behind this event */
	uint64_t ended, failed; /* actions in this batch */
	bool more;
};
NODISCARD int otlp_batch_read(struct otlp_batch *b, struct session *s, struct err *err);
void otlp_batch_release(struct otlp_batch *b);

/* Appends the request. Counts are cumulative sums, the rest are gauges: sandglass.sessions,
 * .actions.ended, .actions.failed, .actions.held, .queue.age (us), .recorder.lag (events),
 * .recorder.backlog (bytes). */
void otlp_metrics(const struct otlp_state *st, struct session *s, struct buf *out);

#endif
