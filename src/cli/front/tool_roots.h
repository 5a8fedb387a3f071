/* Tools outside /usr (cargo, nvm, go, ...) that a user once gave to the boxes of a project with
 * --root: later sessions in the same project get them as well. A project is the nearest directory
 * upwards with a .git, else the current one. Kept in $XDG_STATE_HOME/sandglass/roots/, outside the
 * project: what a repository says of itself gives no box anything. */
#ifndef CLI_FRONT_TOOL_ROOTS_H
#define CLI_FRONT_TOOL_ROOTS_H

#include "cli/lib/cmd.h"

/* @roots: those of the command line, absolute afterwards; they are remembered. None: those that are
 * remembered are added and named on ctx->err. "none" alone forgets them. ERR_USAGE: a root that is
 * no directory. */
NODISCARD int tool_roots_remember(struct cmd_ctx *ctx, json_t *roots, struct err *err);
/* Of the project here; empty when nothing is remembered. Returns owned. */
json_t *tool_roots_here(void);

#endif
