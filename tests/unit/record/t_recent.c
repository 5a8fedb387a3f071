/* A cache keeps recent entries, drops old ones, and never grows. */
#include <string.h>

#include "record/lru.h"
#include "tap.h"

enum { ROOM = 1024 };

struct entry {
	uint8_t key[RECENT_KEY];
	uint32_t value;
};

static struct hash hash_nr(uint32_t n)
{
	struct hash h;
	hash_of(&n, sizeof(n), &h);
	return h;
}

static uint32_t known(struct recent *t, uint32_t n)
{
	struct hash h = hash_nr(n);
	const struct entry *e = lru_find(t, &h);
	return e ? e->value : 0;
}

static void add(struct recent *t, uint32_t n)
{
	struct hash h = hash_nr(n);
	struct entry *e = lru_add(t, &h);
	e->value = n;
}

int main(void)
{
	hash_init();
	struct recent *t = lru_new(sizeof(struct entry), ROOM);
	is_int(known(t, 1), 0, "an empty one knows nothing");
	for (uint32_t n = 1; n <= ROOM / 4; n++)
		add(t, n);
	unsigned all = 0;
	for (uint32_t n = 1; n <= ROOM / 4; n++)
		all += known(t, n) == n;
	is_int(all, ROOM / 4, "what there is much room for is known, each with its own value");
	for (uint32_t n = 1000; n < 1000 + 50 * ROOM; n++) {
		add(t, n);
		known(t, 1);
	}
	is_int(known(t, 1), 1, "an entry in regular use stays, whatever is added");
	is_int(known(t, 2), 0, "an unused entry is dropped");
	unsigned there = 0;
	for (uint32_t n = 1000; n < 1000 + 50 * ROOM; n++)
		there += known(t, n) == n;
	ok(there <= ROOM && there > ROOM * 9 / 10, "of %d entries it holds %u", 50 * ROOM, there);
	lru_free(&t);
	ok(!t, "and it is gone");
	return done_testing();
}
