/* H = SHA-256, random bytes, hexadecimal and base64 (libsodium inside; call hash_init once at start). */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include "base/buf.h"
#include "base/compat.h"

enum { HASH_LEN = 32 };
struct hash {
	uint8_t b[HASH_LEN];
};
struct hash_ctx {
	_Alignas(16) unsigned char opaque[128];
};

void hash_init(void);
void hash_begin(struct hash_ctx *c);
void hash_add(struct hash_ctx *c, const void *bytes, size_t len);
void hash_end(struct hash_ctx *c, struct hash *out);
void hash_of(const void *bytes, size_t len, struct hash *out);
bool hash_eq(const struct hash *a, const struct hash *b);
void random_bytes(void *out, size_t len);

void hex_append(struct buf *out, const void *bytes, size_t len);
bool hex_parse(const char *hex, size_t hex_len, void *out, size_t cap); /* cap bytes exactly */
void base64_append(struct buf *out, const void *bytes, size_t len);
bool base64_parse(const char *text, size_t len, struct buf *out); /* appends */

#endif
