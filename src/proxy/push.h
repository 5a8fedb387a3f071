/* Git's smart HTTP protocol, as far as somebody in between must read it: which refs a push would
 * move. No I/O. Source: git's gitprotocol-http and gitprotocol-pack. Fuzzed with the other parsers.
 * Any thread. */
#ifndef PROXY_PUSH_H
#define PROXY_PUSH_H

#include "base/buf.h"

enum { PUSH_REFS_MAX = 512 };

struct push_ref {
	char *name;
	/* object names in hexadecimal; all zeros: it does not exist (yet, or any more) */
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
/* The answer of a server that takes none of its refs, each with @why: git shows it to whoever
 * pushes. false: this git asks for no such answer. */
bool push_refusal(const struct push *p, const char *why, struct buf *out);

#endif
