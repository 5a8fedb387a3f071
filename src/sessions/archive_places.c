#include "sessions/archive_places.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/paths.h"

enum { LIST_MOST = 1 << 20 };

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

/* Adds a line to a list of paths, unless it has it. */
static int archive_note(const char *list, const char *path, struct err *err)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	CLEANUP(free_ptr) char *line = mem_printf("\n%s\n", path);
	buf_putc(&text, '\n');
	if (access(list, F_OK) == 0 && file_read(list, &text, LIST_MOST, err) < 0)
		return -1;
	if (strstr(buf_cstr(&text), line))
		return 0;
	buf_puts(&text, line + 1);
	return file_write_atomic(list, text.data + 1, text.len - 1, 0600, err);
}

int archive_use(const char *dir, const char *archive, struct err *err)
{
	if (strchr(dir, '\n') || strchr(archive, '\n'))
		return err_set(err, ERR_USAGE, "the path of an archive can't have a line break");
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
	if (archive_note(users, from, err) < 0)
		return -1;
	return strcmp(own, to) ? archive_note(list, to, err) : 0;
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
