/* Whom and what a word of the ":" line names; of several sessions that of @on first. */
#ifndef UI_FRAME_NAMED_H
#define UI_FRAME_NAMED_H

#include "ui/frame/ui.h"

/* The agent of that name, or the last agent that worked in the sandbox of that name; false:
 * unknown name, @on stays. */
bool agent_named(const struct ui *ui, const char *name, struct subject *on);
/* The box of that name, @on is its session and who worked in it then; 0 there is none. */
uint64_t box_named(const struct ui *ui, const char *name, struct subject *on);
/* "fix-1, fix-2, .." of every session, for the error about another name. */
void names_of_boxes(const struct ui *ui, struct buf *out);
/* and of boxes that are called otherwise */
void names_of_agents(const struct ui *ui, struct buf *out);

#endif
