#include "base/text/utf8.h"

/* How long a form the lead byte announces, and which second bytes it allows (the rest of the rules
 * follow from that).
 */
static int utf8_lead(unsigned char b, unsigned char *low, unsigned char *high)
{
	*low = 0x80;
	*high = 0xbf;
	if (b >= 0xc2 && b <= 0xdf)
		return 2;
	if (b >= 0xe0 && b <= 0xef) {
		if (b == 0xe0)
			*low = 0xa0; /* shorter forms exist */
		if (b == 0xed)
			*high = 0x9f; /* surrogates */
		return 3;
	}
	if (b >= 0xf0 && b <= 0xf4) {
		if (b == 0xf0)
			*low = 0x90;
		if (b == 0xf4)
			*high = 0x8f; /* past U+10FFFF */
		return 4;
	}
	return 0;
}

enum utf8_result utf8_next(const void *bytes, size_t len, uint32_t *cp, size_t *used)
{
	const unsigned char *p = bytes;
	unsigned char low, high;
	*used = 1;
	if (p[0] < 0x80) {
		*cp = p[0];
		return UTF8_OK;
	}
	int need = utf8_lead(p[0], &low, &high);
	if (need == 0)
		return UTF8_BAD;
	uint32_t v = p[0] & (0xffu >> (need + 1));
	for (int i = 1; i < need; i++) {
		*used = (size_t)i;
		if ((size_t)i == len)
			return UTF8_PARTIAL;
		if (p[i] < low || p[i] > high)
			return UTF8_BAD;
		v = v << 6 | (p[i] & 0x3fu);
		low = 0x80;
		high = 0xbf;
	}
	*used = (size_t)need;
	*cp = v;
	return UTF8_OK;
}

size_t utf8_put(uint32_t cp, char out[4])
{
	if (cp < 0x80) {
		out[0] = (char)cp;
		return 1;
	}
	size_t n = cp < 0x800 ? 2 : cp < 0x10000 ? 3 : 4;
	for (size_t i = n - 1; i > 0; i--, cp >>= 6)
		out[i] = (char)(0x80 | (cp & 0x3f));
	out[0] = (char)(n == 2 ? 0xc0 | cp : n == 3 ? 0xe0 | cp : 0xf0 | cp);
	return n;
}

bool utf8_valid(const void *bytes, size_t len)
{
	const char *p = bytes;
	uint32_t cp;
	size_t used;
	for (; len > 0; p += used, len -= used)
		if (utf8_next(p, len, &cp, &used) != UTF8_OK)
			return false;
	return true;
}
