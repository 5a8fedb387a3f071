/* "/": text in what the view on top shows. Capitals count only if some are typed; it goes round
 * with a message. */
#ifndef UI_FRAME_SEARCH_H
#define UI_FRAME_SEARCH_H

#include "ui/frame/ui.h"

void search_clear(struct ui *ui);
void search_paint(struct ui *ui, struct area body); /* marks every hit that can be seen */

#endif
