/* File descriptors: -1 is the empty value, O_CLOEXEC always. */
#ifndef BASE_FD_H
#define BASE_FD_H

#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"

void fd_close(int *fd); /* closes if >= 0 and sets -1; also for CLEANUP(fd_close) int fd = -1; */
NODISCARD int fd_nonblock(int fd, struct err *err);
/* blocking; retries EINTR, EAGAIN (poll) */
NODISCARD int fd_write_all(int fd, const void *bytes, size_t len, struct err *err);
/* ERR_CLOSED on early EOF */
NODISCARD int fd_read_full(int fd, void *bytes, size_t len, struct err *err);
/* to EOF; ERR_FULL past @max */
NODISCARD int fd_read_all(int fd, struct buf *out, size_t max, struct err *err);
/* The way to read a file that a user, a repository or an archive has named: it never waits and
 * never takes a terminal. Regular files and /dev/null; ERR_INVALID for what else it is. Returns the
 * descriptor, -1 on error. */
NODISCARD int file_open(const char *path, struct err *err);
/* The same, and reads it whole; ERR_FULL past @max. */
NODISCARD int file_read(const char *path, struct buf *out, size_t max, struct err *err);
/* Writes by temporary file in the same directory, then rename; the caller handles durability. */
NODISCARD int file_write_renamed(const char *path, const void *bytes, size_t len, mode_t mode,
				 struct err *err);
/* The same with fsync before the rename, and of the directory after it. */
NODISCARD int file_write_atomic(const char *path, const void *bytes, size_t len, mode_t mode,
				struct err *err);
/* mkdir -p; existing is fine */
NODISCARD int dir_make(const char *path, mode_t mode, struct err *err);
/* Removes a tree without following symlinks or crossing devices; missing is fine. Iterative: depth
 * is not a limit. */
NODISCARD int dir_remove(const char *path, struct err *err);

/* One message with up to FD_PASS_MAX descriptors over a unix stream socket (blocking). Received
 * ones are CLOEXEC. */
enum { FD_PASS_MAX = 16 };
NODISCARD int fd_send(int sock, const void *bytes, size_t len, const int *fds, size_t nr_fds,
		      struct err *err);
/* Returns bytes read (0 = EOF) or -1; EAGAIN gives -1 with err->sys == EAGAIN. */
ssize_t fd_recv(int sock, void *bytes, size_t cap, int *fds, size_t *nr_fds_out, struct err *err);

#endif
