/* A list that becomes long: it stays what it is, and what nobody looks at takes no memory. */
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/longlist.h"
#include "tap.h"

enum { MANY = 6000000, FEW = 1000, RESTED_KB = 4096 };

struct thing {
	uint64_t id;
	char more[5];
};

/* True if lists can be kept on a disk: the temporary directory is not in memory. */
static bool on_disk(void)
{
	struct statfs fs;
	int fd = open("/var/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	bool good = fd >= 0 && fstatfs(fd, &fs) == 0 && fs.f_type != TMPFS_MAGIC && fs.f_type != RAMFS_MAGIC;
	if (fd >= 0)
		close(fd);
	return good;
}

static long resident_kb(void)
{
	long pages = 0, rss = 0;
	FILE *f = fopen("/proc/self/statm", "re");
	if (!f || fscanf(f, "%ld %ld", &pages, &rss) != 2)
		exit(99);
	fclose(f);
	return rss * (sysconf(_SC_PAGESIZE) / 1024);
}

static size_t wrong(const struct thing *list, size_t nr)
{
	size_t n = 0;
	for (size_t i = 0; i < nr; i++)
		n += list[i].id != i * 3 + 1;
	return n;
}

static struct thing *filled(size_t many, size_t *cap)
{
	struct thing *list = NULL;
	*cap = 0;
	for (size_t i = 0; i < many; i++) {
		LONG_GROW(list, i, *cap);
		list[i] = (struct thing){ .id = i * 3 + 1 };
	}
	return list;
}

int main(void)
{
	size_t cap, other_cap;
	struct thing *few = filled(FEW, &cap);
	is_int((int64_t)wrong(few, FEW), 0, "a short one");
	ok(cap < 2 * FEW + 8, "has no more room than it needs");
	long before = resident_kb();
	struct thing *many = filled(MANY, &cap), *other = filled(MANY / 3, &other_cap);
	long grown = resident_kb() - before;
	long_rest();
	long rested = resident_kb() - before;
#ifdef __SANITIZE_ADDRESS__
	(void)grown, (void)rested, (void)on_disk;
	skip(1, "memory is the sanitizer's");
#else
	if (!on_disk())
		skip(1, "no scratch file on a disk here");
	else
		ok(rested < RESTED_KB, "nobody looks: %ld KB of %zu (before: %ld)", rested, MANY * sizeof(*many) / 1024, grown);
#endif
	is_int((int64_t)wrong(many, MANY), 0, "a long one is what it was");
	is_int((int64_t)wrong(other, MANY / 3), 0, "so is another beside it");
	many[5].id = 77;
	long_rest();
	is_int((int64_t)many[5].id, 77, "a change stays");
	long_free(other);
	long_free(few);
	is_int((int64_t)many[MANY - 1].id, (MANY - 1) * 3 + 1, "the first after the others have gone");
	long_free(many);
	long_free(NULL);
	return done_testing();
}
