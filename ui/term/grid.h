/* A screen as cells, and the only way to put something on it.
 *
 * Every text, ours or not, goes through the sanitizer (base/text/sanitize.h), so no view can let an
 * escape through. A wide glyph takes two cells and is never split: where half of it would be cut
 * off, a blank stands. Drawing happens in an area, a clipped part of the grid with its own origin;
 * what falls outside is dropped. A grid knows nothing of terminals: term.h shows it, term_dump.c
 * writes it down. */
#ifndef UI_GRID_H
#define UI_GRID_H

#include "base/mem.h"
#include "base/text/sanitize.h"
#include "ui/term/theme.h"

struct cell {
	char s[GLYPH_BYTES + 1];
	uint8_t len;
	uint8_t width; /* 0: the right half of the glyph before */
	uint8_t role;  /* enum role */
	uint8_t flags; /* GLYPH_BOLD, GLYPH_UNDERLINE, GLYPH_REVERSE; GRID_CURSOR */
	uint8_t fg;    /* 1 to 16: output's own color instead of the role's; 0 none */
};
enum { GRID_CURSOR = 1 << 7 }; /* the row that keys act on */

struct grid {
	struct cell *cell; /* rows * cols, row by row */
	int rows, cols;
	bool ascii;		    /* signs and text in ASCII only */
	int cursor_row, cursor_col; /* where a user types; -1 none */
};

struct area {
	struct grid *g;
	int row, col, rows, cols;
};

void grid_init(struct grid *g, int rows, int cols, bool ascii);
void grid_release(struct grid *g);
void grid_resize(struct grid *g, int rows, int cols); /* clears */
void grid_clear(struct grid *g);

struct area area_all(struct grid *g);
struct area area_sub(struct area a, int row, int col, int rows, int cols); /* clipped to @a */

/* Cells of a text as it would be drawn (line ends count as one space). */
int text_cells(const char *s, bool ascii);
/* @s, or as much of it as fits into @cells with the sign for cut text. */
const char *text_short(struct arena *ar, const char *s, int cells);

/* All return the column after what they drew. A text that does not fit its width ends in ">". */
int grid_put(struct area a, int row, int col, enum role r, const char *text);
int grid_putf(struct area a, int row, int col, enum role r, const char *fmt, ...) PRINTF(5, 6);
int put_bytes(struct area a, int row, int col, int width, enum role r, const void *bytes,
	      size_t len, unsigned flags);
/* In a field of @width cells, the rest of which stays blank; returns the column after the field. */
int put_field(struct area a, int row, int col, int width, enum role r, const char *text);
/* ends at col + width */
int put_right(struct area a, int row, int col, int width, enum role r, const char *text);
int put_sign(struct area a, int row, int col, enum role r, enum sign s);
/* One vetted glyph; false if it does not fit. */
bool put_glyph(struct area a, int row, int *col, enum role r, const struct glyph *g);

/* A rule across the area with a title set into it on the left and a note on the right; either may
 * be NULL. */
void put_rule(struct area a, int row, const char *title, enum role r, const char *note);
void put_vline(struct area a, int row, int col, int rows);
/* A bar of @width cells, @done of @total. */
int put_bar(struct area a, int row, int col, int width, enum role r, int64_t done, int64_t total);
/* "[::   ]": time that is gone, which says nothing of work that is done. */
int put_time_bar(struct area a, int row, int col, int width, int64_t done, int64_t total);
void put_cursor_row(struct area a, int row);

#endif
