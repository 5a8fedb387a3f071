/* Git trees as raw bytes. A tree is entries "mode SP name NUL oid", sorted by git's rule (a
 * directory compares as if its name ended in '/'). Made by hand because library tree builders
 * refuse names that real and hostile workspaces hold (.git, git~1); here any non-empty name without
 * NUL and '/' is legal. Pure functions over a store, any thread. */
#ifndef SANDBOX_WORKSPACE_TREE_H
#define SANDBOX_WORKSPACE_TREE_H

#include "sandbox/workspace/state.h"

struct tree_entry {
	/* 040000, 0100644, 0100755, 0120000, 0160000, or what a foreign tree holds */
	unsigned mode;
	const char *name; /* borrowed, not terminated */
	size_t name_len;
	struct object_id oid;
};
enum { TREE_MODE_DIR = 040000, TREE_MODE_LINK = 0120000, TREE_MODE_GITLINK = 0160000 };

/* Walks the entries of <bytes, len>: *pos starts at 0. 1 and *e, 0 at the end, -1 where the bytes
 * are not a tree (order and double names are judged too: a tree that lists a name twice is
 * refused). */
int tree_next(const char *bytes, size_t len, size_t *pos, struct tree_entry *e, struct err *err);

/* Git's order of two entries: <0, 0, >0. */
int tree_cmp(const char *a, size_t a_len, bool a_dir, const char *b, size_t b_len, bool b_dir);

void tree_append(struct buf *tree, unsigned mode, const char *name, size_t len,
		 const struct object_id *oid);

/* One change of a tree. @mode 0 removes the path (with all below it); missing is fine. */
struct tree_edit {
	const char *path; /* borrowed; relative, no empty component */
	size_t len;
	unsigned mode;
	struct object_id oid;
};
/* Makes tree @root (NULL or null id: the empty tree) with @edits applied; reads and writes only the
 * trees along their paths. Parents are made as needed; a file in the way of a parent is replaced; a
 * directory that becomes empty goes. Sorts @edits in place; of two for one path the later one
 * counts. The result may be the empty tree (added as well). */
NODISCARD int tree_edit(const struct ws_store *st, const struct object_id *root,
			struct tree_edit *edits, size_t nr, struct object_id *out, struct err *err);

/* Looks one path up. 1 found (fills *mode_out, *oid_out), 0 not there, -1 failure. "" is the
 * root. */
int tree_find(const struct ws_store *st, const struct object_id *root, const char *path, size_t len,
	      unsigned *mode_out, struct object_id *oid_out, struct err *err);

/* Calls @fn for every entry that is not a directory, and for directories after what is in them when
 * @dirs; stops with -1 if @fn returns false (err is the callee's). Depth is bounded by
 * TREE_DEPTH_MAX. */
enum { TREE_DEPTH_MAX = 4096 };
typedef bool tree_each_fn(void *self, const char *path, size_t len, unsigned mode,
			  const struct object_id *oid, struct err *err);
NODISCARD int tree_each(const struct ws_store *st, const struct object_id *root, bool dirs,
			tree_each_fn *fn, void *self, struct err *err);

/* The entries that differ between two trees (subtrees that are equal are not read). One side's mode
 * is 0 where it has nothing. Files only; a directory against a file gives both. */
typedef bool tree_diff_fn(void *self, const char *path, size_t len, unsigned a_mode,
			  const struct object_id *a, unsigned b_mode, const struct object_id *b,
			  struct err *err);
NODISCARD int tree_diff(const struct ws_store *st, const struct object_id *a,
			const struct object_id *b, tree_diff_fn *fn, void *self, struct err *err);

#endif
