/* Can a merge make commits there? Checked without opening anything: you are asked only about merges
 * that are possible. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "sandbox/workspace/merge.h"

/* A path that can't be read may exist. */
static bool maybe_there(const char *dir, const char *name)
{
	CLEANUP(free_ptr) char *path = mem_printf("%s/%s", dir, name);
	return access(path, F_OK) == 0 || (errno != ENOENT && errno != ENOTDIR);
}

/* As git looks for it: here and in every directory above. */
static bool maybe_repository(char *dir)
{
	for (;;) {
		if (maybe_there(dir, ".git") ||
		    (maybe_there(dir, "HEAD") && maybe_there(dir, "objects")))
			return true;
		char *slash = strrchr(dir, '/');
		if (!slash || !*dir)
			return false;
		*slash = 0; /* "" is the root: "/.git" is looked at, too */
	}
}

int merge_may_commit(const char *dir, enum merge_mode mode, struct err *err)
{
	char full[PATH_MAX];
	if (mode != MERGE_BRANCH && mode != MERGE_COMMITS)
		return 0;
	if (!realpath(dir, full))
		return err_sys(err, "merge: can't use '%s'", dir);
	return maybe_repository(full) ? 0 : err_set(err, ERR_UNSUPPORTED, MERGE_NO_REPOSITORY, dir);
}
