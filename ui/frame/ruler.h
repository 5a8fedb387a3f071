/* The timeline of a record: lanes over the playing clock (pauses are cut), marks, and where the
 * cursor is.
 *
 *     ── timeline ──────────────────── A approved D denied E error R rollback X end   one column =
 *     4s, idle over 2s cut ──
 *      exec    │▁ ▃▂ ▅ ...
 *      edit    │   +    +
 *      marks   │      A    E   m    X
 *              │├───────^───────────┤
 *
 * On a small screen: the first lane, and the marks with the cursor among them. ":ruler WHAT" says
 * what the first lane counts. Reads the track; the cost does not grow with the session but for 20
 * bytes for each 256 events. */
#ifndef UI_FRAME_RULER_H
#define UI_FRAME_RULER_H

#include "ui/frame/ui.h"

/* ":ruler NAME": exec, events, model, cost, tokens, output. False: there is none of that name. */
bool ruler_choose(struct ui *ui, const char *name);
int ruler_rows(const struct ui *ui);
/* @at: the seq of the cursor. */
void ruler_paint(const struct ui *ui, size_t source, uint64_t at, struct area a);
/* The event at column @col of the screen; 0 none: for the mouse. */
uint64_t ruler_seq(const struct ui *ui, size_t source, int col);

#endif
