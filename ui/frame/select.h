/* "v": selects lines with the movement keys and copies them. The view's hook `look` reports
 * which lines are on the screen (looked.seen). This works without a mouse, and in a text longer
 * than the screen. A wrapped line is one line. While lines are selected, copy, pager, plain
 * screen, editor, and file apply only to them. */
#ifndef UI_FRAME_SELECT_H
#define UI_FRAME_SELECT_H

#include "ui/frame/ui.h"

/* bytes of copied rows; a line reports how many more there were */
enum { SELECT_MAX = 1 << 20 };

bool select_on(struct ui *ui);
/* The verb as it is meant while lines are chosen, and VERB_SELECT. True if that was all of it. */
bool select_verb(struct ui *ui, enum verb v);
/* those that mean the same on every screen then; true if it was one */
bool select_key(struct ui *ui, uint32_t key);
void select_end(struct ui *ui);
/* The view was painted anew: ends the selection with a message if other lines are now in its
 * place. */
void select_keep(struct ui *ui);
/* A search has gone there (as looked.at): the selection extends to it. */
void select_went(struct ui *ui, uint64_t to);
void select_text(struct ui *ui, struct buf *out); /* appends nothing when none are chosen */
void select_paint(struct ui *ui, struct area body);
const char *const *select_hints(const struct ui *ui); /* NULL: none are chosen */

#endif
