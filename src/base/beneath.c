#include "base/beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"

static int beneath_open_step(int dir, const char *path, int flags)
{
	struct open_how how = { .flags = (uint64_t)(unsigned)(flags | O_NOFOLLOW | O_CLOEXEC),
				.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
					   RESOLVE_NO_MAGICLINKS };
	for (int i = 0; i < 8; i++) {
		int fd = (int)syscall(SYS_openat2, dir, path, &how, sizeof(how));
		if (fd >= 0 || errno != EAGAIN)
			return fd;
	}
	return -1;
}

int beneath_open(int root, const char *path, size_t len, int flags)
{
	enum { STEP = 3800 }; /* below PATH_MAX: longer paths are opened in pieces */
	if (len == 0)
		return openat(root, ".", flags | O_CLOEXEC);
	if (len <= STEP) {
		CLEANUP(free_ptr) char *p = mem_strndup(path, len);
		return beneath_open_step(root, p, flags);
	}
	int at = -1;
	size_t pos = 0;
	while (len - pos > STEP) {
		size_t cut = pos + STEP;
		while (cut > pos && path[cut] != '/')
			cut--;
		if (cut == pos) {
			errno = ENAMETOOLONG;
			break;
		}
		CLEANUP(free_ptr) char *p = mem_strndup(path + pos, cut - pos);
		int next = beneath_open_step(at < 0 ? root : at, p, O_PATH | O_DIRECTORY);
		int saved = errno;
		fd_close(&at);
		errno = saved;
		if (next < 0)
			return -1;
		at = next;
		pos = cut + 1;
	}
	if (len - pos > STEP) {
		fd_close(&at);
		return -1;
	}
	CLEANUP(free_ptr) char *p = mem_strndup(path + pos, len - pos);
	int fd = beneath_open_step(at, p, flags), saved = errno;
	fd_close(&at);
	errno = saved;
	return fd;
}
