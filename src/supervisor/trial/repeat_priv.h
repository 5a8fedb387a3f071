/* Between repeat.c (its life), repeat_read.c (what the record says of the action) and
 * repeat_compare.c. */
#ifndef SUPERVISOR_TRIAL_REPEAT_PRIV_H
#define SUPERVISOR_TRIAL_REPEAT_PRIV_H

#include "supervisor/trial/repeat.h"
#include "supervisor/box/tree_op.h"

enum { REPEAT_REPOS_MAX = 64, REPEAT_FILES_MAX = 200 };

/* The files of one layer around the action: seqs of snapshots, 0 = the base. */
struct repeat_layer {
	char *repo;
	uint64_t before, after;
};

/* A recording's data of one action. */
struct origin {
	char *path;
	struct session *read;
	uint64_t action, box;
	json_t *requested, *started, *ended, *open; /* bodies; started, ended may be NULL */
	struct repeat_layer layer[REPEAT_REPOS_MAX];
	size_t nr_layers;
	uint64_t tree_at; /* newest snapshot before it */
	bool shared;	  /* what changed may come from others, too */
};

/* @now: "before" are the newest snapshots of all. */
NODISCARD int origin_read(struct origin *o, const char *path, uint64_t action, bool now,
			  struct err *err);
void origin_release(struct origin *o);
/* Worker: the state of @repo at snapshot @seq. */
NODISCARD int origin_view(struct origin *o, uint64_t seq, struct ws_view *v, struct err *err);
void origin_store(struct origin *o, struct ws_store *out);

struct repeat {
	struct repeat *next;
	struct super *s;
	struct origin o;
	uint64_t ticket, cause, box, seq, action;
	uint64_t before; /* newest event when the run began */
	json_t *who;
	bool keep, end_session, missing, now;
	enum action_end end;
	json_t *body; /* of the new action.ended */
	json_t *result;
	struct err err;
};

/* One whose comparison still runs; NULL: none. */
const struct repeat *repeat_of_action(const struct super *s, uint64_t action);
/* Worker: fills r->result (body of redo.ended) from both records. */
void repeat_compare(struct repeat *r, struct trees *t, struct err *err);

#endif
