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
		fputs("sandglass: can't initialize libsodium (no source of random bytes)\n",
		      stderr);
		abort();
	}
}

static crypto_hash_sha256_state *hash_state(struct hash_ctx *c)
{
	return (crypto_hash_sha256_state *)(void *)c->opaque;
}

void hash_begin(struct hash_ctx *c)
{
	crypto_hash_sha256_init(hash_state(c));
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
		add_fast(hash_state(c), bytes, len);
	else
		crypto_hash_sha256_update(hash_state(c), bytes, len);
}

void hash_end(struct hash_ctx *c, struct hash *out)
{
	if (sha256_fast())
		end_fast(hash_state(c), out);
	else
		crypto_hash_sha256_final(hash_state(c), out->b);
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

void sign_make(const uint8_t seed[SIGN_SEED_LEN], const void *bytes, size_t len,
	       uint8_t sig_out[SIGN_LEN])
{
	uint8_t key[crypto_sign_PUBLICKEYBYTES], secret[crypto_sign_SECRETKEYBYTES];
	crypto_sign_seed_keypair(key, secret, seed);
	crypto_sign_detached(sig_out, NULL, bytes, len, secret);
	sodium_memzero(secret, sizeof(secret));
}

bool sign_check(const uint8_t key[SIGN_KEY_LEN], const void *bytes, size_t len,
		const uint8_t sig[SIGN_LEN])
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

/* By tables: whole files go through here, and sodium's own, which hides from clocks what is a
 * secret, takes four times as long. */
static const char hash_digits[64] =
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
#define NO 0xff
/* clang-format off */
static const uint8_t hash_values[256] = {
	NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO,
	NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO,
	NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, 62, NO, NO, NO, 63,
	52, 53, 54, 55, 56, 57, 58, 59, 60, 61, NO, NO, NO, NO, NO, NO,
	NO, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14,
	15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, NO, NO, NO, NO, NO,
	NO, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40,
	41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, NO, NO, NO, NO, NO,
	NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO,
	NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO,
	NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO,
	NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO,
	NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO,
	NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO,
	NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO,
	NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO,
};
/* clang-format on */
#undef NO

static unsigned hash_value_of(char c)
{
	return hash_values[(unsigned char)c];
}

void base64_append(struct buf *out, const void *bytes, size_t len)
{
	const uint8_t *in = bytes;
	buf_reserve(out, (len + 2) / 3 * 4 + 1);
	char *to = out->data + out->len;
	for (; len >= 3; len -= 3, in += 3, to += 4) {
		unsigned v = (unsigned)in[0] << 16 | (unsigned)in[1] << 8 | in[2];
		to[0] = hash_digits[v >> 18];
		to[1] = hash_digits[v >> 12 & 63];
		to[2] = hash_digits[v >> 6 & 63];
		to[3] = hash_digits[v & 63];
	}
	if (len) {
		unsigned v = (unsigned)in[0] << 16 | (len == 2 ? (unsigned)in[1] << 8 : 0);
		*to++ = hash_digits[v >> 18];
		*to++ = hash_digits[v >> 12 & 63];
		*to++ = len == 2 ? hash_digits[v >> 6 & 63] : '=';
		*to++ = '=';
	}
	*to = 0;
	out->len = (size_t)(to - out->data);
}

/* The last four characters: of one byte, two or three. Bits that belong to none must be 0: there is
 * one text for some bytes. */
static size_t parse_last(const char *text, uint8_t to[3])
{
	size_t nr = text[3] != '=' ? 3 : text[2] != '=' ? 2 : 1;
	unsigned a = hash_value_of(text[0]), b = hash_value_of(text[1]),
		 c = nr > 1 ? hash_value_of(text[2]) : 0, d = nr > 2 ? hash_value_of(text[3]) : 0;
	if ((a | b | c | d) > 63 || (nr == 1 && b & 15) || (nr == 2 && c & 3))
		return 0;
	to[0] = (uint8_t)(a << 2 | b >> 4);
	to[1] = (uint8_t)(b << 4 | c >> 2);
	to[2] = (uint8_t)(c << 6 | d);
	return nr;
}

bool base64_parse(const char *text, size_t len, struct buf *out)
{
	if (len % 4)
		return false;
	buf_reserve(out, len / 4 * 3 + 1);
	uint8_t *to = (uint8_t *)out->data + out->len, last[3] = { 0 };
	unsigned seen = 0;
	for (; len > 4; len -= 4, text += 4, to += 3) {
		unsigned a = hash_value_of(text[0]), b = hash_value_of(text[1]),
			 c = hash_value_of(text[2]), d = hash_value_of(text[3]);
		seen |= a | b | c | d;
		to[0] = (uint8_t)(a << 2 | b >> 4);
		to[1] = (uint8_t)(b << 4 | c >> 2);
		to[2] = (uint8_t)(c << 6 | d);
	}
	size_t nr = len ? parse_last(text, last) : 0;
	bool good = seen <= 63 && (nr || !len);
	if (good) {
		memcpy(to, last, nr);
		out->len = (size_t)(to + nr - (uint8_t *)out->data);
	}
	out->data[out->len] = 0;
	return good;
}
