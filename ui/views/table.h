/* The table of ":sql": opened with a statement. Enter on a row with a column "id", "seq" or "event"
 * goes to that event. */
#ifndef UI_TABLE_H
#define UI_TABLE_H

#include "ui/frame/ui.h"

/* Runs it and shows what comes, or says on the message line why not. */
void table_open(struct ui *ui, size_t source, const char *statement);

#endif
