/* One connection: TLS towards the sandbox, plain bytes towards the supervisor. */
#ifndef TLS_PUMP_H
#define TLS_PUMP_H

#include <poll.h>

#include "tls/authority.h"

struct pump;

/* What all connections share: TLS 1.2 or later, HTTP/1.1, no resumption. */
NODISCARD int pump_context(SSL_CTX **out, struct err *err);
/* Takes both sockets, also on an error. */
NODISCARD int pump_new(struct pump **out, SSL_CTX *ctx, struct authority *a, uint64_t id,
		       const char *host, int tls, int plain, struct err *err);
void pump_free(struct pump **p);
uint64_t pump_id(const struct pump *p);

/* What to wait for: fills @tls and @plain (fd -1: nothing). */
void pump_wants(const struct pump *p, struct pollfd *tls, struct pollfd *plain);
/* Moves what can be moved. false: it is over; @err is set if it failed before its first plain
 * byte. */
bool pump_move(struct pump *p, struct err *err);
/* The sandbox's program has a time limit, so that it can't hold the connection: for the handshake,
 * to read something, to close after the end. */
bool pump_limited(const struct pump *p);
bool pump_is_late(const struct pump *p); /* the limit is over: move it */

#endif
