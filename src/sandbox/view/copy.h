/* A copy of a tree for the profile without overlays: regular files, directories and symbolic links,
 * masks applied, everything given to one owner. Sockets, fifos and devices are left out. Worker
 * threads. */
#ifndef SANDBOX_VIEW_COPY_H
#define SANDBOX_VIEW_COPY_H

#include <sys/types.h>

#include "sandbox/view/masks.h"

struct copy_owner {
	uid_t uid;
	gid_t gid;
};

/* @to must not exist; on failure it may be half made. */
NODISCARD int copy_tree(const char *from, const char *to, const struct masks *masks,
			const struct copy_owner *owner, struct err *err);
/* A file or directory @at of the tree @from, with the masks of the tree; the directory that it
 * goes into is there. */
NODISCARD int copy_part(const char *from, const char *at, const char *to, const struct masks *masks,
			const struct copy_owner *owner, struct err *err);
/* a directory of mode 0700 */
NODISCARD int copy_empty(const char *to, const struct copy_owner *owner, struct err *err);

#endif
