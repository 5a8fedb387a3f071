/* Merging from the recording while the session runs: several sandboxes in one step, and sandboxes
 * that are closed already. */
#ifndef SUPERVISOR_BOX_TREE_SEVERAL_H
#define SUPERVISOR_BOX_TREE_SEVERAL_H

#include "sessions/merge_several.h"
#include "supervisor/box/super_tree.h"

/* On the loop, once everything is recorded; @event: of each sandbox. @err: ERR_NONE if it
 * succeeded. All borrowed. */
typedef void several_done_fn(void *self, const struct merge_several *m, const uint64_t *event,
			     const struct err *err);

struct several_request {
	struct super *s;
	uint64_t cause, action;	  /* action: 0 for a command */
	const struct strv *names; /* of sandboxes, or their ids; none: as merge_several_run does */
	const json_t *opts;
	several_done_fn *done;
	void *self;
};

/* Merges, or plans. The files of those that are open are recorded first. @rq is borrowed for the
 * call; its done follows later. */
void trees_merge_recorded(const struct several_request *rq);

/* The same as a command, answered by the ticket of @rq. */
void trees_merge_several(const struct tree_request *rq, const struct strv *names,
			 const json_t *opts);

#endif
