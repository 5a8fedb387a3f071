#include "record/lru.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { WAYS = 8 }; /* entries of a bucket, the one used last first */

struct recent {
	size_t size, buckets;
	uint8_t *entry, *spare;
};

struct recent *lru_new(size_t entry_size, size_t nr)
{
	struct recent *t = NEW(struct recent);
	t->size = entry_size;
	t->buckets = nr / WAYS;
	t->entry = mem_calloc(nr, entry_size);
	t->spare = mem_calloc(1, entry_size);
	return t;
}

void lru_free(struct recent **tp)
{
	struct recent *t = *tp;
	*tp = NULL;
	if (!t)
		return;
	free(t->entry);
	free(t->spare);
	free(t);
}

static uint8_t *bucket_of(const struct recent *t, const struct hash *h)
{
	return t->entry + ((size_t)get_u64le(h->b) & (t->buckets - 1)) * WAYS * t->size;
}

/* The entry at @way of @bucket comes first. */
static void *to_front(const struct recent *t, uint8_t *bucket, size_t way)
{
	memcpy(t->spare, bucket + way * t->size, t->size);
	memmove(bucket + t->size, bucket, way * t->size);
	memcpy(bucket, t->spare, t->size);
	return bucket;
}

void *lru_find(struct recent *t, const struct hash *h)
{
	uint8_t *bucket = bucket_of(t, h);
	for (size_t i = 0; i < WAYS; i++)
		if (!memcmp(bucket + i * t->size, h->b, RECENT_KEY))
			return to_front(t, bucket, i);
	return NULL;
}

void *lru_add(struct recent *t, const struct hash *h)
{
	uint8_t *bucket = bucket_of(t, h), *last = bucket + (WAYS - 1) * t->size;
	memset(last, 0, t->size);
	memcpy(last, h->b, RECENT_KEY);
	return to_front(t, bucket, WAYS - 1);
}
