/* A policy file as the command line reads it: run in a Lua host without hands, checked. */
#ifndef CLI_LIB_POLICY_FILE_H
#define CLI_LIB_POLICY_FILE_H

#include "action/policy.h"
#include "cli/lib/cmd.h"

/* policy_file_machine is "firm" (action/policy.h rule 11). */
extern const char policy_file_machine[], policy_file_project[];

NODISCARD int policy_file_load(const char *path, struct policy **out, struct err *err);

/* policy past, policy mine (cmd_policy_past.c, cmd_policy_mine.c); words from the second on. */
int cmd_policy_past(struct cmd_ctx *ctx);
int cmd_policy_mine(struct cmd_ctx *ctx);

/* The isolation of an action's sandbox with this recorded isolation level (may be NULL). */
enum gate_wall policy_past_wall(const char *profile);

#endif
