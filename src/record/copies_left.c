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
	struct err *err;	 /* of all places */
};

/* Each place is named. A copy is known to be left; of the others, none may be. */
static void copies_note(const struct copies_of *c, const struct err *why)
{
	struct err before = *c->err;
	if (!before.code)
		*c->err = *why;
	else
		err_set(c->err, why->code == ERR_EXISTS ? ERR_EXISTS : before.code, "%s; %s",
			before.text, why->text);
}

int copies_draft_remove(const char *path, struct err *err)
{
	CLEANUP(free_ptr) char *draft = mem_printf("%s-pack", path);
	return unlink(draft) == 0 || errno == ENOENT || errno == ENOTDIR
		       ? 0
		       : err_sys(err, "can't remove '%s', a draft of the session", draft);
}

static int copies_at(const struct copies_of *c, const char *at, struct err *err)
{
	struct stat here, there;
	if (stat(at, &there) == 0 && stat(c->path, &here) == 0 && here.st_dev == there.st_dev &&
	    here.st_ino == there.st_ino)
		return 0;
	int rc = copies_draft_remove(at, err);
	return access(at, F_OK) == 0 ? err_set(err, ERR_EXISTS, "'%s' is a copy of the session", at)
				     : rc;
}

static void copies_in(const struct copies_of *c, const char *place)
{
	struct err why = ERR_INIT;
	CLEANUP(free_ptr)
	char *at = c->below ? mem_printf("%s/%.4s/%.2s/%.2s/%s", place, c->name, c->name + 5,
					 c->name + 8, c->name)
			    : path_join(place, c->name);
	if (copies_at(c, at, &why) < 0)
		copies_note(c, &why);
}

/* Nobody knows what an archive holds while it is away. */
static void copies_in_archive(const struct copies_of *c, const char *place)
{
	struct err why = ERR_INIT;
	if (archive_reach(place, &why) < 0)
		copies_note(c, &why);
	else
		copies_in(c, place);
}

static void copies_in_own(const struct copies_of *c, const char *place)
{
	struct stat st;
	if (lstat(place, &st) == 0 || errno != ENOENT)
		copies_in_archive(c, place);
}

static void copies_listed(const struct copies_of *c, const char *list)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	struct err why = ERR_INIT;
	char *save = NULL;
	if (access(list, F_OK) < 0)
		return;
	if (file_read(list, &text, COPIES_LIST_MOST, &why) < 0) {
		copies_note(c, &why);
		return;
	}
	for (char *dir = strtok_r(text.data, "\n", &save); dir; dir = strtok_r(NULL, "\n", &save))
		(c->below ? copies_in_archive : copies_in)(c, dir);
}

int copies_left(const char *path, struct err *err)
{
	const char *slash = strrchr(path, '/');
	struct err all = ERR_INIT;
	CLEANUP(free_ptr)
	char *dir = slash ? mem_strndup(path, (size_t)(slash - path) + 1) : mem_strdup("./");
	struct copies_of c = { path, slash ? slash + 1 : path, true, &all };
	CLEANUP(free_ptr) char *own = path_join(dir, "archive"), *list = path_join(dir, "archives");
	CLEANUP(free_ptr) char *up = path_join(dir, "../../..");
	CLEANUP(free_ptr) char *above = path_join(dir, "../../../..");
	CLEANUP(free_ptr) char *users = path_join(up, "used-by");
	if (strlen(c.name) < 10)
		return 0;
	copies_in_own(&c, own);
	copies_in(&c, dir);
	copies_listed(&c, list);
	c.below = false;
	if (access(users, F_OK) == 0) {
		copies_listed(&c, users);
		copies_in(&c, above);
	}
	if (!all.code)
		return 0;
	*err = all;
	return -1;
}
