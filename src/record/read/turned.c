#include "record/read/turned.h"

#include <endian.h>
#include <string.h>

enum { PAIR = 8, PAIRS = 1 + SUMS_PAGE / PAIR, WORD = 4 };

static uint32_t word_at(const uint8_t *p, bool big)
{
	uint32_t v;
	memcpy(&v, p, sizeof(v));
	return big ? be32toh(v) : le32toh(v);
}

/* What is summed up: the beginning of the header, then the page. */
static int place_of(int pair)
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

/* The bit of the word at @place that, turned, changes the sum by @wanted; a change by 1 there changes it by @weight. */
static int bit_of(const uint8_t *frame, int place, bool big, const uint32_t weight[2], const uint32_t wanted[2])
{
	uint32_t v = word_at(frame + place, big);
	for (int j = 0; j < 32; j++) {
		uint32_t change = v >> j & 1 ? -(1U << j) : 1U << j;
		if (change * weight[0] == wanted[0] && change * weight[1] == wanted[1])
			return place + (big ? WORD - 1 - j / 8 : j / 8);
	}
	return -1;
}

/* One pair of words more behind it. */
static void weigh(uint32_t weight[2])
{
	weight[0] += weight[1];
	weight[1] += weight[0];
}

int turned_byte(const uint8_t frame[FRAME], bool big, const uint32_t before[2], const uint8_t salt[8])
{
	uint32_t sum[2] = { before[0], before[1] };
	uint8_t want[8];
	int byte = -1;
	for (int i = 0; i < PAIRS; i++) {
		sum[0] += word_at(frame + place_of(i), big) + sum[1];
		sum[1] += word_at(frame + place_of(i) + WORD, big) + sum[0];
	}
	for (int i = 0; i < 8; i++)
		want[i] = (uint8_t)(sum[i / WORD] >> (24 - i % WORD * 8));
	int salts = bits_between(frame + 8, salt, 8, &byte), sums = bits_between(frame + 16, want, 8, &byte);
	if (salts + sums == 1)
		return (salts ? 8 : 16) + byte;
	if (salts)
		return -1;
	const uint32_t wanted[2] = { word_at(frame + 16, true) - sum[0], word_at(frame + 20, true) - sum[1] };
	uint32_t first[2] = { 1, 1 }, second[2] = { 0, 1 };
	for (int i = PAIRS; i-- > 0 && (wanted[0] || wanted[1]);) {
		int at = bit_of(frame, place_of(i), big, first, wanted);
		if (at < 0)
			at = bit_of(frame, place_of(i) + WORD, big, second, wanted);
		if (at >= 0)
			return at;
		weigh(first);
		weigh(second);
	}
	return -1;
}
