/* The panes beside a timeline as text: an action's output, an agent's transcript, its
 * workspace's difference, an event's details. They read; they do not draw. */
#ifndef UI_ROWS_PANE_H
#define UI_ROWS_PANE_H

#include "ui/rows/changes.h"
#include "ui/term/text.h"

/* The start of a growing text, so that its lines stay in place while you read. It extends to
 * twice @max; then a line counts the rest. Zeroed: it starts now. */
struct pane_hold {
	uint64_t of;	  /* the action, the agent */
	bool mixed;	  /* both streams as they came */
	uint64_t from[3]; /* of each stream; [0] of the rows */
};
/* Output up to the cursor, its last @max bytes; @render lets colors and carriage returns have
 * their effect. @hold: may be NULL. */
void pane_output(struct text *t, struct source *s, uint64_t action, size_t max, bool render,
		 struct pane_hold *hold);
/* The conversation with named roles; the last @max rows of the agent's timeline. */
void pane_transcript(struct text *t, struct source *s, uint64_t agent, size_t max,
		     struct pane_hold *hold);
/* Every change of a box; each file begins with a heading. */
void pane_diff(struct text *t, struct source *s, uint64_t box);
void pane_change(struct text *t, struct source *s, const struct change *c, int context);
void pane_lines(struct text *t, const struct text_diff *d);
/* Everything that is recorded about an action or any other event. */
void pane_details(struct text *t, struct source *s, uint64_t seq);

#endif
