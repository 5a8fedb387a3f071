/* What the panes beside a timeline hold, as text: an action's output, an agent's transcript, its workspace's
 * difference, an event's details. They read; they do not draw. */
#ifndef UI_PANE_H
#define UI_PANE_H

#include "ui/views/changes.h"
#include "ui/term/text.h"

/* Output up to the cursor, its last @max bytes; @render lets colours and carriage returns have their effect. */
void pane_output(struct text *t, struct source *s, uint64_t action, size_t max, bool render);
/* What was said, with roles as words; the last @max rows of the agent's timeline. */
void pane_transcript(struct text *t, struct source *s, uint64_t agent, size_t max);
/* Every change of a box; each file begins with a heading. */
void pane_diff(struct text *t, struct source *s, uint64_t box);
void pane_change(struct text *t, struct source *s, const struct change *c, int context);
void pane_lines(struct text *t, const struct text_diff *d);
/* Everything that is recorded about an action or any other event. */
void pane_details(struct text *t, struct source *s, uint64_t seq);

#endif
