/* Between super_tree.c (snapshots) and tree_*.c (operations on them). */
#ifndef SUPERVISOR_BOX_TREE_PRIV_H
#define SUPERVISOR_BOX_TREE_PRIV_H

#include "supervisor/box/super_tree.h"
#include "sandbox/workspace/pick.h"
#include "sandbox/workspace/snapshot.h"

/* One recorded state of one layer. */
struct snap {
	uint64_t seq; /* of its snapshot.taken */
	size_t layer;
	char *label; /* may be NULL */
};

struct layer_open {
	struct trees *t;
	size_t i;
};

struct layer {
	struct layer_open open; /* for files that our uid may not read */
	struct ws *ws;
	char *name;		/* of the repository; "" = /workspace itself */
	char *host_dir;		/* NULL = none of the user's */
	uint64_t prev;		/* seq of its newest snapshot */
	struct tree_base *base; /* tree_base.c; NULL = none, or not listed yet */
};

/* Requests for a sandbox's files, one after the other. Every kind of work is one of these: @work
 * on a worker, then @done on the loop. Sandboxes with living processes are frozen meanwhile if
 * @freeze. */
struct tree_job {
	struct tree_job *next;
	struct trees *t;
	void (*work)(struct tree_job *j);
	/* may be NULL: after @work, the box still frozen; tree_job_release ends it */
	void (*hold)(struct tree_job *j);
	void (*done)(struct tree_job *j); /* frees what it owns, not the job */
	bool freeze, frozen, writes;
	bool always; /* freeze it also when nothing seems to live */
	/* a second job of the same work follows: what this one froze stays so until that one has
	 * ended */
	bool keep;
	bool kept; /* this is the second, of a box that the first keeps frozen */
	struct err err;
	void *data;
};

struct trees {
	struct super *s;
	struct box *box;
	uint64_t id;
	char *name;
	struct layer *layer;
	size_t nr_layers;
	struct snap *snap;
	size_t nr_snaps, cap_snaps;
	uint64_t *by; /* actions that ended since the last snapshot, not yet in one */
	size_t nr_by, cap_by;
	size_t clear; /* the first of @by that have changed nothing, as a look after them found */
	struct tree_job *first, **last, *running;
	struct tree_op *waiting; /* tree_op.c: ops between their two jobs, at a barrier */
	struct session *read;	 /* worker's: objects of the past */
	struct objects *objects; /* of the job under way */
	/* honeytokens that files are looked through for; NULL = none */
	struct secrets *baits;
	/* works whose first job is done and whose second is not: for their sake it stays frozen */
	unsigned kept;
	/* the newest look at the files failed: they may be in no snapshot */
	bool behind;
	bool dead; /* freed while a job ran: it cleans up */
	struct loop_timer *drift;
	struct review *review; /* tree_review.c; NULL = nobody has said anything */
	uint64_t agent;	       /* who had an action in it last; 0 = none */
	uint64_t undo;	       /* seq before the last rollback; 0 = none */
	uint64_t undo_done;    /* seq of its rollback.done */
	uint64_t undo_seen;    /* seq of the snapshot that its answer names; 0 = none */
	/* the sandbox replaces an earlier one and may continue its files */
	bool again;
	char *merged_ref;
	struct err broken; /* the layers could not be opened: why */
};

/* Takes @j (heap). */
void tree_job_add(struct trees *t, struct tree_job *j);
void tree_job_release(struct tree_job *j);
const struct ws_store *tree_store(struct trees *t, struct ws_store *out);
/* Appends a snapshot of every layer that changed (after ws_take on the worker). @why: "action"
 * "person" "rollback" ... */
struct taken {
	json_t **body; /* by layer, NULL = nothing new */
	const char *why;
	char *label;
	uint64_t cause;
	bool ended; /* an action: it is what there was at its end */
};
void tree_take(struct trees *t, struct taken *k, struct err *err); /* worker */
/* loop; newest seq; releases @k */
uint64_t tree_record(struct trees *t, struct taken *k);
/* The newest snapshot of @layer at or before @seq; 0 = the base. */
uint64_t tree_snap_at(const struct trees *t, size_t layer, uint64_t seq);
void tree_remember(struct trees *t, size_t layer, uint64_t seq, const char *label);
/* Gives the snapshot @seq a name, and records it. */
void tree_label(struct trees *t, uint64_t seq, const char *label, uint64_t cause);
/* Keeps the branch of the last merge, with this body, for sg.host.push. */
void tree_merge_keep_ref(struct trees *t, const json_t *body);
/* Of an action that merges, which is all or nothing: it continues to its end. */
void tree_merge_cancel(void *self, struct action *a, const char *how);
/* The parts that a user accepted in a merge's review. */
struct review_pick {
	uint64_t action;
	struct pick pick;
	json_t *who;
};
/* Hands it over (owned); false: nothing was chosen. */
bool trees_review_take(struct trees *t, uint64_t action, struct review_pick *out);
json_t *trees_review_comments(struct trees *t); /* those since the last call; returns owned */
/* Its sandbox closes: a later merge of several must still see what was rejected. */
void trees_review_close(struct trees *t);
void trees_review_free(struct trees *t);
/* tree_undo_merge.c: @seq is a merge.done that was just written. */
void tree_merge_recorded(struct super *s, uint64_t seq);
bool tree_find_label(const struct trees *t, const char *label, uint64_t *seq_out);

/* --- tree_job.c --- */
void trees_destroy(struct trees *t);

#endif
