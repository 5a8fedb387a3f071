#include "base/lcs.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { WORD = 64 };

/* The columns of each symbol: place[first[s]] up to place[first[s + 1]], one list after
 * another. */
struct places {
	uint32_t *first, *place;
	/* of a symbol with many columns: its bits, precomputed; NULL for the others */
	uint64_t **dense;
	size_t words;
};

static void places_make(struct places *p, const uint32_t *b, size_t nr, uint32_t symbols)
{
	p->words = (nr + WORD - 1) / WORD;
	p->first = mem_calloc((size_t)symbols + 2, sizeof(*p->first));
	p->place = mem_calloc(nr ? nr : 1, sizeof(*p->place));
	p->dense = mem_calloc((size_t)symbols + 1, sizeof(*p->dense));
	for (size_t i = 0; i < nr; i++)
		p->first[b[i] + 2]++;
	for (uint32_t s = 1; s <= symbols; s++)
		p->first[s + 1] += p->first[s];
	/* moves first[s + 1] from the begin to the end of s's list */
	for (size_t i = 0; i < nr; i++)
		p->place[p->first[b[i] + 1]++] = (uint32_t)i;
	for (uint32_t s = 0; s < symbols; s++) {
		if (p->first[s + 1] - p->first[s] <= p->words) /* so at most 64 symbols are dense */
			continue;
		p->dense[s] = mem_calloc(p->words, sizeof(uint64_t));
		for (uint32_t k = p->first[s]; k < p->first[s + 1]; k++)
			p->dense[s][p->place[k] / WORD] |= UINT64_C(1) << p->place[k] % WORD;
	}
}

static void places_release(struct places *p, uint32_t symbols)
{
	for (uint32_t s = 0; s < symbols; s++)
		free(p->dense[s]);
	free(p->dense);
	free(p->first);
	free(p->place);
}

/* One row of the table: a bit of @v is 0 where its column is one longer than the column before. */
static void lcs_row(uint64_t *v, const uint64_t *match, size_t words)
{
	uint64_t carry = 0;
	for (size_t w = 0; w < words; w++) {
		uint64_t u = v[w] & match[w], sum;
		uint64_t over = __builtin_add_overflow(v[w], u, &sum);
		over |= __builtin_add_overflow(sum, carry, &sum);
		v[w] = sum | (v[w] & ~match[w]);
		carry = over;
	}
}

static size_t by_bits(const uint32_t *a, size_t nr_a, const uint32_t *b, size_t nr_b,
		      uint32_t symbols)
{
	struct places p;
	places_make(&p, b, nr_b, symbols);
	uint64_t *v = mem_calloc(p.words, sizeof(*v)),
		 *sparse = mem_calloc(p.words, sizeof(*sparse));
	size_t length = 0;
	memset(v, 0xff, p.words * sizeof(*v));
	for (size_t i = 0; i < nr_a; i++) {
		uint32_t from = p.first[a[i]], to = p.first[a[i] + 1];
		if (p.dense[a[i]]) {
			lcs_row(v, p.dense[a[i]], p.words);
			continue;
		}
		for (uint32_t k = from; k < to; k++)
			sparse[p.place[k] / WORD] |= UINT64_C(1) << p.place[k] % WORD;
		lcs_row(v, sparse, p.words);
		for (uint32_t k = from; k < to; k++)
			sparse[p.place[k] / WORD] = 0;
	}
	for (size_t i = 0; i < nr_b; i++)
		length += !(v[i / WORD] >> i % WORD & 1);
	free(v);
	free(sparse);
	places_release(&p, symbols);
	return length;
}

/* Copies those symbols of @a that @b has, too. Returns how many. */
static size_t lcs_shared(const uint32_t *a, size_t nr_a, const uint32_t *b, size_t nr_b,
			 uint32_t symbols, uint32_t *out)
{
	bool *has = mem_calloc((size_t)symbols + 1, sizeof(*has));
	size_t nr = 0;
	for (size_t i = 0; i < nr_b; i++)
		has[b[i]] = true;
	for (size_t i = 0; i < nr_a; i++)
		if (has[a[i]])
			out[nr++] = a[i];
	free(has);
	return nr;
}

size_t lcs_length(const uint32_t *a, size_t nr_a, const uint32_t *b, size_t nr_b, uint32_t symbols)
{
	size_t equal = 0;
	for (; nr_a && nr_b && *a == *b; a++, b++, nr_a--, nr_b--)
		equal++;
	for (; nr_a && nr_b && a[nr_a - 1] == b[nr_b - 1]; nr_a--, nr_b--)
		equal++;
	if (!nr_a || !nr_b)
		return equal;
	uint32_t *x = mem_calloc(nr_a, sizeof(*x)), *y = mem_calloc(nr_b, sizeof(*y));
	size_t nr_x = lcs_shared(a, nr_a, b, nr_b, symbols, x),
	       nr_y = lcs_shared(b, nr_b, a, nr_a, symbols, y);
	if (nr_x && nr_y)
		equal += by_bits(x, nr_x, y, nr_y, symbols);
	free(x);
	free(y);
	return equal;
}
