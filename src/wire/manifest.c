#include "wire/manifest.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "wire/guest.h"
#include "wire/plan.h"

void manifest_put(struct buf *out, const struct manifest_entry *e)
{
	pack_u8(out, (uint8_t)e->kind);
	buf_u32le(out, e->mode);
	buf_u64le(out, e->size);
	buf_u64le(out, e->mtime_ns);
	buf_u64le(out, e->ctime_ns);
	buf_u64le(out, e->ino);
	pack_str(out, e->path);
	pack_str(out, e->target ? e->target : "");
}

int manifest_cmp(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	/* what is in a directory comes before its next sibling: the slash stands below every other
	 * byte */
	int x = *a == '/' ? 1
		: *a	  ? (unsigned char)*a + 1
			  : 0,
	    y = *b == '/' ? 1
		: *b	  ? (unsigned char)*b + 1
			  : 0;
	return x - y;
}

int manifest_next(const char *bytes, size_t len, struct manifest_at *at, struct manifest_entry *e,
		  struct err *err)
{
	if (at->pos >= len)
		return 0;
	struct unpack u = { .p = bytes + at->pos, .left = len - at->pos };
	uint8_t kind = unpack_u8(&u);
	*e = (struct manifest_entry){ .kind = (enum manifest_kind)kind,
				      .mode = unpack_u32(&u) & 07777 };
	e->size = unpack_u64(&u);
	e->mtime_ns = unpack_u64(&u);
	e->ctime_ns = unpack_u64(&u);
	e->ino = unpack_u64(&u);
	e->path = unpack_str(&u);
	e->target = unpack_str(&u);
	if (u.bad || kind < MANIFEST_FILE || kind > MANIFEST_OTHER || ++at->nr > MANIFEST_MAX ||
	    !plan_path_ok(e->path, strlen(e->path)) ||
	    (at->last && manifest_cmp(at->last, e->path) >= 0) ||
	    (kind == MANIFEST_LINK) != (*e->target != 0))
		return err_set(err, ERR_PARSE,
			       "the list of the sandbox's files is invalid at entry %zu", at->nr);
	at->last = e->path;
	at->pos = len - u.left;
	return 1;
}

/* --- making one --- */

struct making {
	struct buf *out;
	struct buf path;
	size_t nr;
	unsigned depth;
};

void manifest_stat(struct manifest_entry *e, const struct stat *st)
{
	e->kind = S_ISREG(st->st_mode)	  ? MANIFEST_FILE
		  : S_ISDIR(st->st_mode)  ? MANIFEST_DIR
		  : S_ISLNK(st->st_mode)  ? MANIFEST_LINK
		  : S_ISFIFO(st->st_mode) ? MANIFEST_FIFO
					  : MANIFEST_OTHER;
	e->mode = st->st_mode & 07777;
	e->size = S_ISREG(st->st_mode) ? (uint64_t)st->st_size : 0;
	e->mtime_ns = (uint64_t)st->st_mtim.tv_sec * 1000000000U + (uint64_t)st->st_mtim.tv_nsec;
	e->ctime_ns = (uint64_t)st->st_ctim.tv_sec * 1000000000U + (uint64_t)st->st_ctim.tv_nsec;
	e->ino = st->st_ino;
}

static int manifest_by_bytes(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int list_names(int fd, struct strv *names, const struct making *m, struct err *err)
{
	DIR *d = fdopendir(fd);
	const struct dirent *e;
	if (!d) {
		fd_close(&fd);
		return err_sys(err, "can't list '%s'", buf_cstr(&m->path));
	}
	while (names->nr + m->nr <= MANIFEST_MAX && (e = readdir(d)))
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			strv_push(names, e->d_name);
	closedir(d);
	if (names->nr + m->nr > MANIFEST_MAX)
		return err_set(err, ERR_FULL, "the workspace has more than %d files", MANIFEST_MAX);
	if (names->nr)
		/* lengths go astray: not used below */
		qsort(names->item, names->nr, sizeof(*names->item), manifest_by_bytes);
	return 0;
}

static int manifest_walk(struct making *m, int dir, struct err *err);

/* A directory that its owner has shut is opened for the moment. */
static int manifest_enter(int dir, const char *name, const struct stat *st)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	int fd = openat(dir, name, flags);
	if (fd >= 0 || errno != EACCES || fchmodat(dir, name, (st->st_mode & 07777) | 0500, 0) < 0)
		return fd;
	fd = openat(dir, name, flags);
	return fd;
}

static int walk_entry(struct making *m, int dir, const char *name, struct err *err)
{
	struct stat st;
	char target[4097] = "";
	struct manifest_entry e = { .target = target };
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0
				       : err_sys(err, "can't read the status of '%s/%s'",
						 buf_cstr(&m->path), name);
	manifest_stat(&e, &st);
	if (e.kind == MANIFEST_LINK && readlinkat(dir, name, target, sizeof(target) - 1) <= 0)
		return 0;
	size_t before = m->path.len;
	buf_printf(&m->path, "%s%s", before ? "/" : "", name);
	e.path = buf_cstr(&m->path);
	int rc = m->path.len > PLAN_PATH_MAX
			 ? err_set(err, ERR_FULL, "a path in the workspace is longer than 16 KiB")
			 : 0;
	if (rc == 0) {
		manifest_put(m->out, &e);
		m->nr++;
	}
	if (rc == 0 && e.kind == MANIFEST_DIR) {
		int fd = manifest_enter(dir, name, &st);
		rc = fd < 0 ? err_sys(err, "can't list '%s'", e.path) : manifest_walk(m, fd, err);
		if (!(st.st_mode & 0400) || !(st.st_mode & 0100))
			(void)!fchmodat(dir, name, st.st_mode & 07777, 0);
	}
	m->path.data[m->path.len = before] = 0;
	return rc;
}

/* Takes @dir. */
static int manifest_walk(struct making *m, int dir, struct err *err)
{
	CLEANUP(strv_release) struct strv names = STRV_INIT;
	CLEANUP(fd_close) int own = fcntl(dir, F_DUPFD_CLOEXEC, 3);
	if (++m->depth > MANIFEST_DEPTH) {
		fd_close(&dir);
		return err_set(err, ERR_FULL, "the workspace is deeper than %d directories",
			       MANIFEST_DEPTH);
	}
	int rc = list_names(dir, &names, m, err);
	for (size_t i = 0; rc == 0 && i < names.nr; i++)
		rc = walk_entry(m, own, names.item[i], err);
	m->depth--;
	return rc;
}

int manifest_make(int root, struct buf *out, struct err *err)
{
	struct making m = { .out = out };
	buf_reserve(&m.path, PLAN_PATH_MAX);
	int dir = openat(root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int rc = dir < 0 ? err_sys(err, "can't list the workspace") : manifest_walk(&m, dir, err);
	buf_release(&m.path);
	return rc;
}
