#include "sessions/box_folder.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/paths.h"

char *box_folder(const char *id)
{
	CLEANUP(free_ptr) char *tail = mem_printf("box/%s", id);
	return paths_state(tail);
}

char *box_folder_of(const char *folder)
{
	char path[PATH_MAX];
	CLEANUP(free_ptr) char *link = path_join(folder, ".of");
	ssize_t n = readlink(link, path, sizeof(path) - 1);
	if (n <= 0)
		return NULL;
	path[n] = 0;
	return access(path, F_OK) == 0 ? mem_strdup(path) : NULL;
}

bool box_folder_is(const char *folder, const char *path)
{
	struct stat a, b;
	CLEANUP(free_ptr) char *of = box_folder_of(folder);
	return !of || stat(of, &a) < 0 ||
	       (stat(path, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino);
}

int box_folder_mine(const char *folder, const char *path, struct err *err)
{
	CLEANUP(free_ptr) char *of = box_folder_of(folder);
	if (box_folder_is(folder, path))
		return 0;
	return err_set(err, ERR_BUSY, "'%s' is a copy; the session's sandboxes belong to '%s'",
		       path, of);
}

int box_folder_take(const char *folder, const char *path, struct err *err)
{
	CLEANUP(free_ptr) char *link = path_join(folder, ".of");
	if (box_folder_mine(folder, path, err) < 0 || dir_make(folder, 0700, err) < 0)
		return -1;
	CLEANUP(free_ptr) char *whole = realpath(path, NULL);
	unlink(link);
	if (!whole || symlink(whole, link) < 0) {
		err_sys(err, "can't write the owner into '%s'", folder);
		return -1;
	}
	return 0;
}
