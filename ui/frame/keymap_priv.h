/* What keymap.c and keymap_user.c share. */
#ifndef UI_FRAME_KEYMAP_PRIV_H
#define UI_FRAME_KEYMAP_PRIV_H

#include "ui/frame/keymap.h"

/* Comes before ours and after what was added before. False: no room. */
bool keymap_add(const struct key_row *k);

#endif
