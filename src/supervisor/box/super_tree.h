/* The files of one sandbox over time: snapshots after actions, rollback, copies, and merges.
 * Composes src/sandbox/workspace with loop, recorder, and policy check: heavy work runs on a
 * worker, events are appended here. */
#ifndef SUPERVISOR_BOX_SUPER_TREE_H
#define SUPERVISOR_BOX_SUPER_TREE_H

#include "supervisor/core/core.h"

struct trees;

/* From users: answered by the control ticket. -1: @err, nothing begun. */
struct tree_request {
	struct super *s;
	uint64_t box, ticket, cause;
	json_t *who; /* borrowed for the call */
	bool tell;
	uint64_t takes; /* rollback: seq of the rollback.done that it takes back; 0 = none */
};

/* @opts: what the box was opened with; borrowed for the call. */
struct trees *super_trees_new(struct super *s, struct box *b, const char *name,
			      const struct box_opts *opts);
void super_trees_free(struct trees **t);
bool trees_busy(const struct trees *t);
struct trees *super_box_trees(struct super *s, uint64_t box); /* NULL when it has none */
/* Its @i-th repository: name below /workspace ("" = itself) and host directory (NULL = none).
 * false: there are fewer. */
bool trees_repo(const struct trees *t, size_t i, const char **name_out, const char **dir_out);
/* The host directory of its (first) repository, and the ref that the last merge back made; NULL
 * when there is none. Borrows. */
void trees_merged(const struct trees *t, const char **dir_out, const char **ref_out);

/* Loop: brings the files of @t to those of box @from at event @n, then answers @c as box.open
 * does. */
void trees_fork_into(struct trees *t, struct call *c, uint64_t from, uint64_t n);
void trees_undo_rollback(const struct tree_request *rq, struct trees *t);

/* A snapshot that another supervisor of this session took of a box that this one stands for. */
struct old_snap {
	uint64_t seq;
	char *repo, *label; /* label may be NULL */
};
/* @snap (copied) are found by later diffs and rollbacks. @restore, or when nothing was left on
 * disk: the files are made those of the newest of them. Then calls @done. */
void trees_adopt(struct trees *t, const struct old_snap *snap, size_t nr, bool restore,
		 void (*done)(struct super *s, uint64_t box, const struct err *err));

/* Takes a snapshot for an action that has ended; gate_settled(action) follows in any case. */
void trees_after_action(struct trees *t, uint64_t action);

NODISCARD int trees_merge_command(const struct tree_request *rq, const json_t *opts,
				  struct err *err);
/* Accepts or rejects parts of the changes, or comments on them; the agent receives the comment. 0:
 * @out is the answer; 1: the ticket is answered once the files and hunks were found. */
NODISCARD int trees_pick_command(const struct tree_request *rq, const json_t *opts, json_t *out,
				 struct err *err);
/* Before @action is approved: what "path" and "hunks" name is all that a merge will take. Nothing
 * for other actions. */
NODISCARD int trees_review_approve(const struct tree_request *rq, uint64_t action,
				   const json_t *opts, struct err *err);
/* Has a reviewer rejected parts of what @action would merge? */
bool trees_review_rejected(struct super *s, uint64_t action);
void trees_review_forget(struct super *s, uint64_t action); /* it was not approved after all */
NODISCARD int trees_rollback_command(const struct tree_request *rq, uint64_t to, bool tell,
				     struct err *err);
/* Takes back what @action changed, on the files that rq->box has now; nothing when later work is in
 * the way. It may have run in another box, @ran_in, of which this one is a copy, or whose place it
 * took. */
NODISCARD int trees_undo_action(const struct tree_request *rq, uint64_t action, uint64_t ran_in,
				struct err *err);
/* The newest event that trees_undo_command takes back, or has taken back; 0: there is none. */
uint64_t trees_undo_at(struct super *s);
/* @what: an event of a merge or rollback; 0: the newest of them, unless something newer was undone.
 * @set: the newest breakpoint or session approval, to be named; 0 = none. Answered by the
 * ticket. */
void trees_undo_command(const struct tree_request *rq, uint64_t what, uint64_t set);

/* The sandbox is to be closed while something runs in it, or looks are due: its files are recorded
 * once more, its processes frozen from then on, then @done. False: there is nothing to wait for,
 * and no @done. */
bool trees_last_look(struct trees *t, void (*done)(struct super *s, uint64_t box));
bool trees_behind(const struct trees *t); /* its files on disk may be in no snapshot */

#endif
