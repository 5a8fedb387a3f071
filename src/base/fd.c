#include "base/fd.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/mem.h"

void fd_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

int fd_nonblock(int fd, struct err *err)
{
	int flags = fcntl(fd, F_GETFL);
	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return err_sys(err, "can't make descriptor %d non-blocking", fd);
	return 0;
}

static void fd_wait_for(int fd, short events)
{
	struct pollfd p = { .fd = fd, .events = events };
	poll(&p, 1, -1);
}

int fd_write_all(int fd, const void *bytes, size_t len, struct err *err)
{
	const char *p = bytes;
	while (len) {
		ssize_t n = write(fd, p, len);
		if (n < 0 && errno == EAGAIN)
			fd_wait_for(fd, POLLOUT);
		else if (n < 0 && errno != EINTR)
			return err_sys(err, "can't write");
		else if (n > 0) {
			p += n;
			len -= (size_t)n;
		}
	}
	return 0;
}

int fd_read_full(int fd, void *bytes, size_t len, struct err *err)
{
	char *p = bytes;
	while (len) {
		ssize_t n = read(fd, p, len);
		if (n == 0)
			return err_set(err, ERR_CLOSED, "the other side closed the connection");
		if (n < 0 && errno == EAGAIN)
			fd_wait_for(fd, POLLIN);
		else if (n < 0 && errno != EINTR)
			return err_sys(err, "can't read");
		else if (n > 0) {
			p += n;
			len -= (size_t)n;
		}
	}
	return 0;
}

int fd_read_all(int fd, struct buf *out, size_t max, struct err *err)
{
	for (;;) {
		buf_reserve(out, 65536);
		ssize_t n = read(fd, out->data + out->len, 65536);
		if (n == 0)
			return 0;
		if (n < 0 && errno == EAGAIN) {
			fd_wait_for(fd, POLLIN);
			continue;
		}
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_sys(err, "can't read");
		out->len += (size_t)n;
		out->data[out->len] = 0;
		if (out->len > max)
			return err_set(err, ERR_FULL, "more than %zu bytes", max);
	}
}

static bool file_plain_kind(const struct stat *st)
{
	/* /dev/null: an empty file */
	return S_ISREG(st->st_mode) || (S_ISCHR(st->st_mode) && st->st_rdev == makedev(1, 3));
}

static int file_not_plain(const char *path, mode_t mode, struct err *err)
{
	const char *what = S_ISDIR(mode)    ? "a directory"
			   : S_ISFIFO(mode) ? "a named pipe"
			   : S_ISSOCK(mode) ? "a socket"
					    : "a device";
	return err_set(err, ERR_INVALID, "'%s' is %s, not a file", path, what);
}

int file_open(const char *path, struct err *err)
{
	struct stat st;
	if (stat(path, &st) < 0)
		return err_sys(err, "can't open '%s'", path);
	if (!file_plain_kind(&st)) /* opening some of them does something */
		return file_not_plain(path, st.st_mode, err);
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return err_sys(err, "can't open '%s'", path);
	if (fstat(fd, &st) == 0 && file_plain_kind(&st))
		return fd;
	fd_close(&fd);
	return file_not_plain(path, st.st_mode, err);
}

int file_read(const char *path, struct buf *out, size_t max, struct err *err)
{
	CLEANUP(fd_close) int fd = file_open(path, err);
	if (fd < 0)
		return -1;
	if (fd_read_all(fd, out, max, err) < 0)
		return err_wrap(err, "'%s'", path);
	return 0;
}

static int dir_sync(const char *path, struct err *err)
{
	CLEANUP(free_ptr) char *dir = mem_strdup(path);
	char *slash = strrchr(dir, '/');
	if (slash == dir)
		slash[1] = 0;
	else if (slash)
		*slash = 0;
	CLEANUP(fd_close) int fd = open(slash ? dir : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fsync(fd) < 0)
		return err_sys(err, "can't sync the directory of '%s'", path);
	return 0;
}

