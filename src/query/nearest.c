#include <string.h>

#include "query/filter.h"

enum { WORD_MAX = 32 };

/* Edit distance with neighboring letters swapped counting once. */
static size_t nearest_distance(const char *a, const char *b)
{
	size_t la = strlen(a), lb = strlen(b), d[WORD_MAX + 1][WORD_MAX + 1];
	if (la > WORD_MAX || lb > WORD_MAX)
		return WORD_MAX;
	for (size_t i = 0; i <= la; i++)
		for (size_t j = 0; j <= lb; j++) {
			if (!i || !j) {
				d[i][j] = i + j;
				continue;
			}
			size_t best = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
			best = d[i - 1][j] + 1 < best ? d[i - 1][j] + 1 : best;
			best = d[i][j - 1] + 1 < best ? d[i][j - 1] + 1 : best;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    d[i - 2][j - 2] + 1 < best)
				best = d[i - 2][j - 2] + 1;
			d[i][j] = best;
		}
	return d[la][lb];
}

/* Users seldom mistype the start: of two equally near names, the one with the same start is
 * proposed. */
static size_t nearest_alike(const char *a, const char *b)
{
	size_t n = 0;
	while (a[n] && a[n] == b[n])
		n++;
	return n;
}

const char *nearest_name(const char *word, const char *const *names)
{
	const char *const *begin = names, *best = NULL;
	size_t least = strlen(word) < 4 ? 2 : 3;
	for (; *names; names++) {
		size_t n = nearest_distance(word, *names);
		if (n < least || (best && n == least &&
				  nearest_alike(word, *names) > nearest_alike(word, best))) {
			best = *names;
			least = n;
		}
	}
	/* only its beginning was typed */
	for (size_t len = strlen(word); !best && len >= 4 && *begin; begin++)
		if (!strncmp(word, *begin, len))
			best = *begin;
	return best;
}
