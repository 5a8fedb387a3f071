/* Which sandboxes of a session a merge is about. */
#ifndef SESSIONS_MERGE_CHOOSE_H
#define SESSIONS_MERGE_CHOOSE_H

#include "sessions/unmerged.h"

/* @names empty: the only one with unmerged work, or every one if @all. @again: also those of which
 * all is merged. Fills @out (room for u->nr), in the order of @names, and *nr_out. */
NODISCARD int merge_choose(const struct unmerged *u, const char *session, const struct strv *names,
			   bool all, bool again, const struct unmerged_box **out, size_t *nr_out,
			   struct err *err);

#endif