static int write_renamed(const char *path, const void *bytes, size_t len, mode_t mode, bool sync,
			 struct err *err)
{
	CLEANUP(free_ptr) char *tmp = mem_printf("%s.XXXXXX", path);
	CLEANUP(fd_close) int fd = mkostemp(tmp, O_CLOEXEC);
	if (fd < 0)
		return err_sys(err, "can't create '%s'", tmp);
	int rc = fd_write_all(fd, bytes, len, err);
	if (rc == 0 && (fchmod(fd, mode) < 0 || (sync && fsync(fd) < 0) || rename(tmp, path) < 0))
		rc = err_sys(err, "can't write '%s'", path);
	if (rc < 0)
		unlink(tmp);
	return rc;
}

int file_write_renamed(const char *path, const void *bytes, size_t len, mode_t mode,
		       struct err *err)
{
	return write_renamed(path, bytes, len, mode, false, err);
}

int file_write_atomic(const char *path, const void *bytes, size_t len, mode_t mode, struct err *err)
{
	return write_renamed(path, bytes, len, mode, true, err) < 0 ? -1 : dir_sync(path, err);
}

static int make_all(const char *path, mode_t mode, struct err *err)
{
	CLEANUP(free_ptr) char *p = mem_strdup(path);
	for (char *s = p + 1;; s++) {
		if (*s && *s != '/')
			continue;
		char c = *s;
		*s = 0;
		if (mkdir(p, c ? 0755 & (mode | 0111) : mode) < 0 && errno != EEXIST)
			return err_sys(err, "can't create directory '%s'", p);
		if (!c)
			return 0;
		*s = c;
	}
}

int dir_make(const char *path, mode_t mode, struct err *err)
{
	struct stat st;
	if (mkdir(path, mode) == 0)
		return 0;
	if (errno != EEXIST && make_all(path, mode, err) < 0)
		return -1;
	if (stat(path, &st) < 0)
		return err_sys(err, "can't read the status of '%s'", path);
	if (!S_ISDIR(st.st_mode))
		return err_set(err, ERR_EXISTS, "'%s' is not a directory", path);
	return 0;
}

/* A directory without permissions can be neither listed nor emptied. The name may have become a
 * symbolic link since it was looked at, so the mode is changed through a descriptor. */
static void make_enterable(int dir, const char *name)
{
	CLEANUP(fd_close) int fd = openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	char proc[32];
	snprintf(proc, sizeof(proc), "/proc/self/fd/%d", fd);
	if (fd >= 0 && chmod(proc, 0700) < 0)
		return; /* what cannot be entered is reported when it cannot be removed */
}

/* A tree is taken down by moving each directory that is not empty up to the top, so that neither
 * path length nor depth nor the number of open descriptors grows with the tree. */
