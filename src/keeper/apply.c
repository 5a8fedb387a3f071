#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "keeper/keeper_priv.h"
#include "wire/plan.h"

/* The box may have put anything below the root, so every step goes from directory to directory
 * through descriptors and never through a link. */
struct spot {
	int dir;
	char *name;
	char *path; /* of the directory */
	size_t path_len;
}; /* the directory of a path and its last component */
#define SPOT_INIT ((struct spot){ .dir = -1 })

static void spot_close(struct spot *s)
{
	fd_close(&s->dir);
	free_ptr(&s->name);
	free_ptr(&s->path);
}

/* @s is SPOT_INIT or an earlier one: most operations of a plan are in the directory of the one
 * before. */
static int spot_open(int root, const char *path, size_t len, struct spot *s)
{
	const char *slash = memrchr(path, '/', len);
	size_t dir_len = slash ? (size_t)(slash - path) : 0, name_at = slash ? dir_len + 1 : 0;
	if (s->dir < 0 || s->path_len != dir_len || memcmp(s->path, path, dir_len) != 0) {
		spot_close(s);
		s->dir = open_beneath(root, path, dir_len, O_PATH | O_DIRECTORY, 0);
		if (s->dir < 0)
			return -1;
		s->path = mem_strndup(path, dir_len);
		s->path_len = dir_len;
	}
	free(s->name);
	s->name = mem_strndup(path + name_at, len - name_at);
	return 0;
}

/* --- removal --- */

/* Takes away what @dir holds, moving directories that are not empty up to @top: neither depth nor
 * descriptors grow. */
static int empty_dir(int dir, int top, unsigned *serial, bool *again)
{
	int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = copy < 0 ? NULL : fdopendir(copy);
	const struct dirent *e;
	int rc = 0;
	if (!d) {
		fd_close(&copy);
		return -1;
	}
	while (rc == 0 && (e = readdir(d))) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
		    unlinkat(dir, e->d_name, 0) == 0)
			continue;
		if (errno != EISDIR && errno != EPERM)
			rc = errno == ENOENT ? 0 : -1;
		else if (unlinkat(dir, e->d_name, AT_REMOVEDIR) < 0) {
			*again = true;
			char name[40];
			do
				snprintf(name, sizeof(name), ".removed-%u", (*serial)++);
			while (dir != top && (rc = renameat(dir, e->d_name, top, name)) < 0 &&
			       (errno == EEXIST || errno == ENOTEMPTY || errno == ENOTDIR));
		}
	}
	closedir(d);
	return rc;
}

