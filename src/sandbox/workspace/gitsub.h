/* A subdirectory of a repository as a repository of its own, with the real commits: each commit
 * keeps its name, message, and parents, and its tree is replaced (git-replace(1)) by the tree of
 * the subdirectory. So log, diff, stash and switch show the subdirectory alone, and new commits
 * have the subdirectory's tree.
 *
 * The newest SUB_COMMITS_MAX commits are read; history ends there as in a shallow clone. Objects
 * are read from the directory of objects; no repository is opened. Worker threads. */
#ifndef SANDBOX_WORKSPACE_GITSUB_H
#define SANDBOX_WORKSPACE_GITSUB_H

#include "base/err.h"
#include "record/read/object.h"

enum { SUB_COMMITS_MAX = 1500 };

/* @git: a .git of ours with the refs and HEAD of the whole repository: its packed-refs and shallow
 * are written anew, refs to commits that were not read are left out. @prefix: "packages/one".
 * @tree_out: the subdirectory's tree at HEAD, null without a commit. */
NODISCARD int gitsub_write(const char *objects, const char *git, const char *prefix,
			   struct object_id *tree_out, struct err *err);
/* Calls @fn with every file of a tree, in the order of an index. */
NODISCARD int gitsub_files(const char *objects, const struct object_id *tree,
			   bool (*fn)(void *self, const char *path, size_t len, unsigned mode,
				      const struct object_id *id, struct err *err),
			   void *self, struct err *err);

#endif
