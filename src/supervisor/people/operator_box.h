/* A user's own operations on a sandbox: copying a file in or out, and taking a snapshot. Each is
 * an action with a policy check. If approval is required, the command itself is the approval,
 * recorded as the user's decision. If a rule requires a typed confirmation, the action is
 * pending like any other. Loop thread only. */
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
/* The file at @path. The answer: {"kind"}, of a directory also "entries": [{name, kind, mode}]
 * (driver.h). It gives only names and is not an action; the command that asks for them is
 * recorded before the look. */
void operator_box_look(const struct ask_for *a, uint64_t box, const char *path);

#endif
