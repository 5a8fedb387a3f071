/* The text of an approval screen about one pending action. All of it comes from the recording:
 * the exact bytes with hidden characters drawn and counted, each matching rule, the agent's
 * message, and the known effects. */
#ifndef UI_VIEWS_APPROVE_H
#define UI_VIEWS_APPROVE_H

#include "ui/rows/pane.h"

struct ui;
struct approval_info {
	uint64_t action;
	/* in: the moment that ages are counted to; 0: the end of the record */
	int64_t now_us;
	const struct model_action *act;
	const struct model_agent *agent;
	const char *intent; /* hex */
	/* the bytes as wanted: what an editor gets; NULL when it is not a command line */
	const char *command;
	bool tries; /* a command, write, or edit: a dry run of it can be applied */
	/* in: what a user made of it, to be looked at before it is approved; NULL nothing */
	const char *edited;
	const char *risk_why, *on_timeout;
	bool high;
	/* a used up budget is all that holds it: more is given, or it goes, or not */
	bool budget;
	const char *type;	    /* the name that a rule wants typed; NULL none */
	const char *note, *note_by; /* of who left it held last; NULL none */
	const char *rule, *why;	    /* the winner */
	const char *counts; /* "exact bytes, 4 arguments, ASCII only, no hidden characters" */
	uint32_t hidden;
	bool again, changed; /* shown before; the workspace has changed since */
	bool folded;	     /* not all of it is shown */
	bool trying, tried;  /* a dry run runs, or is over */
	const char *decided; /* "approved by ann at 14:32:30", NULL while it waits */
};

/* Pending approvals. The queue, and the screens that go through it, have one order: the oldest
 * first. */
struct waits {
	size_t source;
	uint64_t action;
	int64_t since_us;
};
int waits_order(const void *a, const void *b); /* for qsort */

void approval_load(struct approval_info *out, struct source *s, uint64_t action, struct arena *a);
/* The whole body. @rows: shortened to that many rows if possible (never the bytes and their
 * notes), 0 = all of it. *command_end: the row after the last of the bytes. */
void approval_text(struct text *t, struct source *s, struct approval_info *info, size_t rows,
		   size_t *command_end);
/* The difference that a write or an edit makes, from its request. Returns false for other kinds. */
bool approval_difference(struct text *t, const json_t *req);
/* Plans the pending merge @act against your repository as it is now; the plan is recorded. */
void approval_plan(struct ui *ui, size_t source, const struct model_action *act);
/* The output of the newest dry run, whole. */
void approval_output(struct text *t, struct source *s, const struct approval_info *info);

#endif
