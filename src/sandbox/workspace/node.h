/* The paths of one workspace that are or were different from its base, as a tree of names. Private
 * to the workspace.
 *
 * A node exists while its path differs from the base, is in the upper, or has such nodes below it.
 * One thread at a time. */
#ifndef SANDBOX_WORKSPACE_NODE_H
#define SANDBOX_WORKSPACE_NODE_H

#include "sandbox/workspace/state.h"

/* The file system's data of an entry at the last scan: if equal again, the entry is unchanged. */
struct ws_stamp {
	uint64_t ino, size;
	int64_t mtime_ns, ctime_ns;
	uint32_t mode, nlink;
};

struct ws_node {
	struct ws_node *up;	/* NULL: the root */
	struct ws_node **child; /* owned, sorted by bytes */
	uint32_t nr, cap;
	uint32_t name_len;
	uint32_t seen;			/* number of the walk that met it in the upper */
	struct ws_state base, now, was; /* was: at the snapshot before, while changed */
	struct ws_stamp stamp;
	/* directories: as last written; null = nothing to say */
	struct object_id tree, under, attrs;
	bool in_upper : 1;
	bool opaque : 1;   /* nothing of the base shows through */
	bool expanded : 1; /* every base path below has a node */
	bool racy : 1;	   /* looked at so soon after a write that the stamp proves nothing */
	bool lazy : 1;	   /* base and now are the same and were never read (profile reduced) */
	bool base_known : 1, base_kept : 1;
	/* the last change was a write into a file that lay in the upper already */
	bool rewritten : 1;
	bool dirty : 1;				 /* trees of this directory must be written anew */
	bool changed : 1;			 /* is in the list of changed nodes */
	bool hash_only_known : 1, hash_only : 1; /* directories: rule for the files below */
	char name[];
};

/* inserts into @up if not NULL */
struct ws_node *node_new(struct ws_node *up, const char *name, size_t len);
void node_free(struct ws_node *n); /* with all below; does not take it out of its parent */
/* NULL if there is none */
struct ws_node *node_child(const struct ws_node *n, const char *name, size_t len);
struct ws_node *node_find(struct ws_node *root, const char *path, size_t len);
void node_path(const struct ws_node *n, struct buf *out); /* reset first; "" for the root */
unsigned node_depth(const struct ws_node *n);
/* Marks it and all above as to be written. */
void node_dirty(struct ws_node *n);
bool node_differs(const struct ws_node *n);
/* Takes nodes out that say nothing (not in the upper, not different, nothing below); @n itself
 * stays. Returns how many nodes are left below @n. */
size_t node_prune(struct ws_node *n);

#endif
