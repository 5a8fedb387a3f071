/* SHA-1 (FIPS 180-4), piece by piece, by the processor's own instructions where it has them: git's
 * names for contents, the handshake of WebSocket. Nothing is proven by it; what proves is
 * base/hash.h. Any thread. */
#ifndef BASE_SHA1_H
#define BASE_SHA1_H

#include "base/compat.h"

enum { SHA1_LEN = 20 };
struct sha1 {
	uint32_t h[5];
	uint64_t total;
	uint8_t block[64];
	size_t used;
};

void sha1_begin(struct sha1 *s);
void sha1_add(struct sha1 *s, const void *bytes, size_t len);
void sha1_end(struct sha1 *s, uint8_t out[SHA1_LEN]);
void sha1_of(const void *bytes, size_t len, uint8_t out[SHA1_LEN]);

#endif
