/* What keymap.c and keymap_user.c share. */
#ifndef UI_KEYMAP_PRIV_H
#define UI_KEYMAP_PRIV_H

#include "ui/keymap.h"

/* Comes before ours and after what was added before. False: no room. */
bool keymap_add(const struct key_row *k);

#endif
