#include "record/due.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { FIRST = 256 };

/* Where @nr stands or would stand. */
static struct due_page *slot(const struct due *d, uint32_t nr)
{
	size_t at = (nr * 2654435761u >> 7) & (d->cap - 1);
	while (d->page[at].nr && d->page[at].nr != nr)
		at = (at + 1) & (d->cap - 1);
	return &d->page[at];
}

static void grow(struct due *d)
{
	struct due bigger = { .nr = d->nr, .cap = d->cap ? d->cap * 2 : FIRST };
	bigger.page = xcalloc(bigger.cap, sizeof(*bigger.page));
	for (size_t i = 0; i < d->cap; i++)
		if (d->page[i].nr)
			*slot(&bigger, d->page[i].nr) = d->page[i];
	free(d->page);
	*d = bigger;
}

static void sum_of(const uint8_t page[SUMS_PAGE], uint8_t out[SUMS_TAIL])
{
	UNSET uint8_t copy[SUMS_PAGE];
	memcpy(copy, page, sizeof(copy));
	sums_make(copy);
	memcpy(out, copy + SUMS_PAGE - SUMS_TAIL, SUMS_TAIL);
}

void due_logged(struct due *d, uint32_t nr, const uint8_t page[SUMS_PAGE])
{
	if (!nr)
		return;
	if (d->nr * 2 >= d->cap)
		grow(d);
	struct due_page *p = slot(d, nr);
	d->nr += !p->nr;
	p->nr = nr;
	p->done = false;
	if (page)
		sum_of(page, p->sum);
}

void due_summed(struct due *d, uint32_t nr, const uint8_t page[SUMS_PAGE])
{
	struct due_page *p = d->cap ? slot(d, nr) : NULL;
	if (p && p->nr && !memcmp(p->sum, page + SUMS_PAGE - SUMS_TAIL, SUMS_TAIL))
		p->done = true;
}

const struct due_page *due_next(const struct due *d, size_t *at)
{
	while (*at < d->cap) {
		const struct due_page *p = &d->page[(*at)++];
		if (p->nr && !p->done)
			return p;
	}
	return NULL;
}

void due_reset(struct due *d)
{
	if (d->nr)
		memset(d->page, 0, d->cap * sizeof(*d->page));
	d->nr = 0;
}

void due_release(struct due *d)
{
	free(d->page);
	*d = (struct due){ 0 };
}
