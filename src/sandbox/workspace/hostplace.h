/* Replaces or removes a file only if it is still the version that was seen: another process may
 * write meanwhile. A file system without an atomic exchange (NFS, FUSE) leaves a short moment
 * between the comparison and the rename. Used by the merge child only. */
#ifndef SANDBOX_WORKSPACE_HOSTPLACE_H
#define SANDBOX_WORKSPACE_HOSTPLACE_H

#include <stdbool.h>
#include <sys/stat.h>

#include "base/err.h"

enum { HOSTPLACE_TEMP = 48, HOSTPLACE_TOKEN = 17 };
/* A token for hostplace_use: 16 hexadecimal digits. */
void hostplace_token(char out[HOSTPLACE_TOKEN]);
/* From now on the names of temporary files follow from @token and the path, so that those of a
 * merge that was killed are found again; NULL or "": they are random. */
void hostplace_use(const char *token);
/* A name for a file beside @path (relative to the target). @fresh: of one that is being written and
 * was never exchanged with @path. */
void hostplace_temp(const char *path, size_t len, bool fresh, char out[HOSTPLACE_TEMP]);

/* Are both the same version of one file? st_ino 0: no file. */
bool hostplace_same(const struct stat *a, const struct stat *b);
/* Renames @temp to @name in @dir. @was: the expected version; st_ino 0: no file. ERR_BUSY if
 * another version is there, which stays; @temp is then removed. */
NODISCARD int hostplace_put(int dir, const char *temp, const char *name, const struct stat *was,
			    struct err *err);
/* Another process's version @temp returns to @name in place of @was, which is removed. -1: both
 * stay, for @name has changed, or the file system can't exchange them. */
NODISCARD int hostplace_return(int dir, const char *temp, const char *name, const struct stat *was);
/* Removes the file or link @name, which is renamed to @temp first. ERR_BUSY if it is another
 * version, which stays. Missing is fine. */
NODISCARD int hostplace_remove(int dir, const char *temp, const char *name, const struct stat *was,
			       struct err *err);

#endif
