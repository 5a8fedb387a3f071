/* The screen of a box's files as of the cursor. */
#ifndef UI_TREE_H
#define UI_TREE_H

#include "ui/ui.h"

/* Opens it at @path ("" the workspace): a folder is listed, a file is opened. */
void tree_open(struct ui *ui, const struct subject *on, const char *path);

#endif
