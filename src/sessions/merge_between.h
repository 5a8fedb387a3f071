/* Different changes of several sandboxes to the same file: named before any of them is merged.
 * Of two sides of one file, those that merge cleanly by lines from a common base are "both"; all
 * others are conflicts. Any thread. */
#ifndef SESSIONS_MERGE_BETWEEN_H
#define SESSIONS_MERGE_BETWEEN_H

#include "sessions/box_merge.h"

struct between_side {
	size_t box;	  /* index of the sandbox */
	const char *path; /* full path on the host; borrows from the merge */
	const char *how;  /* "removed", "changed", "added", "a file", "a directory"; static */
};

struct between_item {
	const char *path; /* full path on the host */
	const char *name; /* the path as the merge reports it: below the repository */
	const char *why;  /* static; NULL: it merges by lines */
	struct between_side *side;
	size_t nr, cap;
};

struct between {
	struct between_item *item; /* in order of paths */
	size_t nr, cap;
	struct arena arena;
};

/* Compares @m (@nr of them, each planned and dry-run). */
NODISCARD int between_find(struct between *out, struct box_merge *m, size_t nr, struct err *err);
/* Takes the version of one sandbox: "SANDBOX:PATTERN" of --take. The other sides of the matching
 * items are added to decided of their merges, and the items leave the list. ERR_USAGE for a word
 * that names no sandbox, ERR_NOENT if nothing matches. */
NODISCARD int between_take(struct between *b, struct box_merge *m, size_t nr, const char *word,
			   struct err *err);
bool between_clean(const struct between *b);
/* Returns conflicts, or files that merge by lines:
 * [{"path","why","boxes":[{"box","name","path","how"}]}]. */
json_t *between_json(const struct between *b, const struct box_merge *m, bool conflicts);
/* " src/a.c (changed differently in a and b), ..." of between_json's list. */
void between_text(const json_t *list, struct buf *out);
void between_release(struct between *b);

#endif
