/* A screen: one file, one row in views.def.
 *
 * recalc may read (model, session) and keeps what it found in the view's own state, in the arena
 * that it is given (which lives until the next recalc); paint may only draw. So one draw per loop
 * turn is enough and a paint can be repeated. A new view = a file with a struct view_ops and a row
 * in the table. */
#ifndef UI_FRAME_VIEW_H
#define UI_FRAME_VIEW_H

#include "base/mem.h"
#include "ui/frame/keymap.h"

struct ui;
struct rows;
struct text;

/* What a view is opened on. */
struct subject {
	size_t source;	 /* index */
	uint64_t agent;	 /* 0 none */
	uint64_t action; /* 0 none */
	/* for the diff: between these two events; 0 from the base, to the cursor */
	uint64_t since, until;
};

/* What search, marks and jumps work on in a view. */
struct looked {
	enum { LOOK_NOTHING, LOOK_ROWS, LOOK_TEXT, LOOK_LINES } what;
	size_t source;
	const struct rows *rows; /* LOOK_ROWS: at is a seq */
	const struct text *text; /* LOOK_TEXT: at is the row on top */
	size_t nr;		 /* LOOK_LINES: at is an index */
	const char *(*line)(const void *self, const struct ui *ui, size_t i, struct arena *a);
	uint64_t at;
	bool gutters; /* LOOK_TEXT: copied lines include them */
	/* Which lines are seen, and where on the body: @first (an index of rows, of text) stands at
	 * @row. rows 0: none that could be chosen one by one. */
	struct {
		size_t first;
		int row, col, rows, cols;
	} seen;
};

enum click { CLICK_NONE, CLICK_SELECTED, CLICK_AGAIN, CLICK_GRABBED };

struct view_ops {
	const char *name;
	unsigned where; /* IN_*: which keys */
	size_t size;	/* of its state, zeroed when opened */
	void (*open)(void *self, struct ui *ui, const struct subject *on); /* may be NULL */
	void (*close)(void *self);					   /* may be NULL */
	/* May be NULL: true when what would be opened is what it does already: opened again on top,
	 * it stays as it is. */
	bool (*stays)(const void *self, const struct ui *ui, const struct subject *on);
	void (*recalc)(void *self, struct ui *ui, struct arena *a, int rows, int cols);
	void (*paint)(const void *self, const struct ui *ui, struct area a);
	/* True if the verb was for this view. */
	bool (*verb)(void *self, struct ui *ui, enum verb v);
	/* May be NULL: a key before the key map sees it; true if taken. */
	bool (*key)(void *self, struct ui *ui, uint32_t key);
	/* May be NULL: what "key" takes, for the help: "h l", "along the time", .. NULL at the
	 * end. */
	const char *const *own;
	/* What verbs are about now. */
	void (*subject)(const void *self, const struct ui *ui, struct subject *out);
	/* May be NULL: true if nothing is left to do here, and the view closes. */
	bool (*finished)(const void *self, const struct ui *ui);
	/* May be NULL: why a verb does nothing here now; NULL it does. */
	const char *(*off)(const void *self, const struct ui *ui, enum verb v);
	/* May be NULL: hints ("Esc back") in the place of those of the key table, NULL at their
	 * end; NULL the table's. */
	const char *const *(*hints)(const void *self, const struct ui *ui);
	/* May be NULL: what the pane holds, whole, as sanitized text: for the clipboard, the pager,
	 * a file. */
	void (*text)(const void *self, struct ui *ui, struct buf *out);
	/* May be NULL: the mouse at a cell of the body. CLICK_AGAIN: the clicked row was
	 * selected already (it is opened); CLICK_GRABBED: drag follows until the button is
	 * released. */
	enum click (*click)(void *self, struct ui *ui, int row, int col);
	void (*drag)(void *self, struct ui *ui, int row, int col);
	/* May be NULL: the wheel turns over a cell: true if the pane there took @v (up or down),
	 * whichever has the keys. */
	bool (*wheel)(void *self, struct ui *ui, int row, int col, enum verb v);
	/* May be NULL: the searchable text, and going to a place in it (as at above). */
	void (*look)(const void *self, const struct ui *ui, struct looked *out);
	void (*go)(void *self, struct ui *ui, uint64_t to);
};

struct view {
	const struct view_ops *ops;
	void *self;
	struct arena arena;
};

size_t view_count(void);
const struct view_ops *view_at(size_t i);
const struct view_ops *view_find(const char *name); /* NULL */

#endif
