#include "record/read/object.h"

#include <stdio.h>
#include <string.h>

/* SHA-1 (FIPS 180-4) only as git's name for things: readers are linked without libgit2, and nothing is proven by it. */
struct sha1 {
	uint32_t h[5];
	uint64_t total;
	uint8_t block[64];
	size_t used;
};

static uint32_t rotate(uint32_t v, unsigned n)
{
	return v << n | v >> (32 - n);
}

static uint32_t load_be(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

#define ROUND(f, k, i)                                                                            \
	do {                                                                                      \
		uint32_t t_ = rotate(a, 5) + (f) + e + (k) + w[(i) & 15];                         \
		e = d;                                                                            \
		d = c;                                                                            \
		c = rotate(b, 30);                                                                \
		b = a;                                                                            \
		a = t_;                                                                           \
	} while (0)
#define EXPAND(i) \
	(w[(i) & 15] = rotate(w[((i) + 13) & 15] ^ w[((i) + 8) & 15] ^ w[((i) + 2) & 15] ^ w[(i) & 15], 1))

static void sha1_block(uint32_t h[5], const uint8_t *p)
{
	uint32_t w[16], a = h[0], b = h[1], c = h[2], d = h[3], e = h[4];
	for (unsigned i = 0; i < 16; i++) {
		w[i] = load_be(p + i * 4);
		ROUND((b & c) | (~b & d), 0x5a827999u, i);
	}
	for (unsigned i = 16; i < 20; i++) {
		EXPAND(i);
		ROUND((b & c) | (~b & d), 0x5a827999u, i);
	}
	for (unsigned i = 20; i < 40; i++) {
		EXPAND(i);
		ROUND(b ^ c ^ d, 0x6ed9eba1u, i);
	}
	for (unsigned i = 40; i < 60; i++) {
		EXPAND(i);
		ROUND((b & c) | (b & d) | (c & d), 0x8f1bbcdcu, i);
	}
	for (unsigned i = 60; i < 80; i++) {
		EXPAND(i);
		ROUND(b ^ c ^ d, 0xca62c1d6u, i);
	}
	h[0] += a;
	h[1] += b;
	h[2] += c;
	h[3] += d;
	h[4] += e;
}

static void sha1_add(struct sha1 *s, const void *bytes, size_t len)
{
	const uint8_t *p = bytes;
	s->total += len;
	while (len) {
		if (!s->used && len >= 64) {
			sha1_block(s->h, p);
			p += 64;
			len -= 64;
			continue;
		}
		size_t n = 64 - s->used < len ? 64 - s->used : len;
		memcpy(s->block + s->used, p, n);
		s->used += n;
		p += n;
		len -= n;
		if (s->used == 64) {
			sha1_block(s->h, s->block);
			s->used = 0;
		}
	}
}

static void sha1_end(struct sha1 *s, uint8_t out[20])
{
	static const uint8_t pad[64] = { 0x80 };
	uint8_t bits[8];
	put_u64be(bits, s->total * 8);
	sha1_add(s, pad, s->used < 56 ? 56 - s->used : 120 - s->used);
	sha1_add(s, bits, sizeof(bits));
	for (size_t i = 0; i < 5; i++)
		put_u32be(out + i * 4, s->h[i]);
}

size_t object_header(enum object_type type, size_t len, char out[32])
{
	return (size_t)snprintf(out, 32, "%s %zu", type == OBJECT_TREE ? "tree" : "blob", len) + 1;
}

void object_name(enum object_type type, const void *bytes, size_t len, struct object_id *out)
{
	struct sha1 s = { .h = { 0x67452301u, 0xefcdab89u, 0x98badcfeu, 0x10325476u, 0xc3d2e1f0u } };
	char head[32];
	size_t n = object_header(type, len, head);
	sha1_add(&s, head, n);
	sha1_add(&s, bytes, len);
	sha1_end(&s, out->b);
}

void object_hex(const struct object_id *id, char out[41])
{
	static const char digit[] = "0123456789abcdef";
	for (size_t i = 0; i < sizeof(id->b); i++) {
		out[i * 2] = digit[id->b[i] >> 4];
		out[i * 2 + 1] = digit[id->b[i] & 15];
	}
	out[40] = 0;
}

bool object_parse(const char *hex, struct object_id *out)
{
	return hex_parse(hex, strlen(hex), out->b, sizeof(out->b));
}

bool object_is_null(const struct object_id *id)
{
	static const struct object_id null_id;
	return memcmp(id, &null_id, sizeof(null_id)) == 0;
}
