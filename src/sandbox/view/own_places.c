#include "sandbox/view/own_places.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/paths.h"

enum { PARENTS_MAX = 4096 };

static void own_place_add(struct own_places *o, char *path, const char *what)
{
	struct stat st;
	struct err none = ERR_INIT; /* if it can't be made, it stays empty */
	if (dir_make(path, 0700, &none) == 0 && o->nr < OWN_PLACES_MAX && stat(path, &st) == 0 &&
	    S_ISDIR(st.st_mode))
		o->item[o->nr++] =
			(struct own_place){ .dev = st.st_dev, .ino = st.st_ino, .what = what };
	free(path);
}

void own_places_find(struct own_places *out)
{
	out->nr = 0;
	own_place_add(out, paths_config(""), "configuration");
	own_place_add(out, paths_data(""), "data");
	own_place_add(out, paths_data("sessions"), "data");
	own_place_add(out, paths_state(""), "state");
	own_place_add(out, paths_state("box"), "state");
	own_place_add(out, paths_cache(""), "cache");
	own_place_add(out, paths_runtime(""), "runtime");
}

const char *own_places_at(const struct own_places *o, const struct stat *st)
{
	for (size_t i = 0; i < o->nr; i++)
		if (o->item[i].dev == st->st_dev && o->item[i].ino == st->st_ino)
			return o->item[i].what;
	return NULL;
}

/* The directory at @path, or the directory of the file there. */
static int own_place_open(const char *path, struct stat *st)
{
	char full[PATH_MAX];
	if (!realpath(path, full)) { /* not there yet: where it would be */
		const char *slash = strrchr(path, '/');
		CLEANUP(free_ptr)
		char *dir = slash ? mem_strndup(path, (size_t)(slash - path) + 1) : mem_strdup(".");
		if (!realpath(dir, full))
			return -1;
	}
	int fd = open(full, O_PATH | O_CLOEXEC);
	if (fd >= 0 && fstat(fd, st) == 0 && S_ISDIR(st->st_mode))
		return fd;
	fd_close(&fd);
	char *slash = strrchr(full, '/');
	slash[slash == full] = 0;
	fd = open(full, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0 && fstat(fd, st) < 0)
		fd_close(&fd);
	return fd;
}

int own_places_refuse(const char *path, struct err *err)
{
	struct own_places own;
	struct stat st, up;
	own_places_find(&own);
	CLEANUP(fd_close) int fd = own_place_open(path, &st);
	for (int i = 0; fd >= 0 && i < PARENTS_MAX; i++) {
		const char *what = own_places_at(&own, &st);
		if (what)
			return err_set(
				err, ERR_DENIED,
				"'%s' is in sandglass's own %s directory, which sandboxes can't see",
				path, what);
		int parent = openat(fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
		bool top = parent < 0 || fstat(parent, &up) < 0 ||
			   (up.st_dev == st.st_dev && up.st_ino == st.st_ino);
		fd_close(&fd);
		fd = parent;
		st = up;
		if (top)
			return 0;
	}
	return 0;
}

bool own_places_session_name(const char *name)
{
	static const char *const tails[] = { ".glass", ".glass-wal", ".glass-shm",
					     ".glass-journal" };
	size_t n = strlen(name);
	for (size_t i = 0; i < ARRAY_LEN(tails); i++) {
		size_t w = strlen(tails[i]);
		if (n > w && strcmp(name + n - w, tails[i]) == 0)
			return true;
	}
	return false;
}
