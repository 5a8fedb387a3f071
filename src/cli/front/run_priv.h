/* Between run.c, run_interactive.c and resume.c. */
#ifndef CLI_FRONT_RUN_PRIV_H
#define CLI_FRONT_RUN_PRIV_H

#include "cli/front/front.h"

json_t *opt_list(const struct cmd_ctx *ctx, const char *name);
int inner_agent(struct cmd_ctx *ctx, const char *task, json_t *o, struct err *err);
int front_run_interactive(struct cmd_ctx *ctx, json_t *o, struct err *err);

#endif
