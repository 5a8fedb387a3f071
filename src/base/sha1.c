#include "base/sha1.h"

#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

#include "base/buf.h"

/* FIPS 180-4, 6.1. */
static uint32_t sha1_left(uint32_t v, unsigned n)
{
	return v << n | v >> (32 - n);
}

static void block_plain(uint32_t h[5], const uint8_t *p)
{
	uint32_t w[80], a = h[0], b = h[1], c = h[2], d = h[3], e = h[4];
	for (unsigned i = 0; i < 16; i++)
		w[i] = (uint32_t)p[i * 4] << 24 | (uint32_t)p[i * 4 + 1] << 16 |
		       (uint32_t)p[i * 4 + 2] << 8 | p[i * 4 + 3];
	for (unsigned i = 16; i < 80; i++)
		w[i] = sha1_left(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
	for (unsigned i = 0; i < 80; i++) {
		uint32_t f = i < 20   ? ((b & c) | (~b & d)) + 0x5a827999u
			     : i < 40 ? (b ^ c ^ d) + 0x6ed9eba1u
			     : i < 60 ? ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdcu
				      : (b ^ c ^ d) + 0xca62c1d6u;
		uint32_t t = sha1_left(a, 5) + f + e + w[i];
		e = d;
		d = c;
		c = sha1_left(b, 30);
		b = a;
		a = t;
	}
	h[0] += a;
	h[1] += b;
	h[2] += c;
	h[3] += d;
	h[4] += e;
}

static void blocks_plain(uint32_t h[5], const uint8_t *p, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		block_plain(h, p + i * 64);
}

typedef void blocks_fn(uint32_t h[5], const uint8_t *p, size_t nr);

#if defined(__x86_64__)
/* Five groups of four rounds with one constant; the message words are made on the way. */
#define FIVE_GROUPS(first, constant)                                                               \
	for (unsigned g = (first); g < (first) + 5; g++) {                                         \
		if (g >= 4) {                                                                      \
			__m128i m_ = _mm_xor_si128(_mm_sha1msg1_epu32(w[g & 3], w[(g + 1) & 3]),   \
						   w[(g + 2) & 3]);                                \
			w[g & 3] = _mm_sha1msg2_epu32(m_, w[(g + 3) & 3]);                         \
		}                                                                                  \
		__m128i e_ = g ? _mm_sha1nexte_epu32(before, w[g & 3]) : _mm_add_epi32(e0, w[0]);  \
		before = abcd;                                                                     \
		abcd = _mm_sha1rnds4_epu32(abcd, e_, constant);                                    \
	}

__attribute__((target("sha,sse4.1"))) static void blocks_sha(uint32_t h[5], const uint8_t *p,
							     size_t nr)
{
	const __m128i swap = _mm_set_epi64x(0x0001020304050607, 0x08090a0b0c0d0e0f);
	__m128i abcd = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)(const void *)h), 0x1b);
	__m128i e0 = _mm_set_epi32((int)h[4], 0, 0, 0);
	for (size_t i = 0; i < nr; i++, p += 64) {
		__m128i w[4], before = abcd, abcd_in = abcd, e_in = e0;
		for (unsigned k = 0; k < 4; k++)
			w[k] = _mm_shuffle_epi8(
				_mm_loadu_si128((const __m128i *)(const void *)(p + k * 16)), swap);
		FIVE_GROUPS(0u, 0)
		FIVE_GROUPS(5u, 1)
		FIVE_GROUPS(10u, 2)
		FIVE_GROUPS(15u, 3)
		e0 = _mm_sha1nexte_epu32(before, e_in);
		abcd = _mm_add_epi32(abcd, abcd_in);
	}
	_mm_storeu_si128((__m128i *)(void *)h, _mm_shuffle_epi32(abcd, 0x1b));
	h[4] = (uint32_t)_mm_extract_epi32(e0, 3);
}

static bool have_sha(void)
{
	unsigned a, b, c, d;
	return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & 1u << 29) &&
	       __builtin_cpu_supports("sse4.1");
}
#endif

static blocks_fn *sha1_choose(void)
{
#if defined(__x86_64__)
	if (have_sha())
		return blocks_sha;
#endif
	return blocks_plain;
}

static void sha1_blocks(uint32_t h[5], const uint8_t *p, size_t nr)
{
	/* two threads may choose at once: they choose the same */
	static _Atomic(blocks_fn *) chosen;
	blocks_fn *fn = chosen;
	if (!fn)
		chosen = fn = sha1_choose();
	fn(h, p, nr);
}

void sha1_begin(struct sha1 *s)
{
	*s = (struct sha1){ .h = { 0x67452301u, 0xefcdab89u, 0x98badcfeu, 0x10325476u,
				   0xc3d2e1f0u } };
}

void sha1_add(struct sha1 *s, const void *bytes, size_t len)
{
	const uint8_t *p = bytes;
	if (!len)
		return;
	s->total += len;
	if (s->used) {
		size_t n = 64 - s->used < len ? 64 - s->used : len;
		memcpy(s->block + s->used, p, n);
		s->used += n;
		p += n;
		len -= n;
		if (s->used < 64)
			return;
		sha1_blocks(s->h, s->block, 1);
		s->used = 0;
	}
	sha1_blocks(s->h, p, len / 64);
	if (len % 64)
		memcpy(s->block, p + len / 64 * 64, len % 64);
	s->used = len % 64;
}

void sha1_end(struct sha1 *s, uint8_t out[SHA1_LEN])
{
	static const uint8_t pad[64] = { 0x80 };
	uint8_t bits[8];
	put_u64be(bits, s->total * 8);
	sha1_add(s, pad, s->used < 56 ? 56 - s->used : 120 - s->used);
	sha1_add(s, bits, sizeof(bits));
	for (size_t i = 0; i < 5; i++)
		put_u32be(out + i * 4, s->h[i]);
}

void sha1_of(const void *bytes, size_t len, uint8_t out[SHA1_LEN])
{
	struct sha1 s;
	sha1_begin(&s);
	sha1_add(&s, bytes, len);
	sha1_end(&s, out);
}
