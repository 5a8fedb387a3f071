/* How far a command is that reads for long: one line on the terminal of @ctx->err, from the first
 * second on, a few times a second; nothing where that is no terminal, or with --quiet. What is
 * printed meanwhile calls progress_clear before. */
#ifndef CLI_LIB_PROGRESS_H
#define CLI_LIB_PROGRESS_H

#include "cli/lib/cmd.h"

struct working {
	struct cmd_ctx *ctx;
	int64_t since_us, shown_us; /* mono; 0: not yet */
	bool there;		    /* on the screen */
};

/* "@what: 34 % of 153438 @of". @what is shown sanitised. */
void progress_at(struct working *w, const char *what, uint64_t done, uint64_t all, const char *of);
void progress_clear(struct working *w);

#endif
