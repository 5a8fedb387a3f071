/* A session file's git objects as a libgit2 object database, read-only: git_odb_* works on it
 * without a repository.
 *
 * The session is borrowed and must outlive the database; both belong to one thread. Turn libgit2's
 * cache off (GIT_OPT_ENABLE_CACHING 0) where objects may be redacted meanwhile. Call
 * git_libgit2_init before. */
#ifndef RECORD_READ_ODB_H
#define RECORD_READ_ODB_H

#include <git2.h>

#include "record/read/session.h"

/* Returns owned: git_odb_free. */
NODISCARD int odb_open(git_odb **out, struct session *s, struct err *err);

#endif