static int remove_children(int dir, int top, dev_t dev, unsigned *serial, bool *again)
{
	int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = copy < 0 ? NULL : fdopendir(copy);
	if (!d) {
		fd_close(&copy);
		return -1;
	}
	int rc = 0;
	const struct dirent *e;
	while (rc == 0 && (errno = 0, e = readdir(d))) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		struct stat st;
		if (fstatat(dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			rc = errno == ENOENT ? 0 : -1;
		else if (!S_ISDIR(st.st_mode))
			rc = unlinkat(dir, e->d_name, 0);
		else if (st.st_dev != dev) {
			errno = EXDEV;
			rc = -1;
		} else if (unlinkat(dir, e->d_name, AT_REMOVEDIR) < 0) {
			/* trying again would not help */
			if (errno != ENOTEMPTY && errno != EEXIST) {
				rc = errno == ENOENT ? 0 : -1;
				continue;
			}
			*again = true;
			if ((st.st_mode & 0700) != 0700)
				make_enterable(dir, e->d_name);
			if (dir != top) {
				char name[32];
				do { /* the tree may hold such names of its own */
					snprintf(name, sizeof(name), ".removed-%u", (*serial)++);
					rc = renameat(dir, e->d_name, top, name);
				} while (rc < 0 && (errno == EEXIST || errno == ENOTEMPTY ||
						    errno == ENOTDIR));
			}
		}
	}
	closedir(d);
	return rc;
}

int dir_remove(const char *path, struct err *err)
{
	struct stat st;
	if (lstat(path, &st) < 0)
		return errno == ENOENT ? 0 : err_sys(err, "can't read the status of '%s'", path);
	if (!S_ISDIR(st.st_mode))
		return unlink(path) < 0 ? err_sys(err, "can't remove '%s'", path) : 0;
	if ((st.st_mode & 0700) != 0700)
		make_enterable(AT_FDCWD, path);
	CLEANUP(fd_close) int top = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (top < 0)
		return err_sys(err, "can't open '%s'", path);
	unsigned serial = 0;
	for (bool again = true; again;) {
		again = false;
		if (remove_children(top, top, st.st_dev, &serial, &again) < 0)
			return err_sys(err, "can't remove the contents of '%s'", path);
		if (!again)
			break;
		/* what is left at the top are directories: empty each of them, moving theirs up */
		int copy = openat(top, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		DIR *d = copy < 0 ? NULL : fdopendir(copy);
		if (!d) {
			fd_close(&copy);
			return err_sys(err, "can't list '%s'", path);
		}
		const struct dirent *e;
		int rc = 0;
		while (rc == 0 && (e = readdir(d))) {
			if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
				continue;
			make_enterable(top, e->d_name);
			CLEANUP(fd_close)
			int sub = openat(top, e->d_name,
					 O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
			if (sub < 0)
				continue;
			bool more = false;
			rc = remove_children(sub, top, st.st_dev, &serial, &more);
		}
		closedir(d);
		if (rc < 0)
			return err_sys(err, "can't remove the contents of '%s'", path);
	}
	if (rmdir(path) < 0)
		return err_sys(err, "can't remove '%s'", path);
	return 0;
}

int fd_send(int sock, const void *bytes, size_t len, const int *fds, size_t nr_fds, struct err *err)
{
	assert(nr_fds <= FD_PASS_MAX && len > 0);
	struct iovec iov = { .iov_base = (void *)(uintptr_t)bytes, .iov_len = len };
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(int) * FD_PASS_MAX)];
	} ctl = { 0 };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };
	if (nr_fds) {
		m.msg_control = ctl.space;
		m.msg_controllen = CMSG_SPACE(sizeof(int) * nr_fds);
		struct cmsghdr *c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int) * nr_fds);
		memcpy(CMSG_DATA(c), fds, sizeof(int) * nr_fds);
	}
	for (;;) {
		ssize_t n = sendmsg(sock, &m, MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN) {
			fd_wait_for(sock, POLLOUT);
			continue;
		}
		if (n < 0)
			return err_sys(err, "can't send");
		/* the descriptors went with the first byte; the rest are plain bytes */
		return (size_t)n < len
			       ? fd_write_all(sock, (const char *)bytes + n, len - (size_t)n, err)
			       : 0;
	}
}

ssize_t fd_recv(int sock, void *bytes, size_t cap, int *fds, size_t *nr_fds_out, struct err *err)
{
	struct iovec iov = { .iov_base = bytes, .iov_len = cap };
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(int) * FD_PASS_MAX)];
	} ctl;
	struct msghdr m = { .msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = ctl.space,
			    .msg_controllen = sizeof(ctl.space) };
	ssize_t n;
	do
		n = recvmsg(sock, &m, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0) {
		err_sys(err, "can't receive");
		return -1;
	}
	*nr_fds_out = 0;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		size_t nr = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < nr; i++) {
			int fd;
			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
			if (fds && *nr_fds_out < FD_PASS_MAX)
				fds[(*nr_fds_out)++] = fd;
			else
				close(fd);
		}
	}
	return n;
}
