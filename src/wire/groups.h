/* The cgroups of launchers, for code that makes, sweeps, or lists them.
 *
 *  1. A launcher makes a directory "sandglass-PID" in each hierarchy that it uses, below its own
 *     cgroup, and in it "b<n>" for each sandbox, also for one that is only prepared.
 *  2. It holds a lock (flock) on each of these directories as long as it lives, visible from every
 *     PID namespace. A directory that nobody holds was left by a dead launcher. */
#ifndef WIRE_GROUPS_H
#define WIRE_GROUPS_H

#include <stdbool.h>
#include <sys/types.h>

/* Makes rule 1's directory of this process below @base and holds it. Returns its path (owned)
 * and the lock, a descriptor of the caller's; NULL if it cannot be made. */
char *groups_make(const char *base, int *lock_out);

/* @held: its launcher lives. @dir is borrowed; it may be removed. */
typedef void groups_fn(void *self, const char *dir, bool held);
/* Calls @fn for every such directory in every mounted hierarchy, inner ones first. */
void groups_each(groups_fn *fn, void *self);

/* Does @path, a line of /proc/PID/cgroup, name the directory of a box, or one below it? */
bool groups_of_box(const char *path);

#endif
