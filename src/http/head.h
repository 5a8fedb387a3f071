/* The head of an HTTP/1.x request and the framing of its body: bytes in, verdicts out, no I/O.
 * Strict, because what two readers understand differently is how requests are smuggled:
 *
 *  1. Lines end with CRLF; no line is continued; a name is a token that the colon follows at once;
 *  values hold no controls.
 *  2. The target is a path ("/..."), of "http://HOST/...", as proxies are asked, what follows HOST
 *  (authority), or for CONNECT "HOST:PORT"; HTTP/1.1 has exactly one Host.
 *  3. A body has either one Content-Length of digits or "Transfer-Encoding: chunked" (HTTP/1.1
 *  only), never both.
 * Source: RFC 9112. Fuzzed (tests/fuzz/f_http_head.c). Any thread. */
#ifndef HTTP_HEAD_H
#define HTTP_HEAD_H

#include <sys/types.h>

#include "base/buf.h"
#include "http/client.h"

enum { HTTP_HEAD_MAX = 32 << 10, HTTP_FIELDS_MAX = 64 };

struct http_ask {
	size_t len;	       /* of the head with its empty line */
	char *method, *target; /* inside text */
	const char *authority; /* HOST of a target with one, not terminated; NULL */
	size_t authority_len;
	bool connect; /* CONNECT: authority is HOST:PORT, target is empty */
	struct http_header field[HTTP_FIELDS_MAX]; /* names in lower case, inside text */
	size_t nr;
	bool old;   /* HTTP/1.0: knows no chunks */
	bool keep;  /* the connection may serve another request */
	bool waits; /* Expect: 100-continue */
	bool chunked;
	uint64_t length; /* of the body; 0 when chunked */
	char *text;	 /* owned */
};

/* 1: @out is filled (release it); 0: more bytes are needed; -1: refused, @status_out is the HTTP
 * status to say so and @why_out a static sentence. */
int http_ask_parse(const char *bytes, size_t len, struct http_ask *out, int *status_out,
		   const char **why_out);
void http_ask_release(struct http_ask *a);
/* Value of a field, NULL if it is absent; @name in lower case. */
const char *http_ask_field(const struct http_ask *a, const char *name);

/* A chunked body. Appends what it holds to @out, returns how many of @len bytes belong to it and
 * sets @done at its end; -1: not chunked as it should be, or more than @max bytes (then @out->len >
 * @max). */
struct http_chunks {
	uint64_t left;
	unsigned state, digits, line;
	bool done;
};
ssize_t http_chunks_feed(struct http_chunks *c, const char *bytes, size_t len, size_t max,
			 struct buf *out);

#endif