static int empty_top(int top)
{
	unsigned serial = 0;
	for (bool again = true; again;) {
		again = false;
		if (empty_dir(top, top, &serial, &again) < 0)
			return -1;
		int copy = again ? openat(top, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
		DIR *d = copy < 0 ? NULL : fdopendir(copy);
		const struct dirent *e;
		int rc = 0;
		while (rc == 0 && d && (e = readdir(d))) {
			bool more = false;
			if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
				continue;
			CLEANUP(fd_close)
			int sub = open_beneath(top, e->d_name, strlen(e->d_name),
					       O_RDONLY | O_DIRECTORY, 0);
			rc = sub < 0 ? 0 : empty_dir(sub, top, &serial, &more);
		}
		if (d)
			closedir(d);
		if (rc < 0)
			return -1;
	}
	return 0;
}

int remove_tree(int dir, const char *name)
{
	if (unlinkat(dir, name, 0) == 0 || errno == ENOENT)
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return -1;
	CLEANUP(fd_close)
	int top = open_beneath(dir, name, strlen(name), O_RDONLY | O_DIRECTORY, 0);
	/* a merged directory refuses renames across lowers (EXDEV): what cannot move up is
	 * emptied in place, level by level */
	if (top < 0 || (empty_top(top) < 0 && errno != EXDEV))
		return -1;
	if (unlinkat(dir, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
		return 0;
	if (errno != ENOTEMPTY)
		return -1;
	int copy = openat(top, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = copy < 0 ? NULL : fdopendir(copy);
	const struct dirent *e;
	int rc = d ? 0 : -1;
	while (rc == 0 && d && (e = readdir(d)))
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			rc = remove_tree(top, e->d_name);
	if (d)
		closedir(d);
	return rc < 0 ? -1 : unlinkat(dir, name, AT_REMOVEDIR);
}

/* --- the operations --- */

/* Fills and closes nothing: @fd stays the caller's. */
static int fill_file(int fd, const struct plan_op *op, int from)
{
	off_t off = (off_t)op->off;
	for (uint64_t left = op->len; left;) {
		ssize_t n = sendfile(fd, from, &off, left < (1 << 30) ? (size_t)left : 1 << 30);
		if (n < 0 && errno == EINTR)
			continue;
		if (n == 0)
			errno = ENODATA;
		if (n <= 0)
			return -1;
		left -= (uint64_t)n;
	}
	return fchmod(fd, op->mode);
}

static int keeper_apply_write_file(const struct spot *s, const struct plan_op *op, int from)
{
	const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
	int saved;
	/* an empty place can't be open in any process: this saves half the work below */
	CLEANUP(fd_close) int fresh = openat(s->dir, s->name, flags, 0600);
	if (fresh >= 0) {
		if (fill_file(fresh, op, from) == 0)
			return 0;
		saved = errno;
		unlinkat(s->dir, s->name, 0);
		errno = saved;
		return -1;
	}
	if (errno != EEXIST)
		return -1;
	/* a new file under another name first: a reader sees the old content or the new, and links
	 * are not written through */
	CLEANUP(free_ptr) char *tmp = mem_printf(".sg-apply-%d", (int)getpid());
	unlinkat(s->dir, tmp, 0);
	CLEANUP(fd_close) int fd = openat(s->dir, tmp, flags, 0600);
	if (fd >= 0 && fill_file(fd, op, from) == 0 && renameat(s->dir, tmp, s->dir, s->name) == 0)
		return 0;
	saved = errno;
	unlinkat(s->dir, tmp, 0);
	errno = saved;
	return -1;
}

static int make_room(const struct spot *s)
{
	return unlinkat(s->dir, s->name, 0) == 0 || errno == ENOENT ? 0
	       : errno == EISDIR || errno == EPERM ? unlinkat(s->dir, s->name, AT_REMOVEDIR)
						   : -1;
}

static int keeper_apply_change_mode(const struct spot *s, uint32_t mode, bool dir)
{
	CLEANUP(fd_close)
	int fd =
		open_beneath(s->dir, s->name, strlen(s->name), O_PATH | (dir ? O_DIRECTORY : 0), 0);
	struct stat st;
	char path[32];
	if (fd < 0 || fstat(fd, &st) < 0)
		return -1;
	if (S_ISLNK(st.st_mode))
		return 0; /* links have no mode */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return chmod(path, mode);
}

static int keeper_apply_make_link(int root, const struct spot *s, const struct plan_op *op)
{
	struct spot to = SPOT_INIT;
	if (spot_open(root, op->target, op->target_len, &to) < 0)
		return -1;
	int rc = make_room(s) < 0 ? -1 : linkat(to.dir, to.name, s->dir, s->name, 0);
	int saved = errno;
	spot_close(&to);
	errno = saved;
	return rc;
}

static int keeper_apply_carry_out(int root, const struct spot *s, const struct plan_op *op,
				  const int *fds)
{
	CLEANUP(free_ptr) char *target = NULL;
	switch (op->kind) {
	case PLAN_FILE:
		if (keeper_apply_write_file(s, op, fds[op->fd]) == 0)
			return 0;
		return errno == EISDIR && unlinkat(s->dir, s->name, AT_REMOVEDIR) == 0
			       ? keeper_apply_write_file(s, op, fds[op->fd])
			       : -1;
	case PLAN_DIR:
		return mkdirat(s->dir, s->name, 0700) < 0 && errno != EEXIST
			       ? -1
			       : keeper_apply_change_mode(s, op->mode, true);
	case PLAN_SYMLINK:
		target = mem_strndup(op->target, op->target_len);
		return make_room(s) < 0 ? -1 : symlinkat(target, s->dir, s->name);
	case PLAN_REMOVE:
		return remove_tree(s->dir, s->name);
	case PLAN_CHMOD:
		return keeper_apply_change_mode(s, op->mode, false);
	case PLAN_FIFO:
		return make_room(s) < 0 || mknodat(s->dir, s->name, S_IFIFO | 0600, 0) < 0
			       ? -1
			       : keeper_apply_change_mode(s, op->mode, false);
	case PLAN_LINK:
		return keeper_apply_make_link(root, s, op);
	case PLAN_TIME:
		return plan_time(s->dir, s->name, op);
	}
	errno = EINVAL;
	return -1;
}

static int run_plan(int root, const char *plan, size_t len, const int *fds, size_t nr_fds,
		    int64_t *done, struct err *err)
{
	struct plan_op op;
	struct spot s = SPOT_INIT;
	size_t pos = 0;
	int rc;
	while ((rc = plan_next(plan, len, &pos, nr_fds, &op, err)) > 0) {
		int shown = (int)(op.path_len < 300 ? op.path_len : 300);
		if (spot_open(root, op.path, op.path_len, &s) < 0) {
			if ((op.kind == PLAN_REMOVE || op.kind == PLAN_TIME) && errno == ENOENT) {
				(*done)++;
				continue;
			}
			rc = err_sys(err, "can't open the directory of '%.*s'", shown, op.path);
			break;
		}
		rc = keeper_apply_carry_out(root, &s, &op, fds);
		if (rc < 0) {
			err_sys(err, "can't apply to '%.*s'", shown, op.path);
			break;
		}
		if (op.kind == PLAN_REMOVE || op.kind == PLAN_CHMOD || op.kind == PLAN_DIR)
			spot_close(&s); /* a directory may have gone, come or been shut */
		(*done)++;
	}
	spot_close(&s);
	return rc;
}

int apply_plan(struct keeper *k, const json_t *request, struct reply *r, struct err *err)
{
	CLEANUP(json_release) json_t *where = json_object();
	CLEANUP(fd_close) int root = -1;
	struct stat st;
	int64_t done = 0;
	if (k->in->nr == 0 || fstat(k->in->fd[0], &st) < 0 || !S_ISREG(st.st_mode) ||
	    st.st_size <= 0)
		return err_set(err, ERR_INVALID, "apply: missing plan");
	json_put_int(where, "layer", json_int(request, "layer", -1));
	json_put_str(where, "which", "merged");
	if (layers_root(k, where, &root, err) < 0)
		return -1;
	size_t len = (size_t)st.st_size;
	void *plan = mmap(NULL, len, PROT_READ, MAP_PRIVATE, k->in->fd[0], 0);
	if (plan == MAP_FAILED)
		return err_sys(err, "can't read the plan");
	umask(0);
	int rc = run_plan(root, plan, len, k->in->fd + 1, k->in->nr - 1, &done, err);
	umask(022);
	munmap(plan, len);
	r->body = json_object();
	json_put_int(r->body, "done", done);
	return rc;
}
