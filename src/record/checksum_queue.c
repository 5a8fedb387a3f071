#include "record/checksum_queue.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { FIRST = 256 };

/* Where @nr stands or would stand. */
static struct due_page *checksum_queue_slot(const struct due *d, uint32_t nr)
{
	size_t at = (nr * 2654435761u >> 7) & (d->cap - 1);
	while (d->page[at].nr && d->page[at].nr != nr)
		at = (at + 1) & (d->cap - 1);
	return &d->page[at];
}

static void checksum_queue_grow(struct due *d)
{
	struct due bigger = { .nr = d->nr, .cap = d->cap ? d->cap * 2 : FIRST };
	bigger.page = mem_calloc(bigger.cap, sizeof(*bigger.page));
	for (size_t i = 0; i < d->cap; i++)
		if (d->page[i].nr)
			*checksum_queue_slot(&bigger, d->page[i].nr) = d->page[i];
	free(d->page);
	*d = bigger;
}

static void checksum_queue_sum_of(const uint8_t page[SUMS_PAGE], uint8_t out[SUMS_TAIL])
{
	UNSET uint8_t copy[SUMS_PAGE];
	memcpy(copy, page, sizeof(copy));
	page_checksum_make(copy);
	memcpy(out, copy + SUMS_PAGE - SUMS_TAIL, SUMS_TAIL);
}

void checksum_queue_logged(struct due *d, uint32_t nr, const uint8_t page[SUMS_PAGE])
{
	if (!nr)
		return;
	if (d->nr * 2 >= d->cap)
		checksum_queue_grow(d);
	struct due_page *p = checksum_queue_slot(d, nr);
	d->nr += !p->nr;
	p->nr = nr;
	p->done = false;
	if (page)
		checksum_queue_sum_of(page, p->sum);
}

void checksum_queue_summed(struct due *d, uint32_t nr, const uint8_t page[SUMS_PAGE])
{
	struct due_page *p = d->cap ? checksum_queue_slot(d, nr) : NULL;
	if (p && p->nr && !memcmp(p->sum, page + SUMS_PAGE - SUMS_TAIL, SUMS_TAIL))
		p->done = true;
}

const struct due_page *checksum_queue_next(const struct due *d, size_t *at)
{
	while (*at < d->cap) {
		const struct due_page *p = &d->page[(*at)++];
		if (p->nr && !p->done)
			return p;
	}
	return NULL;
}

void checksum_queue_reset(struct due *d)
{
	if (d->nr)
		memset(d->page, 0, d->cap * sizeof(*d->page));
	d->nr = 0;
}

void checksum_queue_release(struct due *d)
{
	free(d->page);
	*d = (struct due){ 0 };
}
