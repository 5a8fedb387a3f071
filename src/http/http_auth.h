/* Access to the HTTP servers of sandglass on the host (mcp serve, serve). A request needs a Host
 * that is the host, no web page as origin, and the token. */
#ifndef HTTP_HTTP_AUTH_H
#define HTTP_HTTP_AUTH_H

#include "http/server.h"

/* "8000", ":8000", "host", "host:8000", "[::1]:8000"; without a port: @port as it was. Fills *host
 * (owned). */
NODISCARD int http_auth_address(const char *s, char **host, uint16_t *port, struct err *err);
/* "http://HOST:PORT"; owned. @host without brackets. */
char *http_auth_url(const char *host, uint16_t port);
/* Detects requests that a browser can be tricked into (DNS rebinding): a foreign name that leads
 * here, or a web page as origin. NULL: neither, else a sentence. @host: where @s listens. */
const char *http_auth_foreign(const struct http_server *s, const char *host,
			      const struct http_ask *a);
/* Whether @given is @token; how long that takes says nothing about it. */
bool http_auth_same(const struct buf *token, const char *given);
/* The token after "Bearer " in the Authorization of @a; NULL: none. Borrows. */
const char *http_auth_bearer(const struct http_ask *a);

#endif
