/* Names of git objects, shared by the writing and the reading side. */
#ifndef RECORD_READ_OBJECT_H
#define RECORD_READ_OBJECT_H

#include "base/hash.h"

enum object_type { OBJECT_TREE = 2, OBJECT_BLOB = 3 };
struct object_id {
	/* git's SHA-1 name; the proof rests on H(type, size, bytes), not on this name */
	uint8_t b[20];
};

/* Git's name for these bytes: SHA-1 of "blob 12\0" + bytes. */
void object_name(enum object_type type, const void *bytes, size_t len, struct object_id *out);
/* "blob 12" and its NUL; returns how many bytes with the NUL. */
size_t object_header(enum object_type type, size_t len, char out[32]);
void object_hex(const struct object_id *id, char out[41]);
bool object_parse(const char *hex, struct object_id *out);
bool object_is_null(const struct object_id *id);

#endif
