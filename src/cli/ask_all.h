/* What the supervisors of several sessions say at the door: asked side by side, with one deadline
 * for all of them together, so that those which do not answer (stopped, hung, somebody else's) cost
 * the time of one. */
#ifndef CLI_ASK_ALL_H
#define CLI_ASK_ALL_H

#include "sessions/sessions.h"
#include "base/json.h"

struct asked {
	const struct session_file *file; /* borrowed */
	/* out, owned: wire/control.h rule 3; NULL it did not answer */
	json_t *welcome;
};

void ask_all(struct asked *a, size_t nr);

#endif
