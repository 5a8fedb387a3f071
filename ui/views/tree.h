/* The screen of a box's files as of the cursor. */
#ifndef UI_TREE_H
#define UI_TREE_H

#include "ui/frame/ui.h"

/* Is there such a path now in @box (0: in the agent's)? "" is the workspace. */
bool tree_has(const struct ui *ui, const struct subject *on, uint64_t box, const char *path);
/* Opens it there: a directory is listed, a file is opened, also one that is yet to come. */
void tree_open(struct ui *ui, const struct subject *on, uint64_t box, const char *path);

#endif
