/* Git data for masks without opening a repository: the paths in .git/index (versions 2 to 4) as
 * a set. */
#ifndef SANDBOX_VIEW_MASKS_GIT_H
#define SANDBOX_VIEW_MASKS_GIT_H

#include "base/buf.h"

struct tracked;

/* @dir: the directory that holds .git. No or an unreadable index gives an empty set: then
 * everything is untracked. */
struct tracked *tracked_read(int dir);
/* The same for a repository that was found (git_place.h); @prefix: only what is below this
 * directory, without it; borrowed for the call. */
struct git_place;
struct tracked *tracked_none(void);
struct tracked *tracked_of(const struct git_place *p, const char *prefix);
void tracked_free(struct tracked **t);
bool tracked_has(const struct tracked *t, const char *path);
bool tracked_below(const struct tracked *t, const char *folder);

#endif
