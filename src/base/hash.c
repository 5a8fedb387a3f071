#include "base/hash.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sha256.h"

static_assert(sizeof(crypto_hash_sha256_state) <= sizeof(struct hash_ctx), "hash_ctx too small");

void hash_init(void)
{
	if (sodium_init() < 0) {
		fputs("sandglass: cannot initialise libsodium (no source of random bytes)\n", stderr);
		abort();
	}
}

static crypto_hash_sha256_state *state(struct hash_ctx *c)
{
	return (crypto_hash_sha256_state *)(void *)c->opaque;
}

void hash_begin(struct hash_ctx *c)
{
	crypto_hash_sha256_init(state(c));
}

/* As libsodium keeps it: bits so far, and the bytes that fill no block yet. */
static void add_fast(crypto_hash_sha256_state *s, const uint8_t *p, size_t len)
{
	size_t used = s->count / 8 % sizeof(s->buf), room = sizeof(s->buf) - used;
	s->count += (uint64_t)len * 8;
	if (used && len >= room) {
		memcpy(s->buf + used, p, room);
		sha256_blocks(s->state, s->buf, 1);
		p += room;
		len -= room;
		used = 0;
	}
	size_t whole = used ? 0 : len / sizeof(s->buf) * sizeof(s->buf);
	if (whole)
		sha256_blocks(s->state, p, whole / sizeof(s->buf));
	if (len > whole)
		memcpy(s->buf + used, p + whole, len - whole);
}

static void end_fast(crypto_hash_sha256_state *s, struct hash *out)
{
	static const uint8_t pad[64] = { 0x80 };
	uint8_t bits[8];
	size_t used = s->count / 8 % sizeof(s->buf);
	put_u64be(bits, s->count);
	add_fast(s, pad, used < 56 ? 56 - used : 120 - used);
	add_fast(s, bits, sizeof(bits));
	for (size_t i = 0; i < 8; i++)
		put_u32be(out->b + i * 4, s->state[i]);
}

void hash_add(struct hash_ctx *c, const void *bytes, size_t len)
{
	if (sha256_fast())
		add_fast(state(c), bytes, len);
	else
		crypto_hash_sha256_update(state(c), bytes, len);
}

void hash_end(struct hash_ctx *c, struct hash *out)
{
	if (sha256_fast())
		end_fast(state(c), out);
	else
		crypto_hash_sha256_final(state(c), out->b);
}

void hash_of(const void *bytes, size_t len, struct hash *out)
{
	struct hash_ctx c;
	hash_begin(&c);
	hash_add(&c, bytes, len);
	hash_end(&c, out);
}

bool hash_eq(const struct hash *a, const struct hash *b)
{
	return memcmp(a->b, b->b, HASH_LEN) == 0;
}

void random_bytes(void *out, size_t len)
{
	randombytes_buf(out, len);
}

void sign_key(const uint8_t seed[SIGN_SEED_LEN], uint8_t key_out[SIGN_KEY_LEN])
{
	uint8_t secret[crypto_sign_SECRETKEYBYTES];
	crypto_sign_seed_keypair(key_out, secret, seed);
	sodium_memzero(secret, sizeof(secret));
}

void sign_make(const uint8_t seed[SIGN_SEED_LEN], const void *bytes, size_t len, uint8_t sig_out[SIGN_LEN])
{
	uint8_t key[crypto_sign_PUBLICKEYBYTES], secret[crypto_sign_SECRETKEYBYTES];
	crypto_sign_seed_keypair(key, secret, seed);
	crypto_sign_detached(sig_out, NULL, bytes, len, secret);
	sodium_memzero(secret, sizeof(secret));
}

bool sign_check(const uint8_t key[SIGN_KEY_LEN], const void *bytes, size_t len, const uint8_t sig[SIGN_LEN])
{
	return crypto_sign_verify_detached(sig, bytes, len, key) == 0;
}

void secret_wipe(void *bytes, size_t len)
{
	sodium_memzero(bytes, len);
}

void hex_append(struct buf *out, const void *bytes, size_t len)
{
	static const char digit[] = "0123456789abcdef";
	const uint8_t *p = bytes;
	buf_reserve(out, len * 2);
	for (size_t i = 0; i < len; i++) {
		buf_putc(out, digit[p[i] >> 4]);
		buf_putc(out, digit[p[i] & 15]);
	}
}

bool hex_parse(const char *hex, size_t hex_len, void *out, size_t cap)
{
	size_t got;
	const char *end;
	uint8_t tmp[256];
	if (hex_len != cap * 2 || cap > sizeof(tmp))
		return false;
	if (sodium_hex2bin(tmp, sizeof(tmp), hex, hex_len, NULL, &got, &end) != 0 || got != cap)
		return false;
	memcpy(out, tmp, cap);
	return true;
}

void base64_append(struct buf *out, const void *bytes, size_t len)
{
	size_t need = sodium_base64_ENCODED_LEN(len, sodium_base64_VARIANT_ORIGINAL);
	buf_reserve(out, need);
	sodium_bin2base64(out->data + out->len, need, bytes, len, sodium_base64_VARIANT_ORIGINAL);
	out->len += need - 1;
}

bool base64_parse(const char *text, size_t len, struct buf *out)
{
	size_t got;
	buf_reserve(out, len);
	if (sodium_base642bin((unsigned char *)out->data + out->len, len + 1, text, len, NULL, &got, NULL,
			      sodium_base64_VARIANT_ORIGINAL) != 0)
		return false;
	out->len += got;
	out->data[out->len] = 0;
	return true;
}
