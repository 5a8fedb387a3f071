#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "keeper/keeper_priv.h"
#include "wire/keeper.h"

static int open_how(int root, const char *path, int flags, mode_t mode, unsigned long long resolve)
{
	struct open_how how = { .flags = (unsigned long long)(unsigned)(flags | O_CLOEXEC),
				.mode = mode,
				.resolve = resolve };
	for (int i = 0;; i++) {
		int fd = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
		if (fd >= 0 || (errno != EAGAIN && errno != EINTR) || i == 16)
			return fd; /* EAGAIN: something was renamed meanwhile */
	}
}

int open_beneath(int root, const char *path, size_t len, int flags, mode_t mode)
{
	if (memchr(path, 0, len)) {
		errno = EINVAL;
		return -1;
	}
	CLEANUP(free_ptr) char *p = len ? mem_strndup(path, len) : mem_strdup(".");
	return open_how(root, p, flags | O_NOFOLLOW, mode,
			RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
}

/* --- the layers --- */

int files_open(struct keeper *k, const json_t *request, struct reply *r, struct err *err)
{
	CLEANUP(buf_release) struct buf path = BUF_INIT;
	CLEANUP(fd_close) int root = -1;
	struct stat st;
	if (!json_get_bytes(json_object_get(request, "path"), &path))
		return err_set(err, ERR_INVALID, "open: missing path");
	if (layers_root(k, request, &root, err) < 0)
		return -1;
	const char *p = buf_cstr(&path);
	bool list = json_flag(request, "list", false);
	CLEANUP(fd_close)
	int fd = open_beneath(root, p, path.len,
			      O_RDONLY | O_NONBLOCK | O_NOCTTY | (list ? O_DIRECTORY : 0), 0);
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(err, "can't open '%s'", p);
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		return err_set(err, ERR_INVALID, "'%s' is neither a file nor a directory", p);
	r->body = json_object();
	keeper_put_stat(r->body, &st);
	int out = fd;
	fd = -1;
	if (list)
		return keeper_put_entries(r->body, out, err);
	r->fd = out;
	return 0;
}

/* --- the box as its processes see it --- */

static int box_root(const struct keeper *k, struct err *err)
{
	char path[64];
	if (!k->guest)
		return err_set(err, ERR_INVALID, "the sandbox is not running");
	snprintf(path, sizeof(path), "/proc/%d/root", (int)k->guest);
	int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? err_sys(err, "can't open the root of the sandbox") : fd;
}

static int keeper_files_box_open(int root, const char *path, int flags, mode_t mode)
{
	return open_how(root, path, flags, mode, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
}

/* Files of the kernel answer differently to us, who have capabilities: those are read by commands
 * in the box. */
static bool of_kernel(int fd)
{
	struct statfs fs;
	return fstatfs(fd, &fs) < 0 || fs.f_type == PROC_SUPER_MAGIC || fs.f_type == SYSFS_MAGIC ||
	       fs.f_type == CGROUP_SUPER_MAGIC || fs.f_type == CGROUP2_SUPER_MAGIC;
}

static bool get_path(const json_t *request, struct buf *path)
{
	return json_get_bytes(json_object_get(request, "path"), path) && path->len > 0 &&
	       !memchr(path->data, 0, path->len);
}

int files_look(struct keeper *k, const json_t *request, struct reply *r, struct err *err)
{
	CLEANUP(buf_release) struct buf path = BUF_INIT;
	const char *as = json_str(request, "as", "stat");
	bool file = strcmp(as, "file") == 0, dir = strcmp(as, "dir") == 0;
	struct stat st;
	if (!get_path(request, &path))
		return err_set(err, ERR_INVALID, "look: missing path");
	CLEANUP(fd_close) int root = box_root(k, err);
	if (root < 0)
		return -1;
	CLEANUP(fd_close)
	int seen =
		keeper_files_box_open(root, path.data, O_PATH | (file || dir ? 0 : O_NOFOLLOW), 0);
	if (seen < 0 || fstat(seen, &st) < 0)
		return err_sys(err, "can't open '%s'", path.data);
	r->body = json_object();
	keeper_put_stat(r->body, &st);
	if (!file && !dir)
		return 0;
	if (file ? !S_ISREG(st.st_mode) : !S_ISDIR(st.st_mode))
		return err_set(err, ERR_INVALID, "'%s' is not a %s", path.data,
			       file ? "file" : "folder");
	if (of_kernel(seen))
		return err_set(err, ERR_DENIED,
			       "'%s' belongs to the kernel; run a command in the sandbox instead",
			       path.data);
	int fd = keeper_files_box_open(
		root, path.data, O_RDONLY | O_NONBLOCK | O_NOCTTY | (dir ? O_DIRECTORY : 0), 0);
	if (fd < 0 || fstat(fd, &st) < 0 || (file && !S_ISREG(st.st_mode)) || of_kernel(fd)) {
		err_sys(err, "can't open '%s'", path.data);
		fd_close(&fd);
		return -1;
	}
	if (dir)
		return keeper_put_entries(r->body, fd, err);
	r->fd = fd;
	return 0;
}

static int keeper_files_make_parents(int root, const char *path, struct err *err)
{
	CLEANUP(fd_close) int at = keeper_files_box_open(root, "/", O_PATH | O_DIRECTORY, 0);
	for (const char *slash = path; at >= 0 && (slash = strchr(slash + 1, '/'));) {
		CLEANUP(free_ptr) char *parent = mem_strndup(path, (size_t)(slash - path));
		int next = keeper_files_box_open(root, parent, O_PATH | O_DIRECTORY, 0);
		if (next < 0 && errno == ENOENT) {
			const char *name = strrchr(parent, '/');
			if (mkdirat(at, name ? name + 1 : parent, 0755) == 0 || errno == EEXIST)
				next = keeper_files_box_open(root, parent, O_PATH | O_DIRECTORY, 0);
		}
		if (next < 0)
			return err_sys(err, "can't create the directory of '%s'", path);
		fd_close(&at);
		at = next;
	}
	return at < 0 ? err_sys(err, "can't open the root of the sandbox") : 0;
}

static int copy_content(int from, int to, int64_t *size, struct err *err)
{
	struct stat st;
	off_t off = 0;
	if (fstat(from, &st) < 0 || !S_ISREG(st.st_mode))
		return err_set(err, ERR_INVALID, "write: the content is not a file");
	if (ftruncate(to, 0) < 0)
		return err_sys(err, "can't empty the file");
	while (off < st.st_size) {
		ssize_t n = sendfile(to, from, &off, (size_t)(st.st_size - off));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return err_sys(err, "can't write the file");
	}
	*size = st.st_size;
	return 0;
}

int files_write(struct keeper *k, const json_t *request, struct reply *r, struct err *err)
{
	CLEANUP(buf_release) struct buf path = BUF_INIT;
	int64_t mode = json_int(request, "mode", -1), size = 0;
	struct stat st;
	if (!get_path(request, &path) || k->in->nr != 1)
		return err_set(err, ERR_INVALID, "write: missing path or content");
	CLEANUP(fd_close) int root = box_root(k, err);
	if (root < 0 || keeper_files_make_parents(root, path.data, err) < 0)
		return -1;
	const int flags = O_WRONLY | O_NONBLOCK | O_NOCTTY;
	CLEANUP(fd_close) int fd = keeper_files_box_open(root, path.data, flags, 0);
	bool created = fd < 0 && errno == ENOENT;
	if (created)
		fd = keeper_files_box_open(root, path.data, flags | O_CREAT | O_EXCL, 0644);
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(err, "can't write '%s'", path.data);
	if (!S_ISREG(st.st_mode) || of_kernel(fd))
		return err_set(err, ERR_DENIED, "'%s' is not a regular file", path.data);
	if (copy_content(k->in->fd[0], fd, &size, err) < 0)
		return err_wrap(err, "'%s'", path.data);
	if (mode >= 0 && fchmod(fd, (mode_t)mode & 01777) < 0)
		return err_sys(err, "can't set the mode of '%s'", path.data);
	r->body = json_object();
	json_put_int(r->body, "size", size);
	json_put_flag(r->body, "created", created);
	return 0;
}
