/* Recently used entries, by hash, in memory that never grows: a table of buckets, in each of which
 * the least recently used entry is replaced. For results that are cheap to compute again and seldom
 * needed after a while: a miss means forgotten or never known.
 *
 * An entry is a struct of the caller's that begins with `uint8_t key[RECENT_KEY]`, the first bytes
 * of a hash; an entry of zeros is free. Loop thread only. */
#ifndef RECORD_LRU_H
#define RECORD_LRU_H

#include "base/hash.h"

enum { RECENT_KEY = 16 };

struct recent;

/* @nr: entries, a power of two, at least 8. Returns owned. */
struct recent *lru_new(size_t entry_size, size_t nr);
void lru_free(struct recent **t);
/* Borrowed until the next call; NULL: not known. */
void *lru_find(struct recent *t, const struct hash *h);
/* A new entry for @h, zeroes behind its key; borrowed as above. @h must not be in the table. */
void *lru_add(struct recent *t, const struct hash *h);

#endif
