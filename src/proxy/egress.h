/* The way out of a box: an HTTP proxy on our side of the wall, listening on a socket that the guest
 * opened inside (driver.h, listen). Nothing of it runs in the box, and the box has no other way
 * out.
 *
 * Rules, in this order; the first that does not hold is the answer:
 *  1. The request is CONNECT host:port or METHOD http://host[:port]/path; nothing else is a proxy
 *     request. Head at most 16 KiB, no folded lines, no bare CR or NUL, no second Host,
 *     Content-Length or Transfer-Encoding, not both of the last two.
 *  2. The host is a name: letters, digits, hyphens, labels up to 63, 253 in all; one final dot is
 *     dropped, case is folded. No address in any spelling, no user, no percent, no underscore.
 *  3. The port is on the list of ports (443 unless told otherwise; 80 too if http is allowed).
 *  4. The decision: ops->ask, answered by egress_answer now or at any time later. Without ops->ask
 *     the allow list decides; an empty one means that nothing is allowed. Nothing is looked up or
 *     sent out before it.
 *  5. The name is looked up once, here. If any of its addresses is private, local, link-local,
 *     multicast or otherwise not of the open internet, it is refused; else exactly these addresses
 *     are tried (a name cannot be bound to another one).
 *  6. CONNECT to 443, and whatever else begins like TLS: the ClientHello must name the same host
 *     (SNI), else the connection is closed before a byte of it goes out. Behind a shared front
 *     (CDN) the encrypted Host may still differ: that is the limit of a proxy that does not break
 *     TLS open.
 *  7. One request per connection; the body of a plain http request is framed (length or chunks) and
 *     nothing after it passes.
 *  8. No byte in either direction for 15 minutes, or more than max_bytes in both together: closed.
 *     A plain http request that has no answer yet gets a 504 or 502 with this reason; a client
 *     inside TLS gets an alert.
 * A refusal is a 403 (502, 504 where the network failed) with a JSON body
 * {"error","host","port","why","ask"} and Proxy-Status (RFC 9209), so that a program, a model and a
 * user can tell it from a broken network. Loop thread only. */
#ifndef PROXY_EGRESS_H
#define PROXY_EGRESS_H

#include "loop/loop.h"

struct egress;

/* A sandbox's request. Borrowed for the call. */
struct egress_want {
	const char *host; /* rule 2, lower case */
	uint16_t port;
	const char *method; /* "CONNECT", "GET", ... */
	const char *path;   /* of a plain http request; NULL for CONNECT */
	bool listed;	    /* on the allow list */
	const char *fields;
	size_t fields_len; /* of a plain http request; NULL for CONNECT */
};

struct egress_end {
	const char *host; /* NULL if the request did not get that far */
	uint16_t port;
	bool connected; /* bytes may have gone out */
	uint64_t up_bytes, down_bytes;
	char address[48]; /* what was connected to; "" if nothing */
	/* static: "closed" "denied" "malformed" "name" "port" "lookup" "address" "connect" "sni"
	 * "idle" "bytes" "cancelled" (the box gave up) "lost" (a connection broke) "full" (too many
	 * at once) */
	const char *why;
};

struct egress_ops {
	/* @ticket is never 0 and never used twice. May be NULL (rule 4). */
	void (*ask)(void *self, uint64_t ticket, const struct egress_want *w);
	/* The bytes of the sandbox after its head, before they are sent; in order and in their
	 * pieces. May be NULL. */
	void (*sends)(void *self, uint64_t ticket, const void *bytes, size_t len);
	/* The request ended, once per ticket, whatever the answer was or if none came.
	 * Refusals before the policy check (rules 1 to 3) have ticket 0. May be NULL. */
	void (*ended)(void *self, uint64_t ticket, const struct egress_end *e);
};

struct egress_opts {
	/* "host", "*.suffix" (not the suffix itself), "host:port"; copied */
	const char *const *allow;
	size_t nr_allow;
	const uint16_t *ports; /* NULL: 443 and those of the allow list */
	size_t nr_ports;
	bool http;	    /* plain http too, port 80 */
	bool local;	    /* rule 5 is off: addresses of the host and its network are fine */
	uint64_t max_bytes; /* 0 = 4 GiB */
	int64_t idle_us;    /* rule 8; 0 = 15 minutes */
	unsigned max_conns; /* 0 = 1024; more wait until one ends, after 10 s they get a 503 */
};

/* Takes @listener (any listening stream socket, non-blocking). Never NULL. */
struct egress *egress_new(struct loop *l, int listener, const struct egress_opts *o,
			  const struct egress_ops *ops, void *self);
/* Takes @fd, a non-blocking connection whose request CONNECT @target was read elsewhere. */
void egress_take(struct egress *e, int fd, const char *target);
/* Closes everything; no callbacks follow. */
void egress_free(struct egress **e);
/* Answers a ticket, also from inside ops->ask. @why goes to the box when it is a no ("not on the
 * list of hosts"), may be NULL. A ticket that has ended meanwhile is ignored. */
void egress_answer(struct egress *e, uint64_t ticket, bool allow, const char *why);
size_t egress_conns(const struct egress *e);

#endif
