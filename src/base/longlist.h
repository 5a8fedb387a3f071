/* Lists that get as long as a session: how does a program that has read ten million events stay
 * small?
 *
 * A short list is in memory as any other. From LONG_FROM bytes on it is in an unlinked file (of
 * /var/tmp, else of the cache directory; never of a file system in memory), mapped unchanged, so
 * that readers see a plain array; pages that nobody reads are dropped when a list grows or
 * long_rest is called, and are read again on access. Room is reserved before it is used: on a full
 * disk, or without a place for files, the list stays in memory and nothing else changes. Any
 * thread, one per list. */
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
