/* The reading half of the egress proxy: bytes in, verdicts out, no I/O (egress.h has the rules).
 * Fuzzed. */
#ifndef PROXY_EGRESS_PARSE_H
#define PROXY_EGRESS_PARSE_H

#include <sys/types.h>

#include "base/buf.h"

enum { EGRESS_HEAD_MAX = 16 << 10, EGRESS_HOST_MAX = 253 };

/* A request head that holds to rule 1. */
struct egress_head {
	size_t len; /* of the head with its empty line */
	bool connect;
	char method[24];
	char host[EGRESS_HOST_MAX + 1]; /* as written, not yet judged: egress_name does that */
	uint16_t port;
	char *path; /* owned; plain http: from the slash on */
	bool chunked;
	bool has_length;
	uint64_t length; /* of the body, 0 if none */
	struct buf
		/* plain http: field lines to pass on, each with its end; hop-by-hop ones and Host
		 * left out */
		fields;
};

/* 1: @out is filled (release it); 0: more bytes are needed; -1: malformed, *why_out is a static
 * sentence. */
int egress_head_parse(const char *bytes, size_t len, struct egress_head *out, const char **why_out);
void egress_head_release(struct egress_head *h);

/* Rule 2: folds @name into @out (EGRESS_HOST_MAX + 1 bytes); false if it is not a host name. */
bool egress_name(const char *name, char *out);
/* Can @entry of an allow list ever match ("host", "*.suffix", each with ":port")? NULL if so, else
 * a static clause that says why not. */
const char *egress_entry_fault(const char *entry);
/* Is @host (folded) with @port on the list of "host", "*.suffix", "host:port", "*.suffix:port"? */
bool egress_listed(const char *const *list, size_t nr, const char *host, uint16_t port);

/* The server name in a ClientHello: 1 fills @out (folded), 0 more bytes are needed, -1 not TLS, or
 * no or a bad name. */
int egress_sni(const void *bytes, size_t len, char *out);

/* Framing of a chunked body. Feed all that comes; returns how many of @len bytes belong to the
 * body, sets @done at its end. -1: not chunked as it should be. */
struct egress_chunks {
	uint64_t left; /* of the chunk */
	unsigned state, digits, line;
	bool done;
};
ssize_t egress_chunks_feed(struct egress_chunks *c, const char *bytes, size_t len);

/* Rule 5: is the address one of the open internet? */
bool egress_public4(uint32_t addr); /* host order */
bool egress_public6(const uint8_t addr[16]);

#endif
