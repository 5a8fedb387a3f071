/* verify --repeat: commands that a session has recorded run again, each in a fresh box that begins
 * with the files as they were just before it (repeat.h), in a session of its own, and are held
 * against the record one by one:
 *     same | status differs | output differs | tree differs | missing: why (it could not be run, or
 *     not be compared)
 *     tree unknown: the files differ, but the record has the changes of several commands in one
 *     snapshot (a warning)
 * Nobody is asked: what a rule would ask for is not run. The recorded session is only read. */
#ifndef CLI_VERIFY_REPEAT_H
#define CLI_VERIFY_REPEAT_H

#include "check/report.h"
#include "cli/lib/cmd.h"
#include "record/read/session.h"

/* @which: "all", or how many, counted from the end. Fills @n_out; 0 = all. ERR_USAGE when it is
 * neither. */
NODISCARD int verify_repeat_which(const char *which, uint64_t *n_out, struct err *err);

/* The commands of @s from @from to @to (0 = the end) that can be run again, ascending. Fills @out
 * (owned). */
NODISCARD int verify_repeat_actions(struct session *s, uint64_t from, uint64_t to, uint64_t **out,
				    size_t *nr_out, struct err *err);

struct spawned; /* sessions/spawn.h */

/* Starts the session in which commands run again; its record names the origin. @alone: nobody is
 * asked. */
NODISCARD int verify_repeat_session(struct cmd_ctx *ctx, bool alone, struct spawned *sp,
				    struct err *err);

/* Adds items of group "redo" to @to and tells each at once. ERR_USAGE,
 * ERR_BUSY: the session still runs. */
typedef void verify_repeat_fn(void *self, const struct report_item *i);
NODISCARD int verify_repeat(struct cmd_ctx *ctx, struct session *s, const char *which,
			    struct report *to, verify_repeat_fn *tell, void *self, struct err *err);

#endif
