/* Repeat: a recorded command runs again, now, in a new box that begins with the files as they were
 * just before it, through the gate as a user's own action; then exit status, output and files are
 * held against the record.
 *
 * The record may be this session's own or another one. What a record does not hold (values of the
 * environment, standard input, contents kept by hash only) is named in redo.started. The new box
 * goes afterwards unless it is kept. */
#ifndef SUPERVISOR_TRIAL_REPEAT_H
#define SUPERVISOR_TRIAL_REPEAT_H

#include "supervisor/box/super_tree.h"

struct repeat_want {
	const char *from; /* session file; NULL = this session's */
	uint64_t action;
	bool keep, end; /* end: the session ends with it, successful if all was the same */
	/* the new box is of this driver; NULL = of the one that the first was of */
	const char *backend;
	bool now; /* on the files as they are now instead: only how it ends is compared */
};

/* Answers rq's ticket with the body of redo.ended. -1: @err, nothing begun. */
NODISCARD int repeat_begin(const struct tree_request *rq, const struct repeat_want *w,
			   struct err *err);
/* Is @action of this session a second run (of whatever session)? */
bool repeat_is_second_run(struct super *s, uint64_t action);
/* Applies the changes of the repeat @again to the sandbox of the first run, as an action of its
 * own; answers rq's ticket when that has ended. -1: @err, nothing started. */
NODISCARD int repeat_apply(const struct tree_request *rq, uint64_t again, struct err *err);
void repeats_free(struct super *s);

#endif
