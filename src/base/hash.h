/* H = SHA-256, Ed25519, random bytes, hexadecimal and base64 (libsodium inside; call hash_init once
 * at start). */
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

/* Ed25519: a key pair is made from a 32-byte seed, which is what is kept. */
enum { SIGN_LEN = 64, SIGN_KEY_LEN = 32, SIGN_SEED_LEN = 32 };
void sign_key(const uint8_t seed[SIGN_SEED_LEN], uint8_t key_out[SIGN_KEY_LEN]);
void sign_make(const uint8_t seed[SIGN_SEED_LEN], const void *bytes, size_t len,
	       uint8_t sig_out[SIGN_LEN]);
bool sign_check(const uint8_t key[SIGN_KEY_LEN], const void *bytes, size_t len,
		const uint8_t sig[SIGN_LEN]);
void secret_wipe(void *bytes, size_t len); /* zeroes; never optimised away */

void hex_append(struct buf *out, const void *bytes, size_t len);
bool hex_parse(const char *hex, size_t hex_len, void *out, size_t cap); /* cap bytes exactly */
void base64_append(struct buf *out, const void *bytes, size_t len);
bool base64_parse(const char *text, size_t len, struct buf *out); /* appends */

#endif
