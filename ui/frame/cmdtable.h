/* The commands of the registry as the console knows them: made from the same table as the command
 * line's (commands.def of every directory). */
#ifndef UI_FRAME_CMDTABLE_H
#define UI_FRAME_CMDTABLE_H

#include "base/json.h"

struct cmd_row {
	const char *name, *usage, *options, *summary;
	bool supervisor; /* sent to the session; else done by the program in another terminal */
	bool hidden;
	bool looks; /* changes nothing */
};
size_t cmd_count(void);
const struct cmd_row *cmd_at(size_t i);
const struct cmd_row *cmd_find(const char *name); /* NULL */

/* Takes a typed line apart as a shell would (quotes, \), options by the command's table. ERR_USAGE,
 * one line. */
struct cmd_line {
	struct strv words; /* the name first */
	json_t *opts;	   /* owned; released if a send does not take it */
};
NODISCARD int cmd_parse(struct cmd_line *out, const char *text, struct err *err);
void cmd_line_release(struct cmd_line *l);

#endif
