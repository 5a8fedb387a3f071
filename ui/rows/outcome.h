/* How a session went, at the end of its replay. */
#ifndef UI_ROWS_OUTCOME_H
#define UI_ROWS_OUTCOME_H

#include "base/json.h"
#include "ui/model/model.h"

/* @claims: as ui/frame/claimed.h has them, NULL not known; @unmerged: files, -1 not known. */
struct outcome {
	const struct model *model;
	const json_t *claims;
	int64_t unmerged;
};
/* The claim is supported, or claims nothing. */
bool outcome_holds(const json_t *claim);
/* "ended, $0.41, 1 of 3 claims not supported, 12 files unmerged: sandglass merge s-7k2m9q" */
void outcome_short(const struct outcome *o, struct buf *out);
/* The same in a few lines, with each claim that does not hold. */
void outcome_long(const struct outcome *o, struct buf *out);

#endif
