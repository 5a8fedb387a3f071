/* What the files of the finder share. */
#ifndef UI_FRAME_FINDER_PRIV_H
#define UI_FRAME_FINDER_PRIV_H

#include "ui/frame/finder.h"
#include "ui/model/pick.h"
#include "ui/frame/own_marks.h"
#include "ui/frame/prompt.h"

enum { FINDER_VIEWS = 32, FINDER_SOURCES = 64, FINDER_CHOICES = 24 };

struct view_filter {
	char *text;
	struct pick *pick[FINDER_SOURCES];
	bool busy[FINDER_SOURCES]; /* there are events that have not been asked */
};

struct mark { /* a place to go back to */
	size_t source;
	uint64_t seq;
};

struct history {
	char *path;
	bool loaded;
	char **line; /* the kind's letter, then the text; oldest first */
	size_t nr, cap;
};

struct finder {
	struct view_filter filter[FINDER_VIEWS]; /* by the view's place in views.def */
	/* the filter line while it is typed */
	struct pick *draft[FINDER_SOURCES];
	struct err wrong;
	size_t wrong_column; /* from 1; 0 = nothing is wrong */
	bool show_sql;
	/* what the view on top lets through of its list, counted in its recalc */
	size_t shown, of;
	/* completion: candidates for the word that begins at from */
	char *choice[FINDER_CHOICES];
	const char *choice_doc;
	size_t nr_choices, choice_at, choice_from;
	bool choosing;
	/* search */
	char *needle;
	bool needle_case;
	/* prefix */
	uint32_t prefix;
	int64_t prefix_us;
	struct mark back;
	char *marks_folder; /* NULL: own marks are not kept */
	struct own_marks own[FINDER_SOURCES];
	struct history history;
	struct saved_filters saved;
	bool saved_loaded;
};

size_t view_index(const struct view_ops *ops);
void choices_clear(struct finder *f);
void choice_add(struct finder *f, const char *text); /* once each; sorted by the caller's order */
/* Tab: first what all candidates share, then one after the other. @quote is put after a lone
 * one. */
void choice_tab(struct ui *ui, const char *after);
void choices_paint(const struct finder *f, struct area a, int row);
/* A row of @s as one text, for searching it. */
const char *row_words(struct source *s, const struct row *r, struct arena *a);

/* --- filterline.c --- */
void filterline_drop(struct pick **pick);
void filterline_changed(struct ui *ui);
bool filterline_key(struct ui *ui, uint32_t key);
void hint_saying(const struct ui *ui, struct area a, int row, const char *keys);
bool filterline_part(const struct ui *ui, size_t *from, size_t *len, enum role *role);

#endif
