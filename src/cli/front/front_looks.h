/* The user's settings of the console: theme, keys, pager, bell; "--color", NO_COLOR. */
#ifndef CLI_FRONT_FRONT_LOOKS_H
#define CLI_FRONT_FRONT_LOOKS_H

#include "cli/lib/cmd.h"
#include "ui/console.h"

struct looks {
	char *theme, *pager;
	json_t *keys;
	bool quiet, no_hints;
	int arm_ms;
	bool no_next;
};

/* Fills @l and the fields of @o for themes and keys. An invalid file is reported on ctx->err and
 * ignored. */
void looks_open(struct looks *l, struct cmd_ctx *ctx, struct console_opts *o);
void looks_release(struct looks *l);

#endif
