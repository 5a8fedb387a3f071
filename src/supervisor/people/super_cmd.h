/* Inside of the commands of super_cmd.c: one that is being carried out, and what super_decide.c,
 * super_shell.c, and super_cmd_box.c do. */
#ifndef SUPERVISOR_SUPER_CMD_H
#define SUPERVISOR_SUPER_CMD_H

#include "supervisor/core/core.h"

struct ask_for { /* one command that is being carried out */
	struct super *s;
	const struct control_request *rq;
	const struct command_line *line;
};

/* --- command_args.c: whom and what its words name --- */

/* Word @i of it, NULL past the last; borrows. */
const char *command_args_word(const struct ask_for *a, size_t i);
/* "405", "#405", "s-7k2m9q#405". */
NODISCARD int command_args_id(const char *text, uint64_t *out, struct err *err);
/* The agent that the first word names; 0: no argument, all agents. */
NODISCARD int command_args_agent(struct ask_for *a, uint64_t *out, struct err *err);
/* There is no @what called @name: says which agents there are, and which one was perhaps meant.
 * Returns -1. */
int command_args_nobody(const struct super *s, const char *what, const char *name, struct err *err);
/* The box of that name or number; 0: @name is NULL. */
NODISCARD int command_args_box(struct ask_for *a, const char *name, uint64_t *out, struct err *err);
/* The same, but without a name the only one that is open. */
NODISCARD int command_args_one_box(struct ask_for *a, const char *name, uint64_t *out,
				   struct err *err);

/* --- super_decide.c: as the rows of super_cmd.c --- */
int cmd_approve(struct ask_for *a, json_t *out, struct err *err);
int cmd_deny(struct ask_for *a, json_t *out, struct err *err);
int cmd_defer(struct ask_for *a, json_t *out, struct err *err);
int cmd_answer(struct ask_for *a, json_t *out, struct err *err);
int cmd_waivers(struct ask_for *a, json_t *out, struct err *err);

/* --- super_cmd_box.c: likewise --- */
int cmd_box_copy(struct ask_for *a, json_t *out, struct err *err);
int cmd_box_look(struct ask_for *a, json_t *out, struct err *err);
int cmd_box_snapshot(struct ask_for *a, json_t *out, struct err *err);
int cmd_merge(struct ask_for *a, json_t *out, struct err *err);
int cmd_review(struct ask_for *a, json_t *out, struct err *err);
int cmd_rollback(struct ask_for *a, json_t *out, struct err *err);
int cmd_undo(struct ask_for *a, json_t *out, struct err *err);
int cmd_dry_run(struct ask_for *a, json_t *out, struct err *err);
int cmd_apply(struct ask_for *a, json_t *out, struct err *err);
int cmd_repeat_here(struct ask_for *a, json_t *out, struct err *err);

/* --- super_shell.c: likewise; input also of other programs of a box --- */
int cmd_open_shell(struct ask_for *a, json_t *out, struct err *err);
int cmd_input(struct ask_for *a, json_t *out, struct err *err);
/* @client has left, so its shells are unreachable: pending ones are cancelled, running ones are
 * hung up. */
void shells_left(struct super *s, uint64_t client);

#endif
