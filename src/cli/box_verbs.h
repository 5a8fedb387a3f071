/* sandbox cp, snapshot, rm: a user's hand on a box of a session that runs. */
#ifndef CLI_BOX_VERBS_H
#define CLI_BOX_VERBS_H

#include "cli/lib/cmd.h"

/* The words after the verb are as many as its usage says. Exit status. */
int box_cp(struct cmd_ctx *ctx);
int box_snapshot(struct cmd_ctx *ctx);
int box_rm(struct cmd_ctx *ctx);

#endif
