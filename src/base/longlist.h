/* Lists that get as long as a session: what keeps a program that has read ten million events small?
 *
 * A short list lies in memory as any other. From LONG_FROM bytes on it lies in an unlinked file (of
 * /var/tmp, else of the cache folder; never of a file system in memory), mapped as it is, so that
 * whoever reads it sees a plain array; what nobody looks at is let go of when a list grows or
 * long_rest is called, and comes back by itself. Room is reserved before it is used: a full disk,
 * or a place that has no files, leaves the list in memory, nothing else changes. Any thread, one
 * per list. */
#ifndef BASE_LONGLIST_H
#define BASE_LONGLIST_H

#include "base/compat.h"

enum { LONG_FROM = 1 << 18 };

/* As GROW (mem.h), for such a list; the pointer moves. */
#define LONG_GROW(ptr, nr, cap)                                                                    \
	do {                                                                                       \
		if ((nr) == (cap))                                                                 \
			(ptr) = long_resize((ptr), sizeof(*(ptr)), &(cap));                        \
	} while (0)

/* Room for more than *@cap elements of @size bytes; says how many. Returns owned: long_free. */
void *long_resize(void *list, size_t size, size_t *cap) NODISCARD;
void long_free(void *list); /* NULL does nothing */
/* Lets go of the pages of every such list. */
void long_rest(void);

#endif
