/* Looks a name up on a worker thread and judges what comes back (egress.h, rule 5). */
#ifndef PROXY_EGRESS_RESOLVE_H
#define PROXY_EGRESS_RESOLVE_H

#include <sys/socket.h>

#include "loop/loop.h"

enum { EGRESS_ADDRS_MAX = 8 };

struct egress_addr {
	struct sockaddr_storage sa;
	socklen_t len;
	bool open; /* of the open internet */
};

struct egress_lookup; /* one under way */
typedef void egress_lookup_fn(void *self, const struct egress_addr *addr, size_t nr,
			      const char *why);

/* @done gets the addresses (all of them were looked at; at most EGRESS_ADDRS_MAX are given) or nr 0
 * and a reason. */
struct egress_lookup *egress_lookup_start(struct loop *l, const char *host, uint16_t port,
					  egress_lookup_fn *done, void *self);
/* @done will not be called; NULL inside is fine */
void egress_lookup_cancel(struct egress_lookup **q);

#endif
