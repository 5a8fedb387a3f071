/* Which subjects can a session approval's pattern match? An index over many subjects, so that a
 * pattern is held only against those that begin as it does. A lookup gives a superset:
 * waiver_covers and waiver_touches decide. One thread. */
#ifndef ACTION_WAIVER_LOOKUP_H
#define ACTION_WAIVER_LOOKUP_H

#include "action/policy.h"

struct waiver_lookup;
struct waiver_lookup *waiver_lookup_new(void) NODISCARD;
void waiver_lookup_free(struct waiver_lookup **l);
/* @subject is known as @number from now on; it is not kept. Numbers ascend. */
void waiver_lookup_add(struct waiver_lookup *l, const struct policy_subject *subject,
		       uint32_t number);
/* The numbers that @w may match, ascending; borrowed until the next add. */
const uint32_t *waiver_lookup_find(const struct waiver_lookup *l, const struct waiver *w,
				   size_t *nr_out);

#endif
