/* Shared by view_tree.c and tree_paint.c: what the screen of a sandbox's files keeps. */
#ifndef UI_TREE_PRIV_H
#define UI_TREE_PRIV_H

#include "ui/frame/finder_priv.h"
#include "ui/term/text.h"
#include "ui/views/blame.h"
#include "ui/views/listed.h"
#include "ui/views/tree.h"

enum {
	WIDE_COLS = 100,
	LEFT_COLS = 44,
	TEXT_MAX = 2 << 20,
	WHO_ROWS = 4,
	WHO_COLS = 8,
	NUMBER_COLS = 6
};

/* The source of the text on the screen: the text is made again when one of these has changed. */
struct shown {
	struct object_id id, was;
	uint64_t at, box;
	int width;
	bool blame, diff, ascii, reading;
};

struct tree_view {
	size_t source;
	uint64_t agent, action, box; /* box 0: the subject's */
	char *dir, *file;	     /* "src/lex"; file: a name in it, "" none is open */
	bool blame, diff;
	uint64_t against; /* of the difference; 0 the base */
	struct listed l;
	int64_t top;
	/* made by recalc */
	struct files f;
	struct arena listing; /* of f, which is of: */
	uint64_t listed;      /* files_state */
	char *listed_dir;     /* NULL: it is of nothing */
	struct shown shown;
	struct arena kept; /* of text and blame */
	struct text text;
	struct blaming *whose; /* under way, or known; NULL nobody asks */
	struct blame by;       /* of whose */
	size_t *line;	       /* line of each row, from 1 */
	size_t text_top;
	int rows;
	const char *title, *note;
	struct arena *arena;
};

/* The file that is open, or the one under the cursor. */
const struct file_entry *tree_chosen(const struct tree_view *v);
void tree_paint(const void *self, const struct ui *ui, struct area a);

/* --- view_tree.c --- */
char *view_tree_joined(const char *dir, const char *name);
uint64_t view_tree_box_of(const struct tree_view *v, const struct model *m);
void number_rows(struct tree_view *v);

/* --- tree_text.c --- */
void keep_text(struct tree_view *v, struct ui *ui, struct source *s, int width);

#endif
