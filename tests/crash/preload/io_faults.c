/* Preloaded into a program: its FAULT_AT-th call that changes or opens a file below FAULT_BELOW or FAULT_ALSO fails with
 * the error number FAULT_ERRNO, once in all processes, and is noted in the file FAULT_NOTE. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

static int inside(const char *path)
{
	const char *below = getenv("FAULT_BELOW"), *also = getenv("FAULT_ALSO");
	return path && ((below && !strncmp(path, below, strlen(below))) || (also && !strncmp(path, also, strlen(also))));
}

/* The first process that comes to the call makes the note, and fails it. */
static int due(const char *call, const char *path)
{
	static atomic_int calls;
	const char *at = getenv("FAULT_AT"), *note = getenv("FAULT_NOTE"), *nr = getenv("FAULT_ERRNO");
	if (!at || !note || !nr || !inside(path) || ++calls != atoi(at))
		return 0;
	int (*real)(const char *, int, ...) = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open");
	int fd = real(note, O_WRONLY | O_CREAT | O_EXCL, 0666);
	if (fd < 0)
		return 0;
	dprintf(fd, "%s %s\n", call, path);
	close(fd);
	errno = atoi(nr);
	return 1;
}

static int due_fd(const char *call, int fd)
{
	char link[64], path[4096];
	int was = errno;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, path, sizeof(path) - 1);
	errno = was;
	if (n <= 0)
		return 0;
	path[n] = 0;
	return due(call, path);
}

#define REAL(type, name, proto) type(*real) proto = (type(*) proto)dlsym(RTLD_NEXT, #name)
#define BY_FD(type, name, proto, args)                     \
	type name proto                                    \
	{                                                  \
		REAL(type, name, proto);                   \
		return due_fd(#name, fd) ? -1 : real args; \
	}
#define BY_PATH(name, proto, args)                         \
	int name proto                                     \
	{                                                  \
		REAL(int, name, proto);                    \
		return due(#name, path) ? -1 : real args;  \
	}
#define OPENS(name)                                                            \
	int name(const char *path, int flags, ...)                             \
	{                                                                      \
		va_list ap;                                                    \
		va_start(ap, flags);                                           \
		mode_t mode = va_arg(ap, mode_t);                              \
		va_end(ap);                                                    \
		int (*real)(const char *, int, ...) =                          \
			(int (*)(const char *, int, ...))dlsym(RTLD_NEXT, #name); \
		return (flags & (O_WRONLY | O_RDWR)) && due(#name, path) ? -1 : real(path, flags, mode); \
	}

BY_FD(ssize_t, write, (int fd, const void *b, size_t n), (fd, b, n))
BY_FD(ssize_t, pwrite, (int fd, const void *b, size_t n, off_t at), (fd, b, n, at))
BY_FD(ssize_t, pwrite64, (int fd, const void *b, size_t n, off64_t at), (fd, b, n, at))
BY_FD(int, ftruncate, (int fd, off_t n), (fd, n))
BY_FD(int, ftruncate64, (int fd, off64_t n), (fd, n))
BY_FD(int, fsync, (int fd), (fd))
BY_FD(int, fdatasync, (int fd), (fd))
BY_PATH(rename, (const char *path, const char *to), (path, to))
BY_PATH(unlink, (const char *path), (path))
BY_PATH(mkdir, (const char *path, mode_t mode), (path, mode))
OPENS(open)
OPENS(open64)
