/* Finds a mark in the output of a terminal, also across reads. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "guest/guest_priv.h"

/* The first @nr of its bytes were the last to come out; all of them have come: the first once
 * more. */
struct inner_mark {
	char *bytes;
	size_t len, nr;
};

struct inner_mark *inner_mark_new(const char *bytes)
{
	struct inner_mark *m = NEW(struct inner_mark);
	*m = (struct inner_mark){ .bytes = mem_strdup(bytes), .len = strlen(bytes) };
	return m;
}

void inner_mark_free(struct inner_mark **mp)
{
	struct inner_mark *m = *mp;
	*mp = NULL;
	if (m)
		free(m->bytes);
	free(m);
}

/* How much of the mark stands at the end when @c comes after its first @nr bytes. */
static size_t mark_next(const struct inner_mark *m, size_t nr, char c)
{
	while (nr && m->bytes[nr] != c) { /* the longest beginning that is an end of these, too */
		size_t k = nr - 1;
		while (k && memcmp(m->bytes, m->bytes + nr - k, k) != 0)
			k--;
		nr = k;
	}
	return nr + (m->bytes[nr] == c);
}

bool inner_mark_complete(struct inner_mark *m, const char *bytes, size_t len)
{
	for (; len && m->nr < m->len; bytes++, len--)
		m->nr = mark_next(m, m->nr, *bytes);
	return m->nr == m->len && memchr(bytes, m->bytes[0], len);
}
