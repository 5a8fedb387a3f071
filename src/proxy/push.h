/* Git's smart HTTP protocol, as far as a proxy must read it: the refs that a push would move. No
 * I/O. Source: git's gitprotocol-http and gitprotocol-pack. Fuzzed with the other parsers. Any
 * thread. */
#ifndef PROXY_PUSH_H
#define PROXY_PUSH_H

#include "base/buf.h"

enum { PUSH_REFS_MAX = 512 };

struct push_ref {
	char *name;
	/* object names in hexadecimal; all zeros: the ref does not exist before (or after) */
	char old[65], new[65];
};

struct push {
	struct push_ref *ref;
	size_t nr, cap;
	bool reports, bands; /* what its git understands of an answer */
};

/* NULL: a request that git makes; @out has the refs if it is a push (release it in every case).
 * Else why not. @query "" or "?...". */
const char *push_request(struct push *out, const char *method, const char *path, const char *query,
			 const char *body, size_t len);
void push_release(struct push *p);
/* The answer of a server that takes none of its refs, each with @why: git shows it to its user.
 * false: this git doesn't ask for such an answer. */
bool push_refusal(const struct push *p, const char *why, struct buf *out);

#endif
