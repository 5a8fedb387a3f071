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

bool ev_text_is(struct ev_text t, const char *s)
{
	return t.s && t.n == strlen(s) && !memcmp(t.s, s, t.n);
}

const char *ev_text_dup(struct arena *a, struct ev_text t)
{
	return t.n ? arena_strndup(a, t.s, t.n) : "";
}

bool ev_text_put(struct buf *out, struct ev_text t, size_t max)
{
	if (!t.n)
		return false;
	buf_append(out, t.s, t.n < max ? t.n : max);
	if (t.n > max)
		buf_puts(out, "...");
	return true;
}

const struct event_field *event_desc_field(const struct event_desc *d, const char *name, size_t len)
{
	for (size_t i = 0; i < d->nr; i++)
		if (d->field[i].len == len && !memcmp(d->field[i].name, name, len))
			return &d->field[i];
	return NULL;
}
