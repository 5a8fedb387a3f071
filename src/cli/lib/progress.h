/* Progress of a long read: one line on the terminal of @ctx->err, after the first second and
 * then a few times a second. Prints nothing without a terminal or with --quiet. Other output
 * calls progress_clear first. */
#ifndef CLI_LIB_PROGRESS_H
#define CLI_LIB_PROGRESS_H

#include "cli/lib/cmd.h"

struct working {
	struct cmd_ctx *ctx;
	int64_t since_us, shown_us; /* mono; 0: not yet */
	bool there;		    /* on the screen */
};

/* "@what: 34 % of 153438 @of". @what is shown sanitized. */
void progress_at(struct working *w, const char *what, uint64_t done, uint64_t all, const char *of);
void progress_clear(struct working *w);

#endif
