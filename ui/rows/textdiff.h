/* The difference of two texts by lines (Myers' greedy algorithm), as the hunks that users read.
 * Pure. */
#ifndef UI_ROWS_TEXTDIFF_H
#define UI_ROWS_TEXTDIFF_H

#include "base/mem.h"

struct diff_line {
	/* ' ', '+', '-'; '@' a heading "@@ -40,7 +40,7 @@"; '\\' no line end at the end of a
	 * file */
	char op;
	/* borrows from the texts (headings: the arena); no line end; any bytes */
	const char *text;
	size_t len;
	uint32_t old_no, new_no; /* line numbers from 1; 0 not there */
};

struct text_diff {
	struct diff_line *line;
	size_t nr;
	uint32_t added, removed, hunks;
	bool binary; /* a NUL in either: no lines */
};

/* @context: equal lines kept round each change. Past 2,000 differences in a run the rest of it
 * counts as replaced. */
void diff_texts(const void *old, size_t old_len, const void *new_, size_t new_len, int context,
		struct arena *a, struct text_diff *out);

#endif
