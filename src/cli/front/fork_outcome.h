/* How a session ended that continues another one with another model: what fork --model tells in its
 * table and apply goes by. */
#ifndef CLI_FRONT_FORK_OUTCOME_H
#define CLI_FRONT_FORK_OUTCOME_H

#include "base/json.h"
#include "record/read/session.h"

/* {"outcome":"ok"|"failed"|"budget"|"late"|"running","why"?}: by the ends of its own agents after
 * event @after, and by the session's. Returns owned. */
json_t *fork_outcome(struct session *s, uint64_t after);

/* Further results of the comparison about a session (its test), kept in the user's state by its
 * id. NULL: none. */
json_t *fork_kept_read(const char *id);
int fork_kept_write(const char *id, const json_t *kept, struct err *err);

#endif
