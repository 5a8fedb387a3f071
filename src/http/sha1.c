#include "http/sha1.h"

#include <string.h>

/* FIPS 180-4, 6.1. */
static uint32_t left(uint32_t v, unsigned n)
{
	return v << n | v >> (32 - n);
}

static void block(uint32_t h[5], const uint8_t *p)
{
	static const uint32_t k[4] = { 0x5a827999u, 0x6ed9eba1u, 0x8f1bbcdcu, 0xca62c1d6u };
	uint32_t w[80], v[5];
	for (unsigned i = 0; i < 16; i++)
		w[i] = (uint32_t)p[i * 4] << 24 | (uint32_t)p[i * 4 + 1] << 16 | (uint32_t)p[i * 4 + 2] << 8 | p[i * 4 + 3];
	for (unsigned i = 16; i < 80; i++)
		w[i] = left(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
	memcpy(v, h, sizeof(v));
	for (unsigned i = 0; i < 80; i++) {
		uint32_t b = v[1], c = v[2], d = v[3];
		uint32_t f = i < 20 ? (b & c) | (~b & d) : i >= 40 && i < 60 ? (b & c) | (b & d) | (c & d) : b ^ c ^ d;
		uint32_t t = left(v[0], 5) + f + v[4] + w[i] + k[i / 20];
		v[4] = d;
		v[3] = c;
		v[2] = left(b, 30);
		v[1] = v[0];
		v[0] = t;
	}
	for (unsigned i = 0; i < 5; i++)
		h[i] += v[i];
}

void sha1_of(const void *bytes, size_t len, uint8_t out[SHA1_LEN])
{
	uint32_t h[5] = { 0x67452301u, 0xefcdab89u, 0x98badcfeu, 0x10325476u, 0xc3d2e1f0u };
	const uint8_t *p = bytes;
	uint8_t last[128] = { 0 };
	size_t rest = len % 64, end = rest < 56 ? 64 : 128;
	for (size_t at = 0; at + 64 <= len; at += 64)
		block(h, p + at);
	memcpy(last, p + len - rest, rest);
	last[rest] = 0x80;
	for (unsigned i = 0; i < 8; i++)
		last[end - 1 - i] = (uint8_t)((uint64_t)len * 8 >> (8 * i));
	for (size_t at = 0; at < end; at += 64)
		block(h, last + at);
	for (unsigned i = 0; i < SHA1_LEN; i++)
		out[i] = (uint8_t)(h[i / 4] >> (24 - 8 * (i % 4)));
}
