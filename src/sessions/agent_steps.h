/* Commits that an agent made in a sandbox, as steps of a merge: their messages and author names
 * are kept. Read from the recording alone: git's own log of HEAD, in the snapshots. The
 * sandbox's repository is never opened. */
#ifndef SESSIONS_AGENT_STEPS_H
#define SESSIONS_AGENT_STEPS_H

#include "record/read/session.h"
#include "sandbox/workspace/merge.h"

struct agent_steps {
	struct merge_step *step; /* borrows from the others */
	struct ws_view *view;
	char **text; /* messages, names and addresses */
	size_t nr, nr_text, cap_text;
};
#define AGENT_STEPS_INIT ((struct agent_steps){ 0 })

/* One step for each of the snapshots @seq (of one layer, in order) at which there were new commits,
 * and one for the work since. nr is 0 if there were none. @rest: message of the work that nobody
 * committed. */
NODISCARD int agent_steps_read(struct agent_steps *out, struct session *s,
			       const struct ws_store *st, const uint64_t *seq, size_t nr,
			       const char *rest, struct err *err);
void agent_steps_release(struct agent_steps *a);

/* One line of the log: false if it tells of no commit. Strings are appended to @a. For the tests,
 * too. */
bool agent_log_line(const char *line, size_t len, struct agent_steps *a, struct merge_step *out);

#endif
