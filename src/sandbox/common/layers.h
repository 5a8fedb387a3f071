/* The files that a sandbox starts with, in layers: its repositories, /home/agent, and /workspace
 * itself where the repositories have names; with their masks.
 *
 * Option of every driver that copies its workspace (box_opts.driver): "copy_of": {"NAME":
 * directory, ..}: the sandbox starts on these instead ("" the workspace, ":home" /home/agent),
 * unchanged: a copy has no masked files of a repository, and the sandbox's own files stay. */
#ifndef SANDBOX_COMMON_LAYERS_H
#define SANDBOX_COMMON_LAYERS_H

#include "sandbox/driver.h"
#include "sandbox/view/git_view.h"
#include "sandbox/view/masks.h"

struct layer {
	char *name;	/* "", ":home", NAME */
	char *host_dir; /* NULL: begins empty */
	bool as_is;	/* luahost_dir is another box's copy: nothing is masked */
	struct masks masks;
	struct git_view git;
	struct git_shown shown; /* of its configuration */
	struct git_own own;	/* your settings for it */
	char *real;		/* luahost_dir without links */
};
struct layers {
	struct layer *item;
	size_t nr, nr_repos; /* repos as the caller counts them, at least 1 */
	bool named;	     /* layer 0 is /workspace itself, repo i is layer i + 1 */
	struct strv expose;
	bool refuse_history; /* box_opts.mask_history */
	bool copy;	     /* the backend has a copy of the workspace: set before layers_scan */
};

/* Names that cannot be, two of one name, a state directory that is not absolute. */
NODISCARD int layers_check(const struct box_opts *o, struct err *err);
void layers_take(struct layers *l, const struct box_opts *o); /* copies */
void layers_release(struct layers *l);
/* worker; again with another @copy: all anew */
NODISCARD int layers_scan(struct layers *l, struct err *err);
/* Worker. What git needs of layer @i, put together below @root (git_view.h). */
NODISCARD int layers_git(const struct layers *l, size_t i, const char *root,
			 const struct git_owner *owner, struct err *err);
/* The layer of box_tree_ops' number @i: repos first, then /home/agent, then /workspace itself where
 * repos have names. -1: none. */
int layers_index(const struct layers *l, size_t i);
/* The same with its name (borrowed); NULL with ERR_INVALID: none. */
const char *layers_name(const struct layers *l, size_t i, size_t *layer_out, struct err *err);
/* Adds repos, masked, exposed, files, looked_into, not_looked_into, foreign, foreign_paths to what
 * open answers. */
void layers_describe(const struct layers *l, json_t *to);

#endif
