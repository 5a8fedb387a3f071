/* The changes of a sandbox's files: the newest snapshot at the cursor against the base below the
 * sandbox.
 *
 * A snapshot event names two git trees, the touched paths as they are ("tree") and the same
 * paths as in the base ("under"); their difference is the change. Lists are kept per snapshot in
 * the source, as a snapshot never changes. */
#ifndef UI_ROWS_CHANGES_H
#define UI_ROWS_CHANGES_H

#include "ui/term/grid.h"
#include "ui/model/source.h"
#include "ui/rows/textdiff.h"

struct change {
	char op;	  /* A, M, D, T (another kind), m (only the mode) */
	const char *path; /* bytes */
	uint32_t old_mode, new_mode;
	struct object_id old, new_;
	bool counted; /* added and removed are known */
	uint32_t added, removed;
	const char *note; /* "binary", "hash only", or NULL */
};

/* Files changed in @box since its start, by path. @out borrows from the source until the next
 * call. */
size_t changes_list(struct source *s, uint64_t box, struct change **out, struct arena *a);
/* The changes of @box's files between events @from and @to, wherever the cursor is. */
size_t changes_between(struct source *s, uint64_t box, uint64_t from, uint64_t to,
		       struct change **out);
/* The same for what a dry run did: @ended is the seq of its preview.ended. */
size_t changes_dry_run(struct source *s, uint64_t ended, struct change **out);
enum { CHANGE_READ_MAX = 4 << 20 };

/* Bytes of the larger side, if that is more than @max; else 0. */
int64_t change_larger(struct source *s, const struct change *c, int64_t max);
/* The lines of one change; out->binary if no lines can be shown (see note, and CHANGE_READ_MAX).
 * Texts live in @a. */
void change_diff(struct source *s, const struct change *c, int context, struct arena *a,
		 struct text_diff *out);

/* Old and new content as bytes, empty where there is none; false: the record does not have all of
 * what there is (hash only, redacted), or a side is more than 64 MB. */
bool change_contents(struct source *s, const struct change *c, struct buf *old, struct buf *new_);

const char *change_counts(const struct change *c, struct arena *a); /* "+31 -9" */
int change_put_counts(struct area a, int row, int col, const struct change *c, struct arena *arena);
/* "3 files +41 -9 since start" */
const char *changes_total(const struct change *c, size_t nr, struct arena *a);
/* "3 files +41 -9"; NULL for none */
const char *changes_sum(const struct change *c, size_t nr, struct arena *a);
#endif
