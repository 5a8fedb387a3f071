/* Server-sent events out of a stream of bytes, by the letter of the HTML standard (WHATWG, "event
 * stream interpretation"): LF, CR and CRLF end a line, also when a CRLF is split over two chunks;
 * one leading BOM goes; a line that begins with a colon is a comment; one space after the colon
 * goes; an event without data is not dispatched.
 *
 * One thing is added: at the end of the stream an event that lacks its empty line is handed out
 * with @last set, because some model servers leave the line away; a caller that keeps to the
 * standard drops it. */
#ifndef HTTP_SSE_H
#define HTTP_SSE_H

#include "base/buf.h"
#include "base/err.h"

struct sse_event {
	const char *type; /* "message" unless named */
	const char *data; /* NUL-terminated, may hold NUL inside: use len */
	size_t len;
	const char *id; /* last event id so far, "" none */
	bool last;	/* cut off by the end of the stream */
};

typedef void sse_fn(void *self, const struct sse_event *ev);

struct sse {
	sse_fn *fn;
	void *self;
	struct buf line, data, type, id;
	size_t max;	  /* bytes of one event */
	int64_t retry_ms; /* as the server asked; -1 never */
	uint8_t bom;	  /* how much of the BOM may still come */
	bool cr, had_data, over;
};

enum { SSE_EVENT_MAX = 64 << 20 };

/* @max 0 = SSE_EVENT_MAX. */
void sse_init(struct sse *s, size_t max, sse_fn *fn, void *self);
void sse_release(struct sse *s);
/* Fails with ERR_FULL when an event is larger than the limit; nothing comes out after that. */
NODISCARD int sse_feed(struct sse *s, const void *bytes, size_t len, struct err *err);
void sse_end(struct sse *s);

#endif
