/* The screen of a command that runs again: what the record has at the left, the second run at the
 * right, live, and below how they compare. */
#ifndef UI_REPEAT_H
#define UI_REPEAT_H

#include "ui/frame/ui.h"

/* Asks the supervisor to run @on->action again and opens the screen, or says on the message line
 * why not. */
void repeat_ask(struct ui *ui, const struct subject *on);

/* Asks whether what the second run of @on->action (first or second run; 0: the newest) changed
 * becomes so in the box of the first, and sends it. */
void repeat_apply_ask(struct ui *ui, const struct subject *on);

#endif
