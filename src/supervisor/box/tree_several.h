/* Merging from the recording while the session runs: several sandboxes in one step, and sandboxes
 * that are closed already. */
#ifndef SUPERVISOR_BOX_TREE_SEVERAL_H
#define SUPERVISOR_BOX_TREE_SEVERAL_H

#include "supervisor/box/super_tree.h"

/* @names: of sandboxes, or their ids; none: as merge_several_run does. The files of those that are
 * open are recorded first. Answered by the ticket of @rq. */
void trees_merge_several(const struct tree_request *rq, const struct strv *names,
			 const json_t *opts);

#endif
