/* Asks the supervisors of several sessions for their state, in parallel and with one deadline.
 * Silent ones (stopped, hung, foreign) together cost the time of one. */
#ifndef SESSIONS_ASK_ALL_H
#define SESSIONS_ASK_ALL_H

#include "sessions/sessions.h"
#include "base/json.h"

struct asked {
	const struct session_file *file; /* borrowed */
	/* out, owned: wire/control.h rule 3; NULL it did not answer */
	json_t *welcome;
};

void ask_all(struct asked *a, size_t nr);

#endif
