/* Ctrl-t: one change as two files in the user's own tool (git's diff.tool), read only. */
#ifndef UI_DIFFTOOL_H
#define UI_DIFFTOOL_H

#include "ui/frame/ui.h"
#include "ui/rows/changes.h"

void difftool_wish(struct ui *ui, struct source *s, const struct change *c);

#endif
