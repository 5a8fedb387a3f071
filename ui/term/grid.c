#include "ui/term/grid.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static const struct cell grid_blank = { .s = " ", .len = 1, .width = 1, .role = ROLE_TEXT };

void grid_init(struct grid *g, int rows, int cols, bool ascii)
{
	*g = (struct grid){ .ascii = ascii };
	grid_resize(g, rows, cols);
}

void grid_release(struct grid *g)
{
	free(g->cell);
	*g = (struct grid){ 0 };
}

void grid_resize(struct grid *g, int rows, int cols)
{
	g->rows = rows < 1 ? 1 : rows;
	g->cols = cols < 1 ? 1 : cols;
	g->cell = mem_realloc(g->cell, (size_t)g->rows * (size_t)g->cols * sizeof(*g->cell));
	grid_clear(g);
}

void grid_clear(struct grid *g)
{
	for (size_t i = 0; i < (size_t)g->rows * (size_t)g->cols; i++)
		g->cell[i] = grid_blank;
	g->cursor_row = g->cursor_col = -1;
}

struct area area_all(struct grid *g)
{
	return (struct area){ g, 0, 0, g->rows, g->cols };
}

struct area area_sub(struct area a, int row, int col, int rows, int cols)
{
	if (row < 0) /* never before the area: that memory belongs to others */
		rows += row, row = 0;
	if (col < 0)
		cols += col, col = 0;
	struct area s = { a.g, a.row + row, a.col + col, rows, cols };
	if (row + rows > a.rows)
		s.rows = a.rows - row;
	if (col + cols > a.cols)
		s.cols = a.cols - col;
	s.rows = s.rows < 0 ? 0 : s.rows;
	s.cols = s.cols < 0 ? 0 : s.cols;
	return s;
}

static struct cell *cell_at(struct area a, int row, int col)
{
	if (row < 0 || col < 0 || row >= a.rows || col >= a.cols)
		return NULL;
	return &a.g->cell[(size_t)(a.row + row) * (size_t)a.g->cols + (size_t)(a.col + col)];
}

/* Overwriting one half of a wide glyph blanks the other. */
static void set_cell(struct area a, int row, int col, const struct cell *c)
{
	struct cell *at = cell_at(a, row, col);
	if (!at)
		return;
	if (at->width == 0 && a.col + col > 0)
		at[-1] = grid_blank;
	if (at->width == 2 && a.col + col + 1 < a.g->cols)
		at[1] = grid_blank;
	*at = *c;
}

static bool grid_is_ascii(const struct glyph *g)
{
	for (size_t i = 0; i < g->len; i++)
		if ((unsigned char)g->s[i] >= 0x80)
			return false;
	return true;
}

bool put_glyph(struct area a, int row, int *col, enum role r, const struct glyph *g)
{
	if (*col < 0 || row < 0 || row >= a.rows || *col + g->width > a.cols)
		return false;
	struct cell c = { .len = g->len, .width = g->width, .role = (uint8_t)r, .fg = g->fg };
	memcpy(c.s, g->s, sizeof(c.s));
	c.flags = g->flags & (GLYPH_BOLD | GLYPH_UNDERLINE | GLYPH_REVERSE);
	if (g->flags & GLYPH_ESCAPED)
		c.role = ROLE_HIDDEN;
	bool stand_in = a.g->ascii && !grid_is_ascii(g); /* sanitized for another screen */
	if (stand_in)
		c = (struct cell){ .s = "?", .len = 1, .width = 1, .role = c.role };
	if (g->width == 0)
		return true;
	set_cell(a, row, *col, &c);
	if (stand_in && g->width == 2) /* what follows keeps its column */
		set_cell(a, row, *col + 1, &grid_blank);
	struct cell *half = !stand_in && g->width == 2 ? cell_at(a, row, *col + 1) : NULL;
	if (half) {
		if (half->width == 2 && a.col + *col + 2 < a.g->cols)
			half[1] = grid_blank;
		*half = (struct cell){ .role = c.role, .flags = c.flags, .fg = c.fg };
	}
	*col += g->width;
	return true;
}

struct pen {
	struct area a;
	int row, col, start;
	enum role r;
	bool cut;
};

static bool draw_glyph(void *self, const struct glyph *g)
{
	struct pen *p = self;
	static const struct glyph space = { .s = " ", .len = 1, .width = 1 };
	if (g->flags & (GLYPH_NEWLINE | GLYPH_RETURN))
		g = &space;
	if (!put_glyph(p->a, p->row, &p->col, p->r, g))
		p->cut = true;
	return !p->cut;
}

/* The last cell of the field says that there is more. */
static void mark_cut(struct pen *p)
{
	int col = p->a.cols - 1;
	if (col < p->start || p->row < 0 || p->row >= p->a.rows)
		return;
	for (int i = p->col; i < col; i++)
		set_cell(p->a, p->row, i, &grid_blank);
	put_sign(p->a, p->row, col, ROLE_CUT, SIGN_CUT);
	p->col = p->a.cols;
}

