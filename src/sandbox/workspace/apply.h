/* Bringing files from one recorded state to another: rollback, undo, promote, fork. A plan
 * (wire/plan.h) is made from the difference and carried out by the keeper on the merged view
 * (box_tree_ops.apply), or by plan_run on a plain directory.
 *
 * A fork at any snapshot: open a box over the same repository and apply the plan from the base (an
 * empty view) to that snapshot. Worker thread. */
#ifndef SANDBOX_WORKSPACE_APPLY_H
#define SANDBOX_WORKSPACE_APPLY_H

#include "sandbox/workspace/diff.h"

struct ws_plan {
	struct buf plan; /* wire/plan.h */
	int *fd;	 /* owned; fd[0] is a memfd with the contents */
	size_t nr_fds, cap_fds;
	size_t nr_ops;
	/* paths whose wanted content is held nowhere, or that cannot be made (sockets, devices) */
	struct strv missing;
};
#define WS_PLAN_INIT ((struct ws_plan){ 0 })

/* @d: from present to wanted, made without renames. @lower: root of the base, where contents that
 * are hash only may still be found (checked by their name; -1 = none). @keep_git: leave the
 * workspace's own .git as it is. */
NODISCARD int ws_plan_make(struct ws_plan *p, const struct ws_diff *d, const struct ws_store *st,
			   int lower, bool keep_git, struct err *err);
/* Gives the files and links that @p makes their times: @when returns the last change of @path in
 * microseconds since the epoch (0: unknown, as new as the plan). Without it all of them get the
 * same time, and programs that compare times take the wrong ones for older: make(1) would build
 * nothing. */
void ws_plan_times(struct ws_plan *p, const struct ws_diff *d,
		   int64_t (*when)(void *self, const char *path, size_t len), void *self);
void ws_plan_release(struct ws_plan *p);

/* The difference for a rollback of @now to @wanted restricted to @nr paths (and paths below them);
 * 0 = everything. */
NODISCARD int ws_diff_only(struct ws_diff *d, char *const *paths, const size_t *lens, size_t nr,
			   struct err *err);

/* Undo: leads from @now to a state without the changes from @before to @after. Paths that have
 * changed again since (now is not as in @after) are merged by lines, and the result is added to
 * @st; where that fails, or without @st (NULL), they are left alone and listed in
 * @conflicts. */
NODISCARD int ws_diff_undo(struct ws_diff *d, const struct ws_view *before,
			   const struct ws_view *after, const struct ws_view *now,
			   const struct ws_store *st, struct strv *conflicts, struct err *err);

#endif
