/* The options that choose sessions: --since, --until, --agent, --model, --repo, and
 * --label. */
#ifndef CLI_CHOICE_OPTIONS_H
#define CLI_CHOICE_OPTIONS_H

#include "catalog/choice.h"

/* ERR_USAGE names the option. */
NODISCARD int session_choice_read(struct cmd_ctx *ctx, struct session_choice *out, struct err *err);
/* Leaves in @p the sessions that the options choose, for a command that asks nothing else of the
 * catalog. */
NODISCARD int past_choose(struct cmd_ctx *ctx, struct past *p, struct err *err);
/* The same for a command about files (struct session_choice). */
NODISCARD int past_choose_changed(struct cmd_ctx *ctx, struct past *p,
				  bool (*looks_at)(void *self, const char *path), void *self,
				  struct err *err);
bool choice_given(const struct cmd_ctx *ctx); /* one of the options */
/* Of a command with --at or --all: EXIT_DONE, or the status of the printed error. */
int choice_all_check(struct cmd_ctx *ctx);
/* After a command's answer: names damaged shards once, starts the builder if that is due, and
 * closes the catalog. @p: the sessions looked at. */
void choice_catalog_done(struct cmd_ctx *ctx, struct catalog **c, const struct past *p);
void choice_catalog_end(struct cmd_ctx *ctx, struct catalog **c, const struct session_files *files);

#endif
