/* "v": lines of what is shown, chosen with the keys that move, to be taken along. Where a view says
 * in its hook `look` which lines are seen where (looked.seen); without a mouse, and from a text
 * that is longer than the screen. A line that was wrapped is one line. While lines are chosen,
 * copy, pager, plain screen, editor and file are of them alone. */
#ifndef UI_FRAME_SELECT_H
#define UI_FRAME_SELECT_H

#include "ui/frame/ui.h"

/* bytes of rows that are taken along; a line says how many more there were */
enum { SELECT_MAX = 1 << 20 };

bool select_on(struct ui *ui);
/* The verb as it is meant while lines are chosen, and VERB_SELECT. True if that was all of it. */
bool select_verb(struct ui *ui, enum verb v);
/* those that mean the same on every screen then; true if it was one */
bool select_key(struct ui *ui, uint32_t key);
void select_end(struct ui *ui);
/* What is shown has been made anew: ends the choice, and says so, if other lines stand now where it
 * is. */
void select_keep(struct ui *ui);
/* A search has gone there (as looked.at): what is chosen reaches as far. */
void select_went(struct ui *ui, uint64_t to);
void select_text(struct ui *ui, struct buf *out); /* appends nothing when none are chosen */
void select_paint(struct ui *ui, struct area body);
const char *const *select_hints(const struct ui *ui); /* NULL: none are chosen */

#endif
