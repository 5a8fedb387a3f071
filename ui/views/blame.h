/* The author of each line of a sandbox's file at an event of the recording: computed from one
 * version of the file to the next, in slices, so that keys are answered meanwhile. */
#ifndef UI_BLAME_H
#define UI_BLAME_H

#include "ui/rows/files.h"

/* Per line (from 0) an event: the action, or the snapshot where it is not known whose work it was;
 * 0 the base, or older than what the record holds. */
struct blame {
	uint64_t *by;
	size_t nr;
};

struct blaming;

enum { BLAME_SLICE_US = 3000 }; /* of one recalc */

/* Of @path as it is at @at (0: the cursor). Returns owned; @s must outlive it. */
struct blaming *blaming_new(struct source *s, uint64_t box, uint64_t at, const char *path);
/* Continues for about @budget_us, for one version at least. True: finished. */
bool blaming_step(struct blaming *b, int64_t budget_us);
bool blaming_over(const struct blaming *b); /* NULL is over */
int blaming_percent(const struct blaming *b);
/* Borrows; without lines until it is known. */
const struct blame *blaming_result(const struct blaming *b);
void blaming_free(struct blaming **b); /* NULL inside is fine */

#endif
