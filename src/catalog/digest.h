/* One session at a glance: what `ls` and the session browser show of it. The catalog answers for
 * finished sessions; others are read from their file. */
#ifndef CATALOG_DIGEST_H
#define CATALOG_DIGEST_H

#include "catalog/catalog.h"

/* When session @s, which has ended, ended: a merge or undo after the end is a second end, and does
 * not count. @head_us, the time of its last event, for one that no script began. */
int64_t digest_ended_us(struct session *s, int64_t head_us);

struct digest {
	/* running, ended, stopped, failed, interrupted, unreadable */
	const char *state;
	char *why; /* it is unreadable, or did not succeed; may be NULL */
	uint64_t events;
	int64_t begun_us, last_us;
	bool live, broken_off, unreadable;
	/* false: the figures below could not be read; all are 0 */
	bool counted;
	json_t *agents;	   /* names without repetition */
	json_t *labels;	   /* sessions/labels.h */
	int64_t cost_uusd; /* with cost_unknown: the least that it can be */
	bool cost_unknown;
	uint64_t failed;   /* actions that ended with an error */
	uint64_t denied;   /* by a rule or a reviewer */
	uint64_t unmerged; /* files that no merge has brought back */
};

/* Fills @out; never fails: an unreadable session is "unreadable", with the reason. */
void digest_of(struct digest *out, const struct catalog *c, const struct session_file *f);
/* When it started, without the figures: the first event alone; 0: unknown. */
int64_t digest_begun(const struct catalog *c, const struct session_file *f);
void digest_release(struct digest *d);
/* "$0.41", "$0.41+" if some calls have no known price, "unknown" if none has. */
void digest_cost(const struct digest *d, struct buf *out);
/* "fix, docs, greedy" */
void digest_agents(const struct digest *d, struct buf *out);

#endif
