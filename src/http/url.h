/* Web addresses, parsed by the same parser that makes the connection, so that policy checks the
 * address that is reached: "HTTP://EXAMPLE.org:443/a/../b" and "http://0x7f.1/" come out as they
 * will be used.
 *
 * Refused: schemes other than http and https, a user or password in the address, controls and
 * blanks, more than URL_MAX bytes. The fragment is dropped; names outside ASCII become punycode.
 * Any thread. */
#ifndef HTTP_URL_H
#define HTTP_URL_H

#include "base/err.h"

enum { URL_MAX = 8192 };

struct url {
	char *text; /* the whole, in one form */
	char *host; /* lower case; an IPv6 address without brackets */
	uint16_t port;
	bool tls;
};

/* Fills @out (release it). @base: what a relative @text is relative to, or NULL. ERR_INVALID with a
 * line. */
NODISCARD int url_parse(struct url *out, const struct url *base, const char *text, struct err *err);
void url_release(struct url *u);
bool url_same_origin(const struct url *a, const struct url *b);
/* Appends @bytes as a value of a query: bytes other than letters, digits, "-", "_", ".", and "~"
 * become %XX. */
struct buf;
void url_escape(const void *bytes, size_t len, struct buf *out);

#endif
