/* The longest common subsequence against the table that every textbook has. */
#include "base/lcs.h"

#include <stdlib.h>

#include "base/mem.h"
#include "tap.h"

static uint64_t seed = 88172645463325252;

static uint32_t below(uint32_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed % n);
}

static size_t by_table(const uint32_t *a, size_t nr_a, const uint32_t *b, size_t nr_b)
{
	size_t *row = mem_calloc(nr_b + 1, sizeof(*row)), best;
	for (size_t i = 0; i < nr_a; i++)
		for (size_t j = 0, diagonal = 0; j < nr_b; j++) {
			size_t above = row[j + 1];
			if (a[i] == b[j])
				row[j + 1] = diagonal + 1;
			else if (row[j] > above)
				row[j + 1] = row[j];
			diagonal = above;
		}
	best = row[nr_b];
	free(row);
	return best;
}

/* Random sequences, the second one partly a copy of the first: few symbols (all of them dense) to many (all sparse). */
static size_t differ(size_t rounds, size_t most, uint32_t symbols)
{
	size_t wrong = 0;
	for (size_t k = 0; k < rounds; k++) {
		size_t nr_a = below((uint32_t)most + 1), nr_b = below((uint32_t)most + 1);
		uint32_t *a = mem_calloc(nr_a + 1, sizeof(*a)), *b = mem_calloc(nr_b + 1, sizeof(*b));
		for (size_t i = 0; i < nr_a; i++)
			a[i] = below(symbols);
		for (size_t i = 0; i < nr_b; i++)
			b[i] = i < nr_a && below(4) ? a[i] : below(symbols);
		wrong += lcs_length(a, nr_a, b, nr_b, symbols) != by_table(a, nr_a, b, nr_b);
		free(a);
		free(b);
	}
	return wrong;
}

int main(void)
{
	static const uint32_t one[] = { 0, 1, 2, 3 }, other[] = { 3, 0, 2, 1 };
	is_int(lcs_length(one, 4, one, 4, 4), 4, "a sequence and itself");
	is_int(lcs_length(one, 4, other, 4, 4), 2, "two of four in order");
	is_int(lcs_length(one, 4, other, 0, 4), 0, "nothing on one side");
	is_int(lcs_length(NULL, 0, NULL, 0, 0), 0, "nothing at all");
	is_int(differ(400, 70, 2), 0, "few symbols");
	is_int(differ(400, 200, 5), 0, "a handful");
	is_int(differ(200, 300, 60), 0, "as many as a word has bits");
	is_int(differ(200, 300, 2000), 0, "nearly all differ");
	return done_testing();
}
