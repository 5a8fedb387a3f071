/* An action that had a terminal, as that terminal's screen (ui/term/vt.h), fed on from where it was
 * when the cursor moves on. One at a time is kept per session. The screen is that of all output; of
 * long output the last 2 to 4 MB are fed, from the recorded keyframe (terminal.screen) before them,
 * so that older rows are not among those that have scrolled away. */
#ifndef UI_ROWS_PTY_H
#define UI_ROWS_PTY_H

#include "ui/model/source.h"
#include "ui/term/text.h"

void pane_pty(struct text *t, struct source *s, uint64_t action);

#endif
