/* A plan carried out on a plain directory. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/fd.h"
#include "base/mem.h"
#include "wire/plan.h"

/* The directory of @path, and its last component. */
static int plan_run_open_parent(int root, const char *path, size_t len, char **name_out)
{
	const char *slash = memrchr(path, '/', len);
	int fd = beneath_open(root, path, slash ? (size_t)(slash - path) : 0, O_PATH | O_DIRECTORY);
	if (fd >= 0)
		*name_out = slash ? mem_strndup(slash + 1, len - (size_t)(slash - path) - 1)
				  : mem_strndup(path, len);
	return fd;
}

static int plan_run_remove_one(int dir, const char *name)
{
	struct stat st;
	struct err err = ERR_INIT;
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -1;
	if (!S_ISDIR(st.st_mode))
		return unlinkat(dir, name, 0);
	CLEANUP(free_ptr) char *path = mem_printf("/proc/self/fd/%d/%s", dir, name);
	if (dir_remove(path, &err) == 0)
		return 0;
	errno = err.sys ? err.sys : EIO;
	return -1;
}

static int plan_run_write_file(int dir, const char *name, int from, const struct plan_op *op)
{
	CLEANUP(free_ptr) char *tmp = mem_printf(".sandglass-%d.tmp", (int)getpid());
	unlinkat(dir, tmp, 0);
	CLEANUP(fd_close)
	int fd = openat(dir, tmp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	off_t off = (off_t)op->off;
	if (fd < 0)
		return -1;
	bool good = true;
	for (uint64_t left = op->len; left && good;) {
		ssize_t n = sendfile(fd, from, &off, left < (1u << 30) ? (size_t)left : 1u << 30);
		if (n < 0 && errno == EINTR)
			continue;
		if (n == 0)
			errno = ENODATA;
		good = n > 0;
		left -= good ? (uint64_t)n : 0;
	}
	if (good && fchmod(fd, op->mode) == 0 && renameat(dir, tmp, dir, name) == 0)
		return 0;
	int saved = errno;
	unlinkat(dir, tmp, 0);
	errno = saved;
	return -1;
}

static int plan_run_change_mode(int dir, const char *name, unsigned mode)
{
	struct stat st;
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -1;
	if (S_ISLNK(st.st_mode))
		return 0;
	CLEANUP(fd_close) int fd = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	char proc[32];
	snprintf(proc, sizeof(proc), "/proc/self/fd/%d", fd);
	return fd < 0 ? -1 : chmod(proc, mode);
}

static int plan_run_make_link(int root, int dir, const char *name, const struct plan_op *op)
{
	CLEANUP(free_ptr) char *to = NULL;
	CLEANUP(fd_close) int to_dir = plan_run_open_parent(root, op->target, op->target_len, &to);
	if (to_dir < 0 || (unlinkat(dir, name, 0) < 0 && errno != ENOENT))
		return -1;
	return linkat(to_dir, to, dir, name, 0);
}

int plan_time(int dir, const char *name, const struct plan_op *op)
{
	const struct timespec t[2] = { { .tv_nsec = UTIME_OMIT },
				       { .tv_sec = (time_t)(op->off / 1000000),
					 .tv_nsec = (long)(op->off % 1000000) * 1000 } };
	return utimensat(dir, name, t, AT_SYMLINK_NOFOLLOW) < 0 && errno != ENOENT ? -1 : 0;
}

static int plan_run_carry_out(int root, int dir, const char *name, const struct plan_op *op,
			      const int *fds)
{
	CLEANUP(free_ptr) char *target = NULL;
	switch (op->kind) {
	case PLAN_FILE:
		return plan_run_write_file(dir, name, fds[op->fd], op);
	case PLAN_DIR:
		return mkdirat(dir, name, 0700) < 0 && errno != EEXIST
			       ? -1
			       : plan_run_change_mode(dir, name, op->mode);
	case PLAN_SYMLINK:
		target = mem_strndup(op->target, op->target_len);
		return plan_run_remove_one(dir, name) < 0 ? -1 : symlinkat(target, dir, name);
	case PLAN_REMOVE:
		return plan_run_remove_one(dir, name);
	case PLAN_CHMOD:
		return plan_run_change_mode(dir, name, op->mode);
	case PLAN_FIFO:
		return plan_run_remove_one(dir, name) < 0 || mkfifoat(dir, name, 0600) < 0
			       ? -1
			       : plan_run_change_mode(dir, name, op->mode);
	case PLAN_LINK:
		return plan_run_make_link(root, dir, name, op);
	case PLAN_TIME:
		return plan_time(dir, name, op);
	}
	errno = EINVAL;
	return -1;
}

int plan_run(int root, const char *plan, size_t len, const int *fds, size_t nr_fds,
	     size_t *done_out, struct err *err)
{
	size_t pos = 0;
	struct plan_op op;
	int rc;
	*done_out = 0;
	while ((rc = plan_next(plan, len, &pos, nr_fds, &op, err)) > 0) {
		CLEANUP(free_ptr) char *name = NULL;
		CLEANUP(fd_close) int dir = plan_run_open_parent(root, op.path, op.path_len, &name);
		bool gone = dir < 0 && errno == ENOENT &&
			    (op.kind == PLAN_REMOVE || op.kind == PLAN_TIME);
		if (!gone && (dir < 0 || plan_run_carry_out(root, dir, name, &op, fds) < 0))
			return err_sys(err, "can't write '%.*s'",
				       (int)(op.path_len < 300 ? op.path_len : 300), op.path);
		++*done_out;
	}
	return rc;
}
