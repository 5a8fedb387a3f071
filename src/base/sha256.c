#include "base/sha256.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>

static const uint32_t sha256_constant[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
	0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
	0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
	0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
	0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
	0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
	0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
	0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
	0xc67178f2,
};

static bool sha256_look(void)
{
	unsigned a, b, c, d;
	return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & 1u << 29) &&
	       __builtin_cpu_supports("sse4.1");
}

bool sha256_fast(void)
{
	static _Atomic int known; /* 1 no, 2 yes; two threads may look at once: they see the same */
	if (!known)
		known = sha256_look() ? 2 : 1;
	return known == 2;
}

static __m128i sha256_load(const void *p)
{
	return _mm_loadu_si128(p);
}

/* Four rounds for each of the 16 groups; the words of the message are made on the way. */
__attribute__((target("sha,sse4.1"))) static void sha256_one_block(__m128i *abef, __m128i *cdgh,
								   const uint8_t *p)
{
	const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
	__m128i w[4];
#pragma GCC unroll 16
	for (unsigned g = 0; g < 16; g++) {
		__m128i *now = &w[g & 3], before = w[(g + 3) & 3];
		if (g < 4) {
			*now = _mm_shuffle_epi8(sha256_load(p + g * 16), swap);
		} else {
			__m128i sum = _mm_add_epi32(_mm_sha256msg1_epu32(*now, w[(g + 1) & 3]),
						    _mm_alignr_epi8(before, w[(g + 2) & 3], 4));
			*now = _mm_sha256msg2_epu32(sum, before);
		}
		__m128i m = _mm_add_epi32(*now, sha256_load(sha256_constant + g * 4));
		*cdgh = _mm_sha256rnds2_epu32(*cdgh, *abef, m);
		*abef = _mm_sha256rnds2_epu32(*abef, *cdgh, _mm_shuffle_epi32(m, 0x0e));
	}
}

__attribute__((target("sha,sse4.1"))) void sha256_blocks(uint32_t h[8], const uint8_t *p, size_t nr)
{
	__m128i cdab = _mm_shuffle_epi32(sha256_load(h), 0xb1),
		efgh = _mm_shuffle_epi32(sha256_load(h + 4), 0x1b);
	__m128i abef = _mm_alignr_epi8(cdab, efgh, 8), cdgh = _mm_blend_epi16(efgh, cdab, 0xf0);
	for (size_t i = 0; i < nr; i++) {
		__m128i abef_in = abef, cdgh_in = cdgh;
		sha256_one_block(&abef, &cdgh, p + i * 64);
		abef = _mm_add_epi32(abef, abef_in);
		cdgh = _mm_add_epi32(cdgh, cdgh_in);
	}
	__m128i feba = _mm_shuffle_epi32(abef, 0x1b), dchg = _mm_shuffle_epi32(cdgh, 0xb1);
	_mm_storeu_si128((__m128i *)(void *)h, _mm_blend_epi16(feba, dchg, 0xf0));
	_mm_storeu_si128((__m128i *)(void *)(h + 4), _mm_alignr_epi8(dchg, feba, 8));
}
#else
#include <stdlib.h>

bool sha256_fast(void)
{
	return false;
}

void sha256_blocks(uint32_t h[8], const uint8_t *p, size_t nr)
{
	(void)h;
	(void)p;
	(void)nr;
	abort();
}
#endif
