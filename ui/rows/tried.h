/* The dry run of a pending action as text: progress while it runs, then exit status, files,
 * output, and why the real run may differ. */
#ifndef UI_ROWS_TRIED_H
#define UI_ROWS_TRIED_H

#include "ui/rows/pane.h"

enum tried_how { TRIED_BRIEF, TRIED_FULL };

/* False when the action has no dry run. */
bool tried_text(struct text *t, struct source *s, const struct model_action *act, int64_t now_us,
		enum tried_how how);
/* Its output; the last @max lines, 0 = all. */
void tried_output(struct text *t, struct source *s, const struct model_action *act, size_t max);
/* "exit 2 in 15ms, 3 files +41 -9" from the body of a preview.ended. */
const char *tried_sum(const json_t *ended, struct arena *a);

#endif
