/* Inside of the commands of super_cmd.c: one that is being carried out, and what super_decide.c does. */
#ifndef APP_SUPER_CMD_H
#define APP_SUPER_CMD_H

#include "app/super/super_inner.h"

struct ask_for { /* one command that is being carried out */
	struct super *s;
	const struct control_request *rq;
	const struct command_line *line;
};

/* Word @i of it, NULL past the last; borrows. */
const char *asked_word(const struct ask_for *a, size_t i);
/* "405", "#405", "s-7k2m9q#405". */
NODISCARD int asked_id(const char *text, uint64_t *out, struct err *err);

/* --- super_decide.c: as the rows of super_cmd.c --- */
int cmd_approve(struct ask_for *a, json_t *out, struct err *err);
int cmd_deny(struct ask_for *a, json_t *out, struct err *err);
int cmd_later(struct ask_for *a, json_t *out, struct err *err);
int cmd_answer(struct ask_for *a, json_t *out, struct err *err);
int cmd_waivers(struct ask_for *a, json_t *out, struct err *err);

#endif
