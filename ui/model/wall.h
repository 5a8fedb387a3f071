/* The isolation of a sandbox as text, the same on every screen. A sandbox without isolation is
 * named prominently. Pure; nothing owned. */
#ifndef UI_MODEL_WALL_H
#define UI_MODEL_WALL_H

#include "ui/model/model.h"

const char *wall_words(const char *profile);	 /* of box.ready */
bool wall_none(const struct model_box *b);	 /* NULL: false */
const char *wall_net(const struct model_box *b); /* "none", "open", or what is let through */

#endif
