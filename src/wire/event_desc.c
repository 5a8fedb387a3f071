/* The tables of wire/event_body.h. */
#include "wire/event_body.h"

#include <stddef.h>
#include <string.h>

#include "event_table.inc"

const struct event_desc *event_desc_of(uint16_t kind)
{
	size_t lo = 0, hi = ARRAY_LEN(event_descs);
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		if (event_descs[mid].kind == kind)
			return event_descs[mid].desc;
		if (event_descs[mid].kind < kind)
			lo = mid + 1;
		else
			hi = mid;
	}
	return NULL;
}

const struct event_field *event_desc_field(const struct event_desc *d, const char *name, size_t len)
{
	for (size_t i = 0; i < d->nr; i++)
		if (d->field[i].len == len && !memcmp(d->field[i].name, name, len))
			return &d->field[i];
	return NULL;
}
