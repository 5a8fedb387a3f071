/* Keys of two: "]" "[" "g" "'" "m" and a second one. After half a second a line says which there
 * are. */
#ifndef UI_FRAME_PREFIX_H
#define UI_FRAME_PREFIX_H

#include "ui/frame/ui.h"

void prefix_begin(struct ui *ui, uint32_t key);
bool prefix_key(struct ui *ui, uint32_t key);
void prefix_paint(const struct ui *ui, struct area all);
int64_t prefix_next(const struct ui *ui);

#endif
