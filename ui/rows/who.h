/* The author of a change in one line: the action, its agent, its command, and who approved it. */
#ifndef UI_ROWS_WHO_H
#define UI_ROWS_WHO_H

#include "ui/rows/files.h"

/* "#381 edit src/a.c by fix-parser, approved by ann"; @seq 0: the base. */
const char *who_text(struct source *s, uint64_t seq, struct arena *a);
/* "#381" or "base"; "~" behind it where several may have done it. */
const char *who_mark(struct source *s, uint64_t seq, struct arena *a);

#endif
