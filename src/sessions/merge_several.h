/* Sandboxes of one session merged in one step, from the recording. All are planned and compared
 * first: on a conflict, with a target or between two of them, nothing is written. Then they are
 * merged one after the other, in MERGE_BRANCH onto one branch; if one fails, those before it are
 * taken back. Each has an event of its own; "group" of their bodies is the same. A step that was
 * killed before its events were committed is taken back first (merge_recover.h). Blocking: worker
 * thread, or a command of its own. */
#ifndef SESSIONS_MERGE_SEVERAL_H
#define SESSIONS_MERGE_SEVERAL_H

#include "sessions/merge_between.h"
#include "sessions/merge_intent.h"

struct merge_several {
	struct unmerged known;
	struct box_merge *merge;
	size_t nr;
	bool dry;
	char group[33];	     /* "" if there is only one */
	json_t *between;     /* conflicts between sandboxes, by between_json */
	json_t *both;	     /* files of several that merge by lines */
	json_t *recovered;   /* merge_recover: undone first */
	json_t *interrupted; /* of a dry run: merge_recover_boxes */
	struct merge_intent intent;
};

/* What a command says: "path", "hunks", "leave", "take" (a string or a list of strings each),
 * "apply", "commits", "patch", "to", "ignored", "dry-run", "all"; a script also "into" (a
 * directory) and "message"; @opts is borrowed. @names: of
 * sandboxes or their ids; none with "all": every sandbox with unmerged work, none without it: the
 * only one. The result is filled in any case; -1: nothing was merged. */
NODISCARD int merge_several_run(struct merge_several *m, struct session *s,
				const struct strv *names, const json_t *opts, struct err *err);
/* Has the merge of a sandbox failed, and couldn't be taken back? Then the intent must stay: the
 * next merge or undo takes it back. */
bool merge_several_half(const struct merge_several *m);
/* The events of @m and of the merges it recovered are committed. */
void merge_several_settled(struct merge_several *m);
/* {"group","clean","between","both","boxes":[{"box","name","event",..body}]}; @event: of each. */
json_t *merge_several_result(const struct merge_several *m, const uint64_t *event);
/* The same in words, a paragraph for each sandbox. */
void merge_several_text(const json_t *result, bool dry, struct buf *out);
void merge_several_release(struct merge_several *m);

#endif
