/* Which session do merge and undo mean, if you name none while sessions run? */
#ifndef CLI_MERGE_AIM_H
#define CLI_MERGE_AIM_H

#include "cli/lib/cmd.h"

/* The newest session that has something to merge, or may have because a command runs in a sandbox
 * (@undo: a merge to undo); a running one comes before those that have ended. 1 with its id (owned)
 * and the number of other sessions that have such work, too; 0: there is none. ERR_USAGE if two
 * running sessions have work for one directory. */
NODISCARD int merge_aim_choose(const char *dir, bool undo, char **id_out, size_t *others_out,
			       struct err *err);

#endif
