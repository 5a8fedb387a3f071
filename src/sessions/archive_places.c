#include "sessions/archive_places.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/paths.h"
#include "record/archive_reach.h"
#include "record/catalog_forget.h"

enum { LIST_MOST = 1 << 20 };

static int archive_lock_file(const char *path, bool wait, struct err *err)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd >= 0 && flock(fd, LOCK_EX | (wait ? 0 : LOCK_NB)) == 0)
		return fd;
	if (errno == EWOULDBLOCK)
		err_set(err, ERR_BUSY, "another process archives");
	else
		err_sys(err, "can't lock '%s'", path);
	if (fd >= 0)
		close(fd);
	return -1;
}

int archive_lock(const char *dir, bool wait, struct err *err)
{
	CLEANUP(free_ptr) char *path = path_join(dir, "archiving.lock");
	return archive_lock_file(path, wait, err);
}

static void archive_add_place(struct strv *out, const char *path)
{
	for (size_t i = 0; i < out->nr; i++)
		if (!strcmp(out->item[i], path))
			return;
	strv_push(out, path);
}

void archive_places(const char *dir, struct strv *out)
{
	CLEANUP(free_ptr) char *own = path_join(dir, "archive"), *list = path_join(dir, "archives");
	CLEANUP(free_ptr) char *real = realpath(own, NULL);
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	struct err none = ERR_INIT;
	if (real)
		archive_add_place(out, real);
	if (access(list, F_OK) < 0 || file_read(list, &text, LIST_MOST, &none) < 0)
		return;
	char *save = NULL;
	for (char *line = strtok_r(text.data, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save))
		archive_add_place(out, line);
}

/* Reads the list as "\nPATH\nPATH\n", so that each path is between line breaks. */
static int archive_list_read(const char *list, struct buf *out, struct err *err)
{
	buf_putc(out, '\n');
	if (access(list, F_OK) == 0 && file_read(list, out, LIST_MOST, err) < 0)
		return -1;
	if (out->data[out->len - 1] != '\n')
		buf_putc(out, '\n');
	return 0;
}

/* Adds or removes a line of a list of paths. The lock keeps two processes from writing lists that
 * lack each other's line. *changed_out may be NULL. */
static int archive_list_edit(const char *list, const char *path, bool adds, bool *changed_out,
			     struct err *err)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	CLEANUP(free_ptr)
	char *line = mem_printf("\n%s\n", path), *lock = mem_printf("%s.lock", list);
	CLEANUP(fd_close) int fd = archive_lock_file(lock, true, err);
	if (fd < 0 || archive_list_read(list, &text, err) < 0)
		return -1;
	char *at = strstr(buf_cstr(&text), line);
	if (changed_out)
		*changed_out = adds != (at != NULL);
	if (adds == (at != NULL))
		return 0;
	CLEANUP(buf_release) struct buf now = BUF_INIT;
	size_t keeps = at ? (size_t)(at - text.data) : text.len - 1;
	size_t rest = at ? keeps + strlen(line) - 1 : text.len;
	buf_append(&now, text.data, keeps);
	buf_puts(&now, adds ? line : "");
	buf_append(&now, text.data + rest, text.len - rest);
	return file_write_atomic(list, now.data + 1, now.len - 1, 0600, err);
}

/* Sessions that go to the mount point of an archive that is away are hidden when it is back. */
static int archive_not_away(const char *list, const char *archive, struct err *err)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	CLEANUP(free_ptr) char *line = mem_printf("\n%s\n", archive);
	struct err why = ERR_INIT;
	if (archive_list_read(list, &text, err) < 0)
		return -1;
	if (!strstr(buf_cstr(&text), line) || archive_reach(archive, &why) == 0)
		return 0;
	return err_set(err, why.code,
		       "%.400s\nMount the archive, or run 'sandglass archive --forget DIR' first.",
		       why.text);
}

int archive_use(const char *dir, const char *archive, struct err *err)
{
	if (strchr(dir, '\n') || strchr(archive, '\n'))
		return err_set(err, ERR_USAGE, "the path of an archive can't have a line break");
	bool made = access(archive, F_OK) < 0;
	if (dir_make(archive, 0700, err) < 0)
		return -1;
	CLEANUP(free_ptr) char *from = realpath(dir, NULL), *to = realpath(archive, NULL);
	if (!from || !to)
		return err_sys(err, "can't find '%s'", from ? archive : dir);
	if (!strcmp(from, to))
		return err_set(err, ERR_USAGE,
			       "'%s' is the sessions directory: an archive is another directory",
			       archive);
	CLEANUP(free_ptr)
	char *users = path_join(to, "used-by"), *list = path_join(from, "archives");
	CLEANUP(free_ptr) char *own = path_join(from, "archive");
	if (archive_not_away(list, to, err) < 0) {
		if (made)
			(void)rmdir(to);
		return -1;
	}
	if (archive_list_edit(users, from, true, NULL, err) < 0)
		return -1;
	return strcmp(own, to) ? archive_list_edit(list, to, true, NULL, err) : 0;
}

int archive_unuse(const char *dir, const char *archive, struct err *err)
{
	CLEANUP(free_ptr) char *from = realpath(dir, NULL), *real = realpath(archive, NULL);
	const char *to = real ? real : archive; /* as it was listed, if it is away */
	bool listed = false;
	if (strchr(archive, '\n'))
		return err_set(err, ERR_USAGE, "the path of an archive can't have a line break");
	if (!from)
		return err_sys(err, "can't find '%s'", dir);
	CLEANUP(free_ptr)
	char *users = path_join(to, "used-by"), *list = path_join(from, "archives");
	if (archive_list_edit(list, to, false, &listed, err) < 0)
		return -1;
	if (!listed)
		return err_set(err, ERR_NOENT,
			       "archive '%s' is not in use\n'sandglass archive --list' lists those "
			       "in use.",
			       archive);
	/* from now on a redaction there need not reach here */
	if (catalog_drop(from, err) < 0)
		return -1;
	return access(users, F_OK) == 0 ? archive_list_edit(users, from, false, NULL, err) : 0;
}

static bool archive_is_number(const char *name, size_t digits)
{
	return strlen(name) == digits && strspn(name, "0123456789") == digits;
}

static int archive_walk(const char *dir, int level, archive_day_fn *fn, void *self, struct err *err)
{
	static const size_t digits[] = { 4, 2, 2 };
	DIR *d = level < (int)ARRAY_LEN(digits) ? opendir(dir) : NULL;
	struct dirent *e;
	int rc = 0;
	if (level == ARRAY_LEN(digits))
		return fn(self, dir, err);
	if (!d)
		return errno == ENOENT || errno == ENOTDIR
			       ? 0
			       : err_sys(err, "can't read the archive '%s'", dir);
	while (rc == 0 && (e = readdir(d)))
		if (archive_is_number(e->d_name, digits[level])) {
			CLEANUP(free_ptr) char *below = path_join(dir, e->d_name);
			rc = archive_walk(below, level + 1, fn, self, err);
		}
	closedir(d);
	return rc;
}

int archive_days(const char *archive, archive_day_fn *fn, void *self, struct err *err)
{
	return archive_walk(archive, 0, fn, self, err);
}
