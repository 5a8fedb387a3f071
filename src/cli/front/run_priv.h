/* Between run.c, run_interactive.c and resume.c. */
#ifndef CLI_FRONT_RUN_PRIV_H
#define CLI_FRONT_RUN_PRIV_H

#include "cli/front/front.h"

json_t *opt_list(const struct cmd_ctx *ctx, const char *name);
/* The policy files, breakpoint, and model of a session's options. */
NODISCARD int run_opts_check(const json_t *o, struct err *err);
/* -e TASK without --agent: the built-in agent needs a model. */
NODISCARD int front_run_names_model(const struct cmd_ctx *ctx, const json_t *o, struct err *err);
int inner_agent(struct cmd_ctx *ctx, const char *task, json_t *o, struct err *err);
int front_run_interactive(struct cmd_ctx *ctx, json_t *o, struct err *err);

/* --- run_opts.c --- */
char *name_of_script(const char *script_path);
int common_opts(struct cmd_ctx *ctx, json_t *o, struct err *err);
int cassette_opts(struct cmd_ctx *ctx, json_t *o, struct err *err);
int share_opts(struct cmd_ctx *ctx, json_t *o, struct err *err);

#endif
