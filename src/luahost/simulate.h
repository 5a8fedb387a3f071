/* The script once more, from the top, with the answers of the record: does it ask the same? Nothing
 * is done; needs only the Lua host. */
#ifndef LUAHOST_SIMULATE_H
#define LUAHOST_SIMULATE_H

#include "record/read/session.h"

struct simulation_result {
	uint64_t frames, calls; /* compared */
	bool diverged, failed;	/* failed: the script is wrong as it stands; `now` says where */
	/* of a difference; else the last event before the record's script was stopped or ended. seq
	 * of the recorded call, or of the frame after which it asks for something new; 0 none */
	uint64_t event;
	uint64_t call;	      /* number of the call */
	char *at;	      /* place in the script, now; may be NULL */
	char *pointer;	      /* JSON pointer into what was asked */
	char *recorded, *now; /* the two values as text; "(nothing)" */
	char *ended;	      /* how the script ended now, when it did; may be NULL */
};
void simulation_result_release(struct simulation_result *r);

/* @script: other text to run instead of the recorded one (NULL: that one). ERR_INVALID: the session
 * has no script, or was recorded without its calls. */
NODISCARD int simulate_session(struct session *s, const struct buf *script,
			       struct simulation_result *out, struct err *err);

#endif