int put_bytes(struct area a, int row, int col, int width, enum role r, const void *bytes,
	      size_t len, unsigned flags)
{
	if (col < 0 || col >= a.cols || width <= 0)
		return col;
	struct pen p = { .a = a, .row = row, .col = col, .start = col, .r = r };
	if (col + width < p.a.cols)
		p.a.cols = col + width;
	sanitize_for_screen(bytes, len, flags | (a.g->ascii ? SANITIZE_ASCII : 0u), draw_glyph, &p);
	if (p.cut)
		mark_cut(&p);
	return p.col;
}

int grid_put(struct area a, int row, int col, enum role r, const char *text)
{
	return put_bytes(a, row, col, a.cols - col, r, text, strlen(text), 0);
}

int grid_putf(struct area a, int row, int col, enum role r, const char *fmt, ...)
{
	char text[1024];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return grid_put(a, row, col, r, text);
}

int put_field(struct area a, int row, int col, int width, enum role r, const char *text)
{
	put_bytes(a, row, col, width, r, text, strlen(text), 0);
	return col + width;
}

static bool count_glyph(void *self, const struct glyph *g)
{
	*(int *)self += g->flags & (GLYPH_NEWLINE | GLYPH_RETURN) ? 1 : g->width;
	return true;
}

int text_cells(const char *s, bool ascii)
{
	int n = 0;
	sanitize_for_screen(s, strlen(s), ascii ? SANITIZE_ASCII : 0u, count_glyph, &n);
	return n;
}

struct shortened {
	struct buf text;
	int cells, room;
};

static bool grid_take_glyph(void *self, const struct glyph *g)
{
	struct shortened *t = self;
	if (t->cells + g->width > t->room)
		return false;
	buf_append(&t->text, g->s, g->len);
	t->cells += g->width;
	return true;
}

const char *text_short(struct arena *ar, const char *s, int cells)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	struct shortened t = { .room = cells - 1 };
	if (text_cells(s, false) <= cells)
		return s;
	sanitize_for_screen(s, strlen(s), 0, grid_take_glyph, &t);
	text = t.text;
	return arena_printf(ar, "%s%s", buf_cstr(&text), sign_text(SIGN_CUT, true));
}

int put_right(struct area a, int row, int col, int width, enum role r, const char *text)
{
	int n = text_cells(text, a.g->ascii);
	if (n > width)
		n = width;
	put_bytes(a, row, col + width - n, n, r, text, strlen(text), 0);
	return col + width;
}

int put_sign(struct area a, int row, int col, enum role r, enum sign s)
{
	const char *text = sign_text(s, a.g->ascii);
	struct cell c = { .len = (uint8_t)strlen(text), .width = 1, .role = (uint8_t)r };
	memcpy(c.s, text, c.len);
	if (cell_at(a, row, col))
		set_cell(a, row, col, &c);
	return col + 1;
}

void put_rule(struct area a, int row, const char *title, enum role r, const char *note)
{
	for (int col = 0; col < a.cols; col++)
		put_sign(a, row, col, ROLE_RULE, SIGN_HLINE);
	int end = 0;
	if (title && *title) {
		end = grid_put(area_sub(a, row, 3, 1, a.cols - 6), 0, 0, r, title) + 4;
		grid_put(a, row, 2, ROLE_RULE, " ");
		grid_put(a, row, end - 1, ROLE_RULE, " ");
	}
	int n = note && *note ? text_cells(note, a.g->ascii) : 0;
	if (n > 0 && end + n + 6 <= a.cols) {
		grid_put(a, row, a.cols - n - 4, ROLE_RULE, " ");
		grid_put(a, row, a.cols - n - 3, ROLE_DIM, note);
		grid_put(a, row, a.cols - 3, ROLE_RULE, " ");
	}
}

void put_vline(struct area a, int row, int col, int rows)
{
	for (int i = 0; i < rows; i++)
		put_sign(a, row + i, col, ROLE_RULE, SIGN_VLINE);
}

int put_bar(struct area a, int row, int col, int width, enum role r, int64_t done, int64_t total)
{
	if (total <= 0 || width < 1)
		return col;
	if (done > total)
		done = total;
	int full = done <= 0 ? 0 : (int)(done * width / total);
	for (int i = 0; i < width; i++)
		put_sign(a, row, col + i, i < full ? r : ROLE_RULE,
			 i < full ? SIGN_FULL : SIGN_EMPTY);
	return col + width;
}

int put_time_bar(struct area a, int row, int col, int width, int64_t done, int64_t total)
{
	if (total <= 0 || width < 3)
		return col;
	int room = width - 2, full = done >= total ? room
				     : done <= 0   ? 0
						   : (int)(done * room / total);
	grid_put(a, row, col, ROLE_RULE, "[");
	for (int i = 0; i < full; i++)
		grid_put(a, row, col + 1 + i, ROLE_DIM, ":");
	return grid_put(a, row, col + width - 1, ROLE_RULE, "]");
}

void put_cursor_row(struct area a, int row)
{
	for (int col = 0; col < a.cols; col++) {
		struct cell *c = cell_at(a, row, col);
		if (c)
			c->flags |= GRID_CURSOR;
	}
}
