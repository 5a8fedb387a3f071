#include "sandbox/view/copy.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <linux/fs.h>

#include "base/fd.h"
#include "base/mem.h"

enum { DEPTH_MAX = 200 };

struct copy {
	const struct masks *masks;
	const struct copy_owner *owner;
	struct buf path; /* relative, "" or ending in a slash */
	struct err *err;
};

static const struct mask *mask_of(const struct copy *c, const char *path)
{
	for (size_t i = 0; i < c->masks->nr; i++)
		if (strcmp(c->masks->item[i].path, path) == 0)
			return &c->masks->item[i];
	return NULL;
}

static int sandbox_copy_bytes(int in, int out)
{
	if (ioctl(out, FICLONE, in) == 0)
		return 0;
	for (ssize_t n = 1; n > 0;) {
		n = copy_file_range(in, NULL, out, NULL, 1 << 30, 0);
		if (n < 0 &&
		    (errno == EXDEV || errno == EINVAL || errno == EOPNOTSUPP || errno == ENOSYS))
			break;
		if (n < 0 && errno != EINTR)
			return -1;
		if (n == 0)
			return 0;
	}
	static const size_t chunk = 1 << 18;
	CLEANUP(free_ptr) char *buf = mem_alloc(chunk);
	struct err ignored = ERR_INIT;
	for (ssize_t n; (n = read(in, buf, chunk)) != 0;)
		if ((n < 0 && errno != EINTR) ||
		    (n > 0 && fd_write_all(out, buf, (size_t)n, &ignored) < 0))
			return -1;
	return 0;
}

static int sandbox_copy_finish(const struct copy *c, int fd, const struct stat *st)
{
	struct timespec times[2] = { st->st_atim, st->st_mtim };
	return fchown(fd, c->owner->uid, c->owner->gid) < 0 ||
			       fchmod(fd, st->st_mode & 01777) < 0 || futimens(fd, times) < 0
		       ? -1
		       : 0;
}

static int sandbox_copy_file(struct copy *c, int from, int to, const char *name,
			     const struct mask *mask)
{
	struct stat st;
	CLEANUP(fd_close)
	int in = openat(from, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (in < 0 && (errno == ENOENT || errno == EACCES))
		return 0;
	CLEANUP(fd_close)
	int out = in < 0 || fstat(in, &st) < 0
			  ? -1
			  : openat(to, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (out < 0)
		return -1;
	struct err ignored = ERR_INIT;
	int rc = mask ? fd_write_all(out, buf_cstr(&mask->text), mask->text.len, &ignored)
		      : sandbox_copy_bytes(in, out);
	return rc < 0 ? -1 : sandbox_copy_finish(c, out, &st);
}

static int copy_link(struct copy *c, int from, int to, const char *name)
{
	char target[4097];
	ssize_t n = readlinkat(from, name, target, sizeof(target) - 1);
	if (n < 0)
		return -1;
	target[n] = 0;
	if (symlinkat(target, to, name) < 0)
		return -1;
	return fchownat(to, name, c->owner->uid, c->owner->gid, AT_SYMLINK_NOFOLLOW);
}

static int sandbox_copy_dir(struct copy *c, int from, int to, int depth);

static int copy_sub(struct copy *c, int from, int to, const char *name, int depth)
{
	struct stat st;
	CLEANUP(fd_close)
	int in = openat(from, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (in < 0 && errno == EACCES)
		return 0;
	if (in < 0 || fstat(in, &st) < 0 || mkdirat(to, name, 0700) < 0)
		return -1;
	CLEANUP(fd_close)
	int out = openat(to, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	size_t len = c->path.len;
	buf_printf(&c->path, "%s/", name);
	int rc = out < 0 ? -1 : sandbox_copy_dir(c, in, out, depth + 1);
	c->path.len = len;
	c->path.data[len] = 0;
	return rc < 0 ? -1 : sandbox_copy_finish(c, out, &st);
}

static int copy_one(struct copy *c, int from, int to, const char *name, int depth)
{
	struct stat st;
	CLEANUP(free_ptr) char *path = mem_printf("%s%s", buf_cstr(&c->path), name);
	const struct mask *mask = mask_of(c, path);
	int rc = 0;
	if ((mask && !mask->clean) || fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	if (S_ISREG(st.st_mode))
		rc = sandbox_copy_file(c, from, to, name, mask);
	else if (S_ISDIR(st.st_mode))
		rc = copy_sub(c, from, to, name, depth);
	else if (S_ISLNK(st.st_mode))
		rc = copy_link(c, from, to, name);
	if (rc < 0 && c->err->code == ERR_NONE)
		err_sys(c->err, "can't copy '%s'", path);
	return rc;
}

static int sandbox_copy_dir(struct copy *c, int from, int to, int depth)
{
	int fd = openat(from, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 || depth > DEPTH_MAX ? NULL : fdopendir(fd);
	const struct dirent *e;
	int rc = 0;
	if (!d) {
		fd_close(&fd);
		return -1;
	}
	while (rc == 0 && (e = readdir(d)))
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			rc = copy_one(c, from, to, e->d_name, depth);
	closedir(d);
	return rc;
}

int copy_empty(const char *to, const struct copy_owner *owner, struct err *err)
{
	if (mkdir(to, 0700) < 0 || chown(to, owner->uid, owner->gid) < 0)
		return err_sys(err, "can't create '%s'", to);
	return 0;
}

int copy_tree(const char *from, const char *to, const struct masks *masks,
	      const struct copy_owner *owner, struct err *err)
{
	struct copy c = { .masks = masks, .owner = owner, .err = err };
	if (copy_empty(to, owner, err) < 0)
		return -1;
	CLEANUP(fd_close) int in = open(from, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CLEANUP(fd_close) int out = open(to, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int rc = in < 0 || out < 0 ? -1 : sandbox_copy_dir(&c, in, out, 0);
	buf_release(&c.path);
	return rc < 0 && err->code == ERR_NONE ? err_sys(err, "can't copy '%s'", from) : rc;
}

int copy_part(const char *from, const char *at, const char *to, const struct masks *masks,
	      const struct copy_owner *owner, struct err *err)
{
	struct copy c = { .masks = masks, .owner = owner, .err = err };
	const char *slash = strrchr(at, '/'), *name = slash ? slash + 1 : at;
	CLEANUP(free_ptr)
	char *from_dir = mem_printf("%s/%.*s", from, (int)(slash ? slash - at : 0), at);
	CLEANUP(free_ptr)
	char *to_dir = mem_printf("%s/%.*s", to, (int)(slash ? slash - at : 0), at);
	CLEANUP(fd_close) int in = open(from_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CLEANUP(fd_close) int out = open(to_dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (slash)
		buf_append(&c.path, at, (size_t)(slash - at) + 1);
	int rc = in < 0 || out < 0 ? -1 : copy_one(&c, in, out, name, 0);
	buf_release(&c.path);
	return rc < 0 && err->code == ERR_NONE ? err_sys(err, "can't copy '%s/%s'", from, at) : rc;
}
