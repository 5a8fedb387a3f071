/* Adding a rule to the project's .sandglass/added.lua from a held action: recorded first, then
 * written, trusted, in force for this session, and only then the action is decided. Loop thread
 * only. */
#ifndef SUPERVISOR_PEOPLE_SUPER_ADDED_H
#define SUPERVISOR_PEOPLE_SUPER_ADDED_H

#include "action/added.h"
#include "supervisor/core/core.h"

/* What would be added: gate_rule's object and "name", "file", "line", "text". Changes nothing.
 * Returns owned or NULL.
 */
json_t *added_look(struct super *s, uint64_t action, enum verdict v, const char *pattern,
		   const char *why, struct err *err);
/* Adds it and carries out @d (DECIDE_APPROVE with VERDICT_ALLOW, a denial with VERDICT_DENY;
 * copied); answers @ticket later. -1: nothing was done. ERR_BUSY another one is being added,
 * ERR_INVALID the rule would not decide this action, ERR_DENIED the file is there and not
 * trusted. */
NODISCARD int added_begin(struct super *s, uint64_t ticket, const struct decide *d, enum verdict v,
			  const char *pattern, struct err *err);
void added_drop(struct super *s);

/* Reads --others ("406,407", "none") into the array @out. */
NODISCARD int added_others(const char *list, json_t *out, struct err *err);

#endif
