/* The commits in the log of a sandbox's repository (gitrepository-layout(5): logs/HEAD), snapshot
 * by snapshot, as steps of a merge. Only commits that HEAD leads to: those of another branch, and
 * those that were amended or reset away, are no step of the work. */
#ifndef SESSIONS_AGENT_LOG_H
#define SESSIONS_AGENT_LOG_H

#include "sessions/agent_steps.h"

/* in ns: of all snapshots */
enum { AGENT_LOG_WORK = 2000000000 };
struct id_set {
	struct object_id *item;
	size_t nr, cap;
};
struct agent_log {
	const struct ws_store *st; /* set by the caller; borrowed */
	const char *gitdir;	   /* likewise: the repository's own directory in the sandbox */
	/* private */
	size_t at;	       /* bytes of the log that were read */
	struct object_id last; /* the log as it was read last */
	struct id_set reach;   /* commits that HEAD has led to */
	struct id_set taken;   /* those that are in a step */
	struct strv pending;   /* lines of commits that are in none */
	uint64_t work;	       /* about how many ns it took so far: a made-up log has an end */
	bool cut;	       /* commits are left out: there are too many to read or to name */
};

/* The new commits at the snapshot @body, as one step without a view: named after the last, which
 * names the others. Its strings are of @a. Returns how many. */
size_t agent_log_commits(struct agent_log *l, struct agent_steps *a, const json_t *body,
			 struct merge_step *out);
void agent_log_release(struct agent_log *l);

#endif
