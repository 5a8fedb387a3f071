/* Between the files of `policy past`. */
#ifndef CLI_POLICY_PAST_H
#define CLI_POLICY_PAST_H

#include "action/policy.h"
#include "catalog/catalog.h"
#include "check/past.h"
#include "cli/lib/cmd.h"

enum change { SAME, NOW_DENIED, NOW_ASKED, NOW_ALLOWED, NOW_ALLOWED_AGAINST, CHANGES };

/* Actions that would change in the same way. */
struct group {
	enum change change;
	char *what, *rule;    /* owned */
	char *session, *last; /* first and last session that has one; owned */
	uint64_t first;
	size_t actions, sessions;
};

struct past_deeds;
struct past_policy {
	struct cmd_ctx *ctx;
	struct past *past; /* borrowed */
	struct policy *policy;
	size_t n[CHANGES], functions, redacted;
	struct group *group;
	size_t groups, group_cap;
	json_t *known;		  /* text of a group -> its number; NULL: no table of groups */
	struct past_deeds *deeds; /* borrowed; NULL: sessions are read */
	size_t group_found;	  /* of the deed looked at last */
};

/* Judges a recorded action again. Fills @out (release it). */
NODISCARD int policy_past_judge(const struct past_policy *p, const struct past_action *a,
				struct judgement *out, enum change *change_out, struct err *err);
bool policy_past_shows(const struct past_policy *p, enum change c); /* on a line of its own */
/* The group's number. */
size_t policy_past_group(struct past_policy *p, enum change c, const json_t *row,
			 const struct judgement *j);
void policy_past_count(struct past_policy *p, size_t group, const char *session, uint64_t id);
int policy_past_each(void *self, const struct past_action *a, struct err *err); /* past_fn */

/* Judges the deeds of the catalog's shards that hold sessions of @p->past, in two processes. NULL:
 * the policy looks at more than a deed has. */
struct past_deeds *past_deeds_new(struct past_policy *p, const struct catalog *c) NODISCARD;
void past_deeds_free(struct past_deeds **d);
/* For past.known: counts the session's actions. False: read the file. */
bool past_deeds_known(void *self, const struct session_file *f);

#endif
