/* Between the files of the review screen: its state (view_review.c), what it draws (review_paint.c), what is decided in it
 * (review_decide.c). */
#ifndef UI_REVIEW_INNER_H
#define UI_REVIEW_INNER_H

#include "ui/term/draw.h"
#include "ui/term/fmt.h"
#include "ui/ui.h"
#include "ui/views/pane.h"
#include "ui/views/parts.h"

enum { REVIEW_LEFT = 36, REVIEW_WIDE = 100, REVIEW_SIDE = 60 };

struct own_word { /* outlives a recalc: what was seen here, and pressed but is not in the record yet */
	struct object_id of; /* the new content, or the old one of what was removed */
	uint32_t hunk;
	bool seen;
	enum part_choice choice;
	uint64_t at; /* what was pressed counts over words up to this seq; 0 nothing was */
};

struct review {
	size_t source;
	uint64_t agent, action;
	size_t at; /* the part that is looked at */
	int64_t top;
	struct own_word *own;
	size_t nr_own, cap_own;
	bool side, no_blanks;
	/* made by recalc */
	const char *box;
	uint64_t box_id;
	struct change *change;
	const char **flag;   /* of each change; NULL none */
	size_t nr;
	struct part *part;
	size_t nr_parts, take, leave, unseen, open;
	uint64_t waits;      /* a script's merge that waits for the review; 0 none */
	const char *wanted, *intent; /* what it wants, its hash */
	struct text text;
	struct text_diff side_lines;
	size_t text_top;
	int rows;
	struct arena *arena;
};

struct own_word *review_own(struct review *v, const struct part *p);
enum part_choice review_choice(struct review *v, const struct part *p);
/* "[x]" taken, "[ ]" left, "[?]" nobody has decided; files with hunks: "[-]" mixed. */
const char *review_mark(struct review *v, size_t i);
void review_side(struct review *v); /* old and new beside each other, as rows of v->text */
void review_paint(const void *self, const struct ui *ui, struct area a);
bool review_key(void *self, struct ui *ui, uint32_t key);

#endif
