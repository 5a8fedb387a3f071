/* One directory of a sandbox in a merge: its changed files as steps, the branches in it, and your
 * choices. A merge of a running session and one from its recording alone fill it, and both make
 * their target of it. Zero is empty. Worker. */
#ifndef SESSIONS_MERGE_LAYER_H
#define SESSIONS_MERGE_LAYER_H

#include "sandbox/workspace/merge.h"
#include "sandbox/workspace/pick.h"
#include "sessions/agent_steps.h"
#include "sessions/sandbox_refs.h"

struct merge_layer {
	/* one for each step; merge_layer_reserve makes room, merge_layer_add the next one */
	struct ws_view *view;
	struct merge_step *step;
	char **message;
	size_t nr, cap;
	struct agent_steps agent; /* the agent's own commits: with any, these are the steps */
	struct agent_steps_within within; /* from.s: NULL if no commits are read */
	struct sandbox_refs_at refs_at;
	struct merge_choices choices;
};

/* May the merge make the agent's own commits again? @message: of its one commit, may be NULL. */
bool merge_layer_commits(enum merge_mode mode, const char *message);
void merge_layer_reserve(struct merge_layer *l, size_t nr);
/* Makes a step of the view at @l->nr, which the caller has loaded. Takes @message. */
void merge_layer_add(struct merge_layer *l, char *message);
/* The wanted state. Borrowed. */
const struct ws_view *merge_layer_last(const struct merge_layer *l);
/* Fills what @out has of steps, commits, branches, and choices. @out borrows from @l. */
void merge_layer_target(struct merge_layer *l, struct merge_target *out);
void merge_layer_release(struct merge_layer *l);

/* The id of the merge that @text names: the same text has the same id, so that a second try finds
 * what the first one did. */
void merge_id_of(const char *text, size_t len, char out[33]);

#endif
