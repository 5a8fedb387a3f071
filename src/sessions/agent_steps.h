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
	bool cut; /* commits are in no step of their own, and not named in another */
};
#define AGENT_STEPS_INIT ((struct agent_steps){ 0 })

/* Where the steps are read from. */
struct agent_steps_from {
	struct session *s;	   /* borrowed */
	const struct ws_store *st; /* borrowed */
	uint64_t *seq;		   /* snapshots of one layer, in order */
	size_t nr;
	char *rest; /* message of the work that nobody committed */
};
void agent_steps_from_release(struct agent_steps_from *from);

/* One step for each snapshot at which there were new commits, and one for the work since. nr is 0
 * if there were none. @gitdir: the repository's own directory in the sandbox: ".git". */
NODISCARD int agent_steps_read(struct agent_steps *out, const struct agent_steps_from *from,
			       const char *gitdir, struct err *err);
void agent_steps_release(struct agent_steps *a);

/* Steps of the repositories within a sandbox's directory (submodules and others): each is read when
 * a merge asks for it. Zero is empty. */
struct agent_steps_within {
	struct agent_steps_from from;
	const char *dir; /* the directory on the host, which has those repositories; borrowed */
	struct agent_steps *item;
	size_t nr, cap;
};
/* merge_target.within: @self is a struct agent_steps_within. */
size_t agent_steps_at(void *self, const char *prefix, const struct merge_step **out);
void agent_steps_within_release(struct agent_steps_within *w);

/* A copy in UTF-8 that lives as long as @a: for those that make steps. */
const char *agent_steps_text(struct agent_steps *a, const char *s, size_t len);

#endif
