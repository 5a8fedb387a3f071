/* File systems that are mounted below a repository. An overlay does not see them: the directory
 * that they are mounted on would be empty in a sandbox. Worker threads. */
#ifndef SANDBOX_VIEW_MOUNTS_BELOW_H
#define SANDBOX_VIEW_MOUNTS_BELOW_H

#include "base/buf.h"
#include "base/err.h"

/* @copied: those that are small enough to be copied for a sandbox, @left: the others; paths
 * relative to @dir (absolute, without links), none below another one. */
void mounts_below(const char *dir, struct strv *copied, struct strv *left);

#endif
