/* Scans the files that a sandbox has written: the walk of an overlay's upper (or, in the isolation
 * level reduced, of the whole copy), as changes of nodes. Private to the workspace; worker thread.
 *
 * Entries whose stamp (inode, size, times, mode) is as before cost one stat. Names, types and
 * contents are the box's choice: nothing is followed, FIFOs, sockets and devices are never opened,
 * depth and number are bounded. Overlay format: Documentation/filesystems/overlayfs.rst: a whiteout
 * is a character device 0:0; an opaque directory has the attribute user.overlay.opaque
 * (trusted.overlay.opaque when root mounted it) = "y"; a file that is copied up is complete. */
#ifndef SANDBOX_WORKSPACE_UPPER_H
#define SANDBOX_WORKSPACE_UPPER_H

#include "base/buf.h"
#include "sandbox/workspace/ignore.h"
#include "sandbox/workspace/node.h"

enum { UPPER_DEPTH_MAX = 4096, UPPER_NODES_MAX = 1000000, UPPER_NAMED = 20, UPPER_WALK_S = 300 };

struct upper {
	int upper_fd, lower_fd; /* roots, O_PATH or O_RDONLY; lower -1: nothing below */
	bool copy;		/* the upper is a full copy of the lower, no overlay */
	/* Opens a path that our own uid may not ("upper" or "lower"); may be NULL. Descriptor owned
	 * by the caller. */
	int (*open)(void *self, const char *which, const char *path, struct err *err);
	void *open_self;
	uint64_t keep_max;     /* bytes of larger files are not kept */
	uint64_t removed_max;  /* bytes of removed base files kept per walk */
	struct ignore *ignore; /* paths that are hash only; may be NULL. Borrowed */
	struct ws_store store;
	struct ws_node *root;
	size_t nr_nodes;
	bool primed;   /* copy: its original files are known */
	uint32_t walk; /* number of the walk */
	/* nodes whose state is not what it was at the snapshot before; owned list */
	struct ws_node **changed;
	size_t nr_changed, cap_changed;
	uint64_t removed_kept;
	struct strv unlisted; /* directories that could not be listed in this walk */
	/* directories at the greatest depth that were not entered; at most UPPER_NAMED, cut */
	struct strv deep;
	struct strv unread; /* files that could not be read; at most UPPER_NAMED */
	/* of clock_awake_us: walks stop then; 0 = UPPER_WALK_S from their start */
	int64_t until_us;
	size_t looked; /* entries looked at in this walk */
};

void upper_init(struct upper *u);
void upper_release(struct upper *u);

/* Of a copy that a box has worked in before: before the first walk, so that it is held against the
 * lower and not taken for it. */
NODISCARD int upper_prime(struct upper *u, struct err *err);
/* Walks everything. ERR_FULL past the bound on paths, ERR_TIMEOUT past that on time; paths deeper
 * than UPPER_DEPTH_MAX are left out and listed in deep. */
NODISCARD int upper_walk(struct upper *u, struct err *err);
/* Scans only the entries named: paths, sorted by bytes; one that ends in '/' is a directory to be
 * walked with all below it. A new directory of a named path must be named, too. */
NODISCARD int upper_walk_only(struct upper *u, const struct strv *told, struct err *err);
/* Empties the list of changed nodes and prunes. */
void upper_settled(struct upper *u);

#endif
