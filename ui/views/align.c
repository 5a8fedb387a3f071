#include "ui/views/align.h"

#include <stdlib.h>
#include <string.h>

struct rows_made {
	struct align_row *row;
	size_t nr;
};

static void align_put_row(struct rows_made *m, size_t a, bool has_a, size_t b, bool has_b,
			  bool same)
{
	m->row[m->nr++] =
		(struct align_row){ has_a ? (int32_t)a : -1, has_b ? (int32_t)b : -1, same };
}

/* Aligns steps without a match: side by side as long as both have some. */
static void align_gap(struct rows_made *m, size_t a, size_t a_end, size_t b, size_t b_end)
{
	for (; a < a_end || b < b_end; a += a < a_end, b += b < b_end)
		align_put_row(m, a, a < a_end, b, b < b_end, false);
}

/* Between the equal beginning and the equal end, by the table of lengths of common ends. */
static void align_middle(struct rows_made *m, const char *const *x, size_t nr_x,
			 const char *const *y, size_t nr_y, size_t from)
{
	size_t w = nr_y + 1, i = 0, k = 0, gap_x = 0, gap_y = 0;
	uint16_t *len = mem_calloc((nr_x + 1) * w, sizeof(*len));
	for (size_t p = nr_x; p-- > 0;)
		for (size_t q = nr_y; q-- > 0;) {
			uint16_t down = len[(p + 1) * w + q], right = len[p * w + q + 1];
			len[p * w + q] = strcmp(x[p], y[q]) == 0
						 ? (uint16_t)(len[(p + 1) * w + q + 1] + 1)
					 : down > right ? down
							: right;
		}
	while (i < nr_x && k < nr_y) {
		if (strcmp(x[i], y[k]) == 0) {
			align_gap(m, from + gap_x, from + i, from + gap_y, from + k);
			align_put_row(m, from + i, true, from + k, true, true);
			gap_x = ++i;
			gap_y = ++k;
		} else if (len[(i + 1) * w + k] >= len[i * w + k + 1]) {
			i++;
		} else {
			k++;
		}
	}
	align_gap(m, from + gap_x, from + nr_x, from + gap_y, from + nr_y);
	free(len);
}

size_t align_steps(const char *const *a, size_t nr_a, const char *const *b, size_t nr_b,
		   struct arena *ar, struct align_row **out)
{
	struct rows_made m = { .row = arena_alloc(ar, (nr_a + nr_b + 1) * sizeof(*m.row)) };
	size_t begin = 0, end = 0;
	while (begin < nr_a && begin < nr_b && strcmp(a[begin], b[begin]) == 0)
		begin++;
	while (end < nr_a - begin && end < nr_b - begin &&
	       strcmp(a[nr_a - end - 1], b[nr_b - end - 1]) == 0)
		end++;
	for (size_t i = 0; i < begin; i++)
		align_put_row(&m, i, true, i, true, true);
	size_t left = nr_a - begin - end, right = nr_b - begin - end;
	if (left <= ALIGN_MOST && right <= ALIGN_MOST)
		align_middle(&m, a + begin, left, b + begin, right, begin);
	else
		align_gap(&m, begin, begin + left, begin, begin + right);
	for (size_t i = 0; i < end; i++)
		align_put_row(&m, nr_a - end + i, true, nr_b - end + i, true, true);
	*out = m.row;
	return m.nr;
}
