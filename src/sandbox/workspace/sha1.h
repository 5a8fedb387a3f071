/* SHA-1 as git's name for contents of any size, fed piece by piece: a file of 10 GB gets its name in constant memory.
 * (Nothing is proven by it; see record/read/object.h for names of what is in memory already.) */
#ifndef SANDBOX_WORKSPACE_SHA1_H
#define SANDBOX_WORKSPACE_SHA1_H

#include "record/read/object.h"

struct sha1 {
	uint32_t h[5];
	uint64_t total;
	uint8_t block[64];
	size_t used;
};

/* Begins the name of an object whose size is known beforehand, as git needs it. */
void sha1_begin_object(struct sha1 *s, enum object_type type, uint64_t size);
void sha1_add(struct sha1 *s, const void *bytes, size_t len);
void sha1_end(struct sha1 *s, struct object_id *out);

#endif
