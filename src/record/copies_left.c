#include "record/copies_left.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/paths.h"
#include "record/archive_reach.h"

enum { COPIES_LIST_MOST = 1 << 20 };

struct copies_of {
	const char *path, *name; /* NAME: DATE-..., at least 10 characters */
	bool below;		 /* look in PLACE/YEAR/MONTH/DAY, else in PLACE */
};

int copies_draft_remove(const char *path, struct err *err)
{
	CLEANUP(free_ptr) char *draft = mem_printf("%s-pack", path);
	return unlink(draft) == 0 || errno == ENOENT || errno == ENOTDIR
		       ? 0
		       : err_sys(err, "can't remove '%s', a draft of the session", draft);
}

static int copies_in(const struct copies_of *c, const char *place, struct err *err)
{
	CLEANUP(free_ptr)
	char *at = c->below ? mem_printf("%s/%.4s/%.2s/%.2s/%s", place, c->name, c->name + 5,
					 c->name + 8, c->name)
			    : path_join(place, c->name);
	struct stat here, there;
	if (stat(at, &there) == 0 && stat(c->path, &here) == 0 && here.st_dev == there.st_dev &&
	    here.st_ino == there.st_ino)
		return 0;
	int rc = copies_draft_remove(at, err);
	return access(at, F_OK) == 0 ? err_set(err, ERR_EXISTS, "'%s' is a copy of the session", at)
				     : rc;
}

/* Nobody knows what an archive holds while it is away. */
static int copies_in_archive(const struct copies_of *c, const char *place, struct err *err)
{
	return archive_reach(place, err) < 0 ? -1 : copies_in(c, place, err);
}

static int copies_in_own(const struct copies_of *c, const char *place, struct err *err)
{
	struct stat st;
	return lstat(place, &st) < 0 && errno == ENOENT ? 0 : copies_in_archive(c, place, err);
}

static int copies_listed(const struct copies_of *c, const char *list, struct err *err)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	char *save = NULL;
	int rc = 0;
	if (access(list, F_OK) < 0)
		return 0;
	if (file_read(list, &text, COPIES_LIST_MOST, err) < 0)
		return -1;
	for (char *dir = strtok_r(text.data, "\n", &save); dir; dir = strtok_r(NULL, "\n", &save))
		if ((c->below ? copies_in_archive : copies_in)(c, dir, err) < 0)
			rc = -1;
	return rc;
}

int copies_left(const char *path, struct err *err)
{
	const char *slash = strrchr(path, '/');
	CLEANUP(free_ptr)
	char *dir = slash ? mem_strndup(path, (size_t)(slash - path) + 1) : mem_strdup("./");
	struct copies_of c = { path, slash ? slash + 1 : path, true };
	CLEANUP(free_ptr) char *own = path_join(dir, "archive"), *list = path_join(dir, "archives");
	CLEANUP(free_ptr) char *up = path_join(dir, "../../..");
	CLEANUP(free_ptr) char *above = path_join(dir, "../../../..");
	CLEANUP(free_ptr) char *users = path_join(up, "used-by");
	if (strlen(c.name) < 10)
		return 0;
	int rc = copies_in_own(&c, own, err);
	if (copies_in(&c, dir, err) < 0 || copies_listed(&c, list, err) < 0)
		rc = -1;
	c.below = false;
	if (access(users, F_OK) == 0 &&
	    (copies_listed(&c, users, err) < 0 || copies_in(&c, above, err) < 0))
		rc = -1;
	return rc;
}
