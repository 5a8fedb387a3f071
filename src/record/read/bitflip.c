#include "record/read/bitflip.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { PAIR = 8, PAIRS = 1 + SUMS_PAGE / PAIR, WORD = 4 };

static uint32_t word_at(const uint8_t *p, bool big)
{
	uint32_t v;
	memcpy(&v, p, sizeof(v));
	return big ? be32toh(v) : le32toh(v);
}

/* The bytes of a sum: the start of the header, then the page. */
static int bitflip_place_of(int pair)
{
	return pair ? FRAME_HEADER + (pair - 1) * PAIR : 0;
}

static int bits_between(const uint8_t *a, const uint8_t *b, int len, int *last)
{
	int nr = 0;
	for (int i = 0; i < len; i++)
		if (a[i] != b[i]) {
			nr += __builtin_popcount((unsigned)(a[i] ^ b[i]));
			*last = i;
		}
	return nr;
}

/* The change in the two halves of the sum if a flipped bit is flipped back. */
struct change {
	uint64_t by; /* first half << 32 | second half */
	int byte;
};

static uint64_t bitflip_halves(uint32_t first, uint32_t second)
{
	return (uint64_t)first << 32 | second;
}

static uint64_t bitflip_minus(uint64_t a, uint64_t b)
{
	return bitflip_halves((uint32_t)(a >> 32) - (uint32_t)(b >> 32), (uint32_t)a - (uint32_t)b);
}

/* A change by 1 of the word at @place changes the sum by @weight. */
static void put_bits(struct change *c, const uint8_t *frame, int place, bool big,
		     const uint32_t weight[2])
{
	uint32_t v = word_at(frame + place, big);
	for (int j = 0; j < 32; j++) {
		uint32_t change = v >> j & 1 ? -(1U << j) : 1U << j;
		c[j] = (struct change){ bitflip_halves(change * weight[0], change * weight[1]),
					place + (big ? WORD - 1 - j / 8 : j / 8) };
	}
}

/* One pair of words more behind it. */
static void bitflip_weigh(uint32_t weight[2])
{
	weight[0] += weight[1];
	weight[1] += weight[0];
}

static int by_change(const void *a, const void *b)
{
	const struct change *x = a, *y = b;
	return (x->by > y->by) - (x->by < y->by);
}

enum { CHANGES = PAIRS * 2 * 32 };

/* Every bit that enters the checksum, sorted by its effect; owned. */
static struct change *bitflip_changes_of(const uint8_t *frame, bool big)
{
	struct change *all = mem_calloc(CHANGES, sizeof(*all));
	uint32_t first[2] = { 1, 1 }, second[2] = { 0, 1 };
	for (int i = PAIRS; i-- > 0;) {
		put_bits(all + (size_t)i * 64, frame, bitflip_place_of(i), big, first);
		put_bits(all + (size_t)i * 64 + 32, frame, bitflip_place_of(i) + WORD, big, second);
		bitflip_weigh(first);
		bitflip_weigh(second);
	}
	qsort(all, CHANGES, sizeof(*all), by_change);
	return all;
}

static const struct change *bitflip_find(const struct change *all, uint64_t wanted)
{
	const struct change key = { .by = wanted };
	return bsearch(&key, all, CHANGES, sizeof(key), by_change);
}

/* One bit among the words, or two; or one of them and one of the sum @stored (@two: more than one
 * may be turned). */
static int bitflip_among(const struct change *all, uint64_t stored, uint64_t sum, bool two)
{
	const struct change *one = bitflip_find(all, bitflip_minus(stored, sum));
	for (int i = 0; !one && two && i < 64; i++)
		one = bitflip_find(all, bitflip_minus(stored ^ (uint64_t)1 << i, sum));
	for (int i = 0; !one && two && i < CHANGES; i++) {
		const struct change *other =
			bitflip_find(all, bitflip_minus(bitflip_minus(stored, sum), all[i].by));
		if (other && other != &all[i])
			one = other->byte < all[i].byte ? other : &all[i];
	}
	return one ? one->byte : -1;
}

int bitflip_byte(const uint8_t frame[FRAME], bool big, const uint32_t before[2],
		 const uint8_t salt[8])
{
	uint32_t sum[2] = { before[0], before[1] };
	uint8_t want[8];
	int byte = -1;
	for (int i = 0; i < PAIRS; i++) {
		sum[0] += word_at(frame + bitflip_place_of(i), big) + sum[1];
		sum[1] += word_at(frame + bitflip_place_of(i) + WORD, big) + sum[0];
	}
	for (int i = 0; i < 8; i++)
		want[i] = (uint8_t)(sum[i / WORD] >> (24 - i % WORD * 8));
	int sums = bits_between(frame + 16, want, 8, &byte), at = 16 + byte;
	int salts = bits_between(frame + 8, salt, 8, &byte);
	if (salts + sums == 1 || salts + sums == 2)
		return salts ? 8 + byte : at;
	if (salts > 1)
		return -1;
	CLEANUP(free_ptr) struct change *all = bitflip_changes_of(frame, big);
	return bitflip_among(all,
			     bitflip_halves(word_at(frame + 16, true), word_at(frame + 20, true)),
			     bitflip_halves(sum[0], sum[1]), !salts);
}
