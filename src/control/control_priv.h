/* Shared by the two ways a command line comes in: typed words (parse.c) and JSON (line_json.c). */
#ifndef CONTROL_CONTROL_PRIV_H
#define CONTROL_CONTROL_PRIV_H

#include "control/registry.h"

/* command_parse without the check of how many operands there are. */
NODISCARD int command_parse_loose(struct command_line *out, char *const *argv, size_t nr,
				  struct err *err);
NODISCARD int command_check_words(const struct command_line *l, struct err *err);

#endif
