/* Whether a failed call to a model or a box provider is tried again, and when: the vendors' own
 * rules.
 *
 * Source: behavior of the Anthropic and OpenAI client libraries: x-should-retry goes before
 * everything; then 408, 409, 429 and 5xx (529 = overloaded); retry-after-ms before retry-after
 * (seconds or an HTTP date); else half a second doubled each time. A 429 that says that money or
 * quota has run out is final. A stream that broke off is tried again only if nothing of it has had
 * an effect. */
#ifndef HTTP_RETRY_H
#define HTTP_RETRY_H

#include "http/client.h"

enum { RETRY_MAX = 8 };

struct retry_hint {	  /* what the head of the answer said; kept while the body comes */
	int8_t should;	  /* x-should-retry: 1, 0; -1 not said */
	int64_t after_us; /* -1 not said */
};

struct retry_case {
	enum http_how how;
	/* 0 none; an error inside a 200 stream counts as the status that its kind stands for */
	int status;
	struct retry_hint hint;
	const char *body; /* of an error answer, NULL-terminated; may be NULL */
	bool had_effect;  /* something of the answer has been acted on */
	unsigned tries;	  /* failed so far, this one included */
	unsigned most;	  /* the maximum; 0 = RETRY_MAX */
};

/* Reads the headers; @now_s is wall time, for an HTTP date in an answer that does not say what its
 * sender's clock said. */
struct retry_hint retry_hint(const struct http_head *head, int64_t now_s);
/* Microseconds to wait before the next try, or -1: give up. @random spreads the waiting: any 32
 * bits. */
int64_t retry_after_us(const struct retry_case *c, uint32_t random);

#endif
