/* Between the files of the policy: the properties of an action that rules match. */
#ifndef ACTION_POLICY_PRIV_H
#define ACTION_POLICY_PRIV_H

#include "action/glob.h"
#include "action/policy.h"
#include "action/shell.h"

#define BOX_HOME "/home/agent"
#define BOX_CWD	 "/workspace"

struct facts {
	const struct policy_subject *subject;
	const struct shell *shell; /* NULL without a command */
	uint64_t all;		   /* every part, and POLICY_OPAQUE */
	uint64_t looked, targets;  /* parts with SHELL_LOOKED, SHELL_TARGET */
	uint64_t reached;	   /* parts whose names may mean something else */
	const char *home;	   /* the user's, for host paths */
	json_t *act;		   /* made when a rule's filter wants it; owned */
};

struct shell *spec_split(const struct action_spec *s); /* NULL without a command */
void facts_init(struct facts *f, const struct policy_subject *subject, const struct shell *shell);
void facts_release(struct facts *f);

/* Parts on which a waiver speaks for certain. */
uint64_t waiver_parts(const struct waiver *w, uint64_t agent, const struct facts *f);

/* Does @rule match? Fills @m (but for policy). */
bool rule_matches(const struct rule *rule, struct facts *f, const struct judgement *j,
		  struct match *m);
/* With what a match counts now; false if it does not count. */
bool match_counts(const struct match *m, enum verdict *out);

#endif
