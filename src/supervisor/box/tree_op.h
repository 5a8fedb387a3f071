/* Work on a box's recorded files in two steps: the present state is recorded (and committed), then
 * @work runs on a worker with views of any snapshot at hand, then @done on the loop. */
#ifndef SUPERVISOR_BOX_TREE_OP_H
#define SUPERVISOR_BOX_TREE_OP_H

#include "supervisor/box/tree_priv.h"
#include "sandbox/workspace/apply.h"

struct tree_op {
	struct tree_op *next; /* of t->waiting */
	struct trees *t;
	struct call *call;	/* who asked: a script's call ... */
	struct action *action;	/* ... an action ... */
	struct tree_request rq; /* ... or a user (rq.ticket != 0) */
	void (*work)(struct tree_op *o);
	void (*done)(struct tree_op *o); /* answers; the op is freed afterwards */
	const char *why;		 /* of the snapshot that is taken first */
	/* the sandbox stands still from the first step to the end of the last */
	bool freeze;
	bool kept;	   /* it is frozen now, between the two steps */
	uint64_t from, to; /* seqs; each op defines their meaning */
	/* seq at which the present state is recorded: who takes the op back goes there; from @work
	 * on */
	uint64_t before;
	uint64_t cause;
	struct taken taken;
	struct err err;
	json_t *result; /* of @work; owned */
	struct strv missing;
	size_t nr_ops;
};

/* Takes @o (heap). */
void tree_op_start(struct tree_op *o);
/* The box has gone: what still waits for a barrier ends with that. */
void tree_ops_end(struct trees *t);
/* Worker: fills @v with layer @i as it was at event @seq (0 = the base, UINT64_MAX = its newest
 * snapshot). */
NODISCARD int tree_view(struct trees *t, size_t i, uint64_t seq, struct ws_view *v,
			struct err *err);
/* Worker: the snapshot of layer @i of @box (@t or one like it) at event @seq:
 * record/read/settled.h. */
NODISCARD int tree_snap_of(struct trees *t, uint64_t box, size_t i, uint64_t seq, uint64_t *out,
			   struct err *err);
/* The same for a snapshot that @t itself may not know; 0 = the base. */
NODISCARD int tree_view_of(struct trees *t, uint64_t seq, struct ws_view *v, struct err *err);
/* Worker: brings layer @i of @t to @wanted; contents that the record lacks are looked for below
 * @other (-1: in its base). The files get the times that the snapshot @times and those before it
 * tell; 0: they are as new as this. */
NODISCARD int tree_bring(struct tree_op *o, size_t i, const struct ws_view *now,
			 const struct ws_view *wanted, int other, uint64_t times);
/* Worker: applies @d, of which contents are in @st, to layer @i; @times: as above. */
NODISCARD int tree_apply(struct tree_op *o, size_t i, const struct ws_diff *d,
			 const struct ws_store *st, int other, uint64_t times);
/* Worker: what the step from snapshot @from to @to (seqs, of any box; 0 = the base) changed, for
 * layer @layer as it is now: by lines where it has changed otherwise meanwhile (into @st), else
 * into @conflicts. With @to before @from: an undo. */
NODISCARD int tree_change(struct tree_op *o, size_t layer, uint64_t from, uint64_t to,
			  const struct ws_store *st, struct ws_diff *d, struct strv *conflicts);
/* Worker, as an op's @work: runs @rounds with a store for merged objects, then records the
 * resulting files in any case. */
void tree_change_work(struct tree_op *o,
		      int (*rounds)(struct tree_op *o, const struct ws_store *st));
/* Its paths, as users name them, appended to @paths; the names of conflicts, the first few. */
void tree_change_paths(const struct trees *t, size_t layer, const struct ws_diff *d, json_t *paths);
void tree_change_names(const struct strv *conflicts, struct buf *out);
/* Loop: answers the caller. Takes @result. */
void tree_op_answer(struct tree_op *o, json_t *result);
/* Loop: answers @ticket when everything up to now is committed: a client that has its answer reads
 * the session file next. Takes @result. */
void tree_answer_committed(struct super *s, uint64_t ticket, json_t *result);
/* "n" or a label -> seq. ERR_NOENT. */
NODISCARD int tree_ref(struct trees *t, const json_t *ref, uint64_t *seq_out, struct err *err);

#endif
