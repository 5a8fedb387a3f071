#include "base/leb128.h"

void leb128_put(struct buf *out, uint64_t n)
{
	for (; n >= 0x80; n >>= 7)
		buf_putc(out, (char)(0x80 | (n & 0x7f)));
	buf_putc(out, (char)n);
}

bool leb128_get(const uint8_t **p, const uint8_t *end, uint64_t *out)
{
	uint64_t n = 0;
	for (int shift = 0; *p < end && shift < 63; shift += 7) {
		n |= (uint64_t)(**p & 0x7f) << shift;
		if (!(*(*p)++ & 0x80)) {
			*out = n;
			return true;
		}
	}
	return false;
}
