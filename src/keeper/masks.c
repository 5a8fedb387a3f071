#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "keeper/keeper_priv.h"
#include "wire/plan.h"

/* A directory of the mask lies above the repository's and so its mode and times are what the box
 * sees. They are set after everything has been put into it. */
struct made {
	char *path;
	struct stat st;
};
struct list {
	struct made *item;
	size_t nr, cap;
};

static int keeper_masks_make_parents(int dir, int repo, const char *path, struct list *made,
				     struct err *err)
{
	for (const char *slash = path; (slash = strchr(slash, '/')); slash++) {
		size_t len = (size_t)(slash - path);
		CLEANUP(free_ptr) char *parent = mem_strndup(path, len);
		if (mkdirat(dir, parent, 0700) < 0) {
			if (errno == EEXIST)
				continue;
			return err_sys(err, "can't create the mask of '%s'", path);
		}
		CLEANUP(fd_close) int fd = open_beneath(repo, parent, len, O_PATH | O_DIRECTORY, 0);
		struct made m = { 0 };
		if (fd < 0) /* not there below: the directory is the mask's own */
			fstatat(dir, ".", &m.st, 0);
		else if (fstat(fd, &m.st) < 0)
			return err_sys(err, "can't read the status of '%s' of the repository",
				       parent);
		if (fd < 0)
			m.st.st_mode = S_IFDIR | 0755;
		m.path = mem_strdup(parent);
		GROW(made->item, made->nr, made->cap);
		made->item[made->nr++] = m;
	}
	return 0;
}

static int keeper_masks_put_file(int dir, int repo, const char *path, const struct buf *text,
				 struct err *err)
{
	CLEANUP(fd_close) int old = open_beneath(repo, path, strlen(path), O_PATH, 0);
	CLEANUP(fd_close)
	int fd = openat(dir, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	struct stat st = { .st_mode = 0644 };
	if (old >= 0 && fstat(old, &st) < 0)
		st.st_mode = 0644;
	if (fd < 0 || fchmod(fd, st.st_mode & 0777) < 0)
		return err_sys(err, "can't create the mask of '%s'", path);
	return fd_write_all(fd, text->data, text->len, err);
}

static int put_mask(int dir, int repo, const json_t *mask, struct list *made, struct err *err)
{
	CLEANUP(buf_release) struct buf path = BUF_INIT;
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	const json_t *t = json_object_get(mask, "text");
	if (!json_get_bytes(json_object_get(mask, "path"), &path) ||
	    !plan_path_ok(path.data, path.len) || (t && !json_get_bytes(t, &text)))
		return err_set(err, ERR_INVALID, "mask: invalid path");
	if (keeper_masks_make_parents(dir, repo, path.data, made, err) < 0)
		return -1;
	if (t)
		return keeper_masks_put_file(dir, repo, path.data, &text, err);
	if (mknodat(dir, path.data, S_IFCHR, makedev(0, 0)) < 0)
		return err_sys(err, "can't create the mask of '%s'", path.data);
	return 0;
}

static int copy_attrs(int dir, const char *path, const struct stat *st, struct err *err)
{
	struct timespec times[2] = { st->st_atim, st->st_mtim };
	if (fchmodat(dir, path, st->st_mode & 0777, 0) < 0 ||
	    utimensat(dir, path, times, AT_SYMLINK_NOFOLLOW) < 0)
		return err_sys(err, "can't set the mode of the mask of '%s'", path);
	return 0;
}

int masks_make(const char *path, int repo, const json_t *masks, struct err *err)
{
	CLEANUP(fd_close) int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct list made = { 0 };
	struct stat root;
	int rc = dir < 0 || fstat(repo, &root) < 0 ? err_sys(err, "can't open '%s'", path) : 0;
	for (size_t i = 0; rc == 0 && i < json_array_size(masks); i++)
		rc = put_mask(dir, repo, json_array_get(masks, i), &made, err);
	for (size_t i = made.nr; i-- > 0;) {
		if (rc == 0)
			rc = copy_attrs(dir, made.item[i].path, &made.item[i].st, err);
		free(made.item[i].path);
	}
	free(made.item);
	return rc == 0 ? copy_attrs(dir, ".", &root, err) : -1;
}
