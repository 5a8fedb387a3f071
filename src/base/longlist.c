#include "base/longlist.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/paths.h"

enum { FIRST = 8, STEP = 16 << 20 };

struct mapped {
	void *at;
	size_t bytes;
	int fd;
};

static struct mapped *longlist_lists;
static size_t nr_lists, cap_lists;
static pthread_mutex_t longlist_lock = PTHREAD_MUTEX_INITIALIZER;

static struct mapped *longlist_find(const void *at)
{
	for (size_t i = 0; i < nr_lists; i++)
		if (longlist_lists[i].at == at)
			return &longlist_lists[i];
	return NULL;
}

static int file_in(const char *dir)
{
	struct statfs fs;
	int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd >= 0 &&
	    (fstatfs(fd, &fs) < 0 || fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC))
		fd_close(&fd);
	return fd;
}

static int longlist_scratch(void)
{
	int fd = file_in("/var/tmp");
	if (fd >= 0)
		return fd;
	CLEANUP(free_ptr) char *cache = paths_cache("");
	return file_in(cache);
}

/* Out of memory and into a file of @bytes; false: no file can be made. */
static bool move_out(struct mapped *m, void *from, size_t old, size_t bytes)
{
	m->fd = longlist_scratch();
	if (m->fd < 0)
		return false;
	m->at = fallocate(m->fd, 0, 0, (off_t)bytes) == 0
			? mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, m->fd, 0)
			: MAP_FAILED;
	if (m->at == MAP_FAILED) {
		fd_close(&m->fd);
		return false;
	}
	m->bytes = bytes;
	memcpy(m->at, from, old);
	free(from);
	return true;
}

static bool grow_file(struct mapped *m, size_t bytes)
{
	if (fallocate(m->fd, 0, 0, (off_t)bytes) < 0)
		return false;
	madvise(m->at, m->bytes, MADV_DONTNEED);
	void *at = mremap(m->at, m->bytes, bytes, MREMAP_MAYMOVE);
	if (at == MAP_FAILED)
		return false;
	m->at = at;
	m->bytes = bytes;
	return true;
}

static void longlist_forget(struct mapped *m)
{
	munmap(m->at, m->bytes);
	fd_close(&m->fd);
	*m = longlist_lists[--nr_lists];
}

/* Back into memory: the disk has no room. */
static void *move_in(struct mapped *m, size_t bytes)
{
	void *list = mem_alloc(bytes);
	memcpy(list, m->at, m->bytes);
	longlist_forget(m);
	return list;
}

static void *longlist_resize(void *list, size_t old, size_t bytes)
{
	struct mapped *m = list ? longlist_find(list) : NULL;
	if (m)
		return grow_file(m, bytes) ? m->at : move_in(m, bytes);
	/* outgrows memory, or had to stay there before: asked again at each step */
	if (old >= LONG_FROM) {
		GROW(longlist_lists, nr_lists, cap_lists);
		if (move_out(&longlist_lists[nr_lists], list, old, bytes))
			return longlist_lists[nr_lists++].at;
	}
	return mem_realloc(list, bytes);
}

void *long_resize(void *list, size_t size, size_t *cap)
{
	size_t old = *cap * size, bytes = *cap == 0    ? FIRST * size
					  : old < STEP ? 2 * old
						       : old + STEP;
	pthread_mutex_lock(&longlist_lock);
	list = longlist_resize(list, old, bytes);
	pthread_mutex_unlock(&longlist_lock);
	*cap = bytes / size;
	return list;
}

void long_free(void *list)
{
	pthread_mutex_lock(&longlist_lock);
	struct mapped *m = list ? longlist_find(list) : NULL;
	if (m)
		longlist_forget(m);
	else
		free(list);
	pthread_mutex_unlock(&longlist_lock);
}

void long_rest(void)
{
	pthread_mutex_lock(&longlist_lock);
	for (size_t i = 0; i < nr_lists; i++)
		madvise(longlist_lists[i].at, longlist_lists[i].bytes, MADV_DONTNEED);
	pthread_mutex_unlock(&longlist_lock);
}
