/* The workspace of a sandbox as a copy in a directory of ours on the host: for sandboxes without an
 * overlay (isolation level reduced, containers). Below its root:
 *
 *   workspace/  the repository's copy, or with named repositories workspace/NAME
 *   home/       /home/agent
 *   tmp/        for sandboxes that have no /tmp of their own
 *   base/N/     layer N as it was at the start, readable by us alone: masked files have no bytes
 *               here either
 *
 * An existing copy belongs to a sandbox that is opened again, and is used as it is. Paths are never
 * followed out of the root: openat2 beneath it, no magic links, no other file system. */
#ifndef SANDBOX_COMMON_FOLDER_H
#define SANDBOX_COMMON_FOLDER_H

#include "sandbox/driver.h"
#include "sandbox/view/masks.h"

struct folder;

struct folder_opts {
	struct loop *loop;
	const char *state_dir; /* of the box */
	const char *name;      /* of the root below it */
	unsigned uid, gid;     /* whose the files are */
	/* @uid itself walks the machine's path to it: each directory on it must let everybody
	 * pass */
	bool walked;
};
struct folder *folder_new(const struct folder_opts *o); /* copies them */
/* A root that is not below the state directory is removed. NULL inside is fine. */
void folder_free(struct folder **f);
/* Worker: makes what is not there yet. @l has been scanned for copies. */
struct layers;
NODISCARD int folder_fill(struct folder *f, const struct layers *l, struct err *err);
const char *folder_root(const struct folder *f); /* NULL before folder_fill */
/* The same if it is outside the state directory, which other users may not enter; else NULL. */
const char *folder_elsewhere(const struct folder *f);

/* Where a path of the box lies on the host. Returns owned. */
char *folder_path(const struct folder *f, const char *path);
/* The verbs read, list, stat (@as "file", "dir", "stat") and write of driver.h; a worker does the
 * work. */
void folder_look(struct folder *f, const char *path, const char *as, size_t max, box_done_fn *done,
		 void *self);
void folder_write(struct folder *f, const char *path, const void *data, size_t len, int mode,
		  box_done_fn *done, void *self);

/* As box_tree_ops has them, of the layer @name; "lower" is the base. Worker threads. */
int folder_tree(const struct folder *f, size_t layer, const char *name, const char *which,
		struct err *err);
int folder_tree_open(const struct folder *f, size_t layer, const char *name, const char *which,
		     const char *path, struct err *err);
/* Carries out a plan of workspace/apply.h as the owner of the files, with the rights of the
 * sandbox. */
int folder_plan(const struct folder *f, int root, const char *plan, size_t len, const int *fds,
		size_t nr_fds, struct err *err);
int folder_tree_apply(const struct folder *f, size_t layer, const char *name, const char *plan,
		      size_t len, const int *fds, size_t nr_fds, struct err *err);

/* The rest of box_tree_ops for every sandbox whose workspace is a copy: it has no overlay. */
json_t *folder_tree_list(struct box *b, size_t i, const char *which, const char *path,
			 struct err *err);
/* The option "copy_of" for a box that begins on what lies here; returns owned, NULL before
 * folder_fill. */
json_t *folder_tree_seed(const struct folder *f, const struct layers *l);
bool folder_tree_overlay(struct box *b);

#endif
