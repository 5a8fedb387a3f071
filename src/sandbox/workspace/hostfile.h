/* Files of the user's own tree: read as a state, written by temporary file and rename, removed.
 * Every path is opened beneath a root without following links. Used by the merge child only. */
#ifndef SANDBOX_WORKSPACE_HOSTFILE_H
#define SANDBOX_WORKSPACE_HOSTFILE_H

#include <sys/stat.h>

#include "sandbox/workspace/hostplace.h"
#include "sandbox/workspace/state.h"

struct hostfile {
	struct ws_state state; /* WS_NONE: there is nothing */
	struct buf bytes;      /* of files up to HOSTFILE_MAX and of links */
	struct stat st;	       /* as it was when read; st_ino 0 = nothing */
	/* why the path cannot be used at all ("a symbolic link is in the way"), or NULL */
	const char *blocked;
};
#define HOSTFILE_INIT ((struct hostfile){ 0 })
enum { HOSTFILE_MAX = 64 << 20 };

void hostfile_read(struct hostfile *h, int root, const char *path, size_t len);
void hostfile_release(struct hostfile *h);
/* True if it is still what hostfile_read saw. */
bool hostfile_same(const struct hostfile *h, int root, const char *path, size_t len);

/* Makes @path what @s says, with these bytes; directories above are made. Replaces @was only
 * (st_ino 0: nothing is there): ERR_BUSY if another process has changed it. @wrote: the file as it
 * was written; NULL: nobody asks. */
NODISCARD int hostfile_write(int root, const char *path, size_t len, const struct ws_state *s,
			     const void *bytes, size_t nr, const struct stat *was,
			     struct stat *wrote, struct err *err);
/* Removes a file, a link or an empty directory (ERR_BUSY: it is not empty); missing is fine. @was:
 * of a file or link, if it was looked at before; ERR_BUSY if it has changed. */
NODISCARD int hostfile_remove(int root, const char *path, size_t len, const struct stat *was,
			      struct err *err);
/* What a merge that was killed left beside @path. @known: is it a version that the merge's record
 * has? Such a version is removed, as is a file that was being written. Any other is of another
 * process: it returns to its place, unless yet another version is there. @out: its name. */
enum hostfile_left { HOSTFILE_NOTHING, HOSTFILE_REMOVED, HOSTFILE_BACK, HOSTFILE_STAYS };
enum hostfile_left hostfile_settle(int root, const char *path, size_t len,
				   bool (*known)(void *self, const struct ws_state *s), void *self,
				   char out[HOSTPLACE_TEMP]);
/* Removes the directories above @path that have become empty, those of the first @keep bytes
 * excepted. */
void hostfile_tidy(int root, const char *path, size_t len, size_t keep);
/* How many bytes of @path name directories that are there. */
size_t hostfile_above(int root, const char *path, size_t len);

#endif
