/* fork --model A,B: several models continue the same events and files at once, and their results
 * are compared. */
#ifndef CLI_FRONT_FORK_MODELS_H
#define CLI_FRONT_FORK_MODELS_H

#include "cli/lib/cmd.h"

/* @from, @seq: the session and the event that it is continued from. Returns the exit status: 0 if
 * one of them did well. */
int fork_models(struct cmd_ctx *ctx, const char *from, uint64_t seq);

/* apply SESSION: its files to the working files, if it did well or with --force. */
int fork_apply(struct cmd_ctx *ctx);

#endif
