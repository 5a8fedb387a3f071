/* Paths that a reviewer of another's work should look at twice, because other programs obey their
 * contents: continuous integration, hooks, policies, lock files. Pure. */
#ifndef BASE_WATCHED_H
#define BASE_WATCHED_H

#include <stdbool.h>
#include <stddef.h>

/* "ci", "policy", "hook", "lock file"; NULL for all others. */
const char *watched_path(const char *path, size_t len);
/* Does a link at @path (in the tree) with this target lead out of the tree? */
bool watched_link(const char *path, size_t len, const char *target, size_t target_len);

#endif
