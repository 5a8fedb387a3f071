/* Merges one sandbox from its recording alone: of an ended session, or of a running one whose files
 * were recorded just before. One thread at a time; a running session needs a handle of its own. */
#ifndef SESSIONS_BOX_MERGE_H
#define SESSIONS_BOX_MERGE_H

#include "record/record.h"
#include "sandbox/workspace/merge.h"
#include "sandbox/workspace/pick.h"
#include "sessions/merge_layer.h"
#include "sessions/unmerged.h"

/* The request, the same for every sandbox of one step. */
struct box_merge_opts {
	enum merge_mode mode;
	const char *branch, *patch; /* NULL: the default */
	const char *message;	    /* of one commit for each sandbox; NULL: the default */
	bool ignored;
	struct pick *pick;
	const struct strv *leave; /* patterns of paths that stay out; may be NULL */
	bool *left;		  /* of each of them: a path matched; NULL without patterns */
};

struct box_merge {
	/* set by the caller; all but @decided are borrowed */
	struct session *read;
	const struct unmerged *known; /* of @read */
	const struct unmerged_box *box;
	const char *group;   /* id of the step that several merges belong to; NULL: there is one */
	const json_t *onto;  /* merge_opts.onto */
	const int *hold;     /* merge_opts.hold */
	struct strv decided; /* full host paths that stay out by your decision between sandboxes */
	/* set by box_merge_plan */
	char id[33];
	struct merge_layer *layer; /* one for each target */
	struct merge_target *target;
	size_t nr, left;
	/* set by box_merge_run */
	struct objects *objects; /* trees of the merged paths, for the event; owned */
	struct merge_result result;
	json_t *body; /* of the event; owned */
	bool stays;   /* merged, and could not be taken back after a later one failed */
	/* private */
	struct ws_store store;
	json_t *taken;
	char *message;
};

/* Loads the changes of @m->box. A second call plans anew, with the decisions made meanwhile. */
NODISCARD int box_merge_plan(struct box_merge *m, const struct box_merge_opts *o, struct err *err);
/* Plans only (@dry), or merges. Conflicts with the target are a failure unless @dry. The body is
 * filled in any case. */
NODISCARD int box_merge_run(struct box_merge *m, const struct box_merge_opts *o, bool dry,
			    struct err *err);
/* Puts "why" and "code" of a failure into the body. */
void box_merge_fail(struct box_merge *m, const struct err *why);
/* The kind of the event that @m ended with. */
enum event_kind box_merge_kind(const struct box_merge *m, bool dry);
void box_merge_release(struct box_merge *m);

#endif
