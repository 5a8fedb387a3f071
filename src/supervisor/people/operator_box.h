/* What a person does to a box from outside of it: copies a file in or out, takes a snapshot. Each
 * is an action of his own through the gate. Rules count for it; where the answer is to ask, his
 * command is the answer, recorded as his decision, unless a rule wants a word typed: then it waits
 * like any other. Loop thread only. */
#ifndef SUPERVISOR_PEOPLE_OPERATOR_BOX_H
#define SUPERVISOR_PEOPLE_OPERATOR_BOX_H

#include "supervisor/people/super_cmd.h"

/* @path of @box to or from @host, an absolute path of the host. The answer comes by the ticket:
 * {"action","bytes"}, or {"action","held":why}. */
void operator_box_copy(const struct ask_for *a, uint64_t box, bool put, const char *path,
		       const char *host);
/* @label NULL = none. The answer: {"action","snapshot"}. ERR_UNSUPPORTED when the box's driver
 * shows no files. */
NODISCARD int operator_box_snapshot(const struct ask_for *a, uint64_t box, const char *label,
				    struct err *err);
/* What is at @path. The answer: {"kind"}, of a directory also "entries": [{name, kind, mode}]
 * (driver.h). No action: names, which the command that asks for them is recorded with, and that
 * before anything is looked at. */
void operator_box_look(const struct ask_for *a, uint64_t box, const char *path);

#endif
