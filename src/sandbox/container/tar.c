#include "sandbox/container/tar.h"

#include <archive.h>
#include <archive_entry.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"

struct tar {
	const struct tar_opts *o;
	struct archive *a;
	struct buf *out;
	struct err *err;
};

static la_ssize_t tar_keep(struct archive *a, void *self, const void *bytes, size_t len)
{
	struct tar *t = self;
	if (t->out->len + len > t->o->max) {
		archive_set_error(a, EFBIG, "more than %zu MiB", t->o->max >> 20);
		return -1;
	}
	buf_append(t->out, bytes, len);
	return (la_ssize_t)len;
}

static int tar_failed(const struct tar *t, const char *path)
{
	const char *why = archive_error_string(t->a);
	return err_set(t->err, archive_errno(t->a) == EFBIG ? ERR_FULL : ERR_IO,
		       "can't pack '%s': %s", path, why ? why : "no reason");
}

static int tar_put_content(const struct tar *t, int fd, const char *path, int64_t size)
{
	char chunk[64 << 10];
	while (size > 0) {
		ssize_t n = read(fd, chunk,
				 size < (int64_t)sizeof(chunk) ? (size_t)size : sizeof(chunk));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_sys(t->err, "can't read '%s'", path);
		if (n == 0)
			return err_set(t->err, ERR_IO, "'%s' became shorter while it was packed",
				       path);
		if (archive_write_data(t->a, chunk, (size_t)n) < 0)
			return tar_failed(t, path);
		size -= n;
	}
	return 0;
}

static int tar_put_entry(const struct tar *t, int dir, const char *name, const char *path,
			 const struct stat *st)
{
	char link[4097];
	struct archive_entry *e = archive_entry_new();
	CLEANUP(fd_close) int fd = -1;
	int rc = 0;
	archive_entry_set_pathname(e, path);
	archive_entry_set_mode(e, st->st_mode);
	archive_entry_set_uid(e, t->o->owners ? st->st_uid : 0);
	archive_entry_set_gid(e, t->o->owners ? st->st_gid : 0);
	archive_entry_set_mtime(e, 0, 0);
	if (S_ISLNK(st->st_mode)) {
		ssize_t n = readlinkat(dir, name, link, sizeof(link) - 1);
		if (n < 0)
			rc = err_sys(t->err, "can't read the link '%s'", path);
		link[n < 0 ? 0 : n] = 0;
		archive_entry_set_symlink(e, link);
	} else if (S_ISREG(st->st_mode)) {
		archive_entry_set_size(e, st->st_size);
		fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
		if (fd < 0)
			rc = err_sys(t->err, "can't open '%s'", path);
	} else if (S_ISCHR(st->st_mode) || S_ISBLK(st->st_mode)) {
		archive_entry_set_rdev(e, st->st_rdev);
	}
	if (rc == 0 && archive_write_header(t->a, e) < ARCHIVE_WARN)
		rc = tar_failed(t, path);
	if (rc == 0 && fd >= 0)
		rc = tar_put_content(t, fd, path, st->st_size);
	archive_entry_free(e);
	return rc;
}

static int tar_by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int tar_names_in(int fd, const char *path, struct strv *names, struct err *err)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	DIR *d = copy < 0 ? NULL : fdopendir(copy);
	const struct dirent *e;
	if (!d) {
		fd_close(&copy);
		return err_sys(err, "can't list '%s'", path);
	}
	while ((e = readdir(d)))
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			strv_push(names, e->d_name);
	closedir(d);
	if (names->nr)
		qsort(names->item, names->nr, sizeof(*names->item), tar_by_name);
	return 0;
}

static int put_folder(const struct tar *t, int fd, const char *path)
{
	CLEANUP(strv_release) struct strv names = STRV_INIT;
	if (tar_names_in(fd, *path ? path : ".", &names, t->err) < 0)
		return -1;
	for (size_t i = 0; i < names.nr; i++) {
		struct stat st;
		CLEANUP(free_ptr)
		char *full = *path ? mem_printf("%s/%s", path, names.item[i])
				   : mem_strdup(names.item[i]);
		if (fstatat(fd, names.item[i], &st, AT_SYMLINK_NOFOLLOW) < 0)
			return err_sys(t->err, "can't read the status of '%s'", full);
		bool folder = S_ISDIR(st.st_mode);
		if (S_ISSOCK(st.st_mode) ||
		    (t->o->leave_out && t->o->leave_out(t->o->self, full, folder)))
			continue;
		if (tar_put_entry(t, fd, names.item[i], full, &st) < 0)
			return -1;
		if (!folder)
			continue;
		CLEANUP(fd_close)
		int below =
			openat(fd, names.item[i], O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (below < 0)
			return err_sys(t->err, "can't open '%s'", full);
		if (put_folder(t, below, full) < 0)
			return -1;
	}
	return 0;
}

int tar_folder(const char *dir, const struct tar_opts *o, struct buf *out, struct err *err)
{
	struct tar t = { .o = o, .out = out, .err = err };
	CLEANUP(fd_close) int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return err_sys(err, "can't open '%s'", dir);
	t.a = archive_write_new();
	archive_write_set_format_pax_restricted(t.a);
	archive_write_set_bytes_in_last_block(t.a, 1);
	int rc = archive_write_open(t.a, &t, NULL, tar_keep, NULL) < ARCHIVE_OK
			 ? tar_failed(&t, dir)
			 : put_folder(&t, fd, "");
	if (rc == 0 && archive_write_close(t.a) < ARCHIVE_OK)
		rc = tar_failed(&t, dir);
	archive_write_free(t.a);
	return rc;
}
