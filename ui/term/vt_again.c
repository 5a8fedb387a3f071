/* A terminal's state as the sequences that make it. The terminal that they make is compared with the
 * old one before it replaces it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/utf8.h"
#include "base/text/width.h"
#include "ui/term/vt_state.h"

enum { TAB = 8, WIDE_FIRST = 0x4e00 };

#define WIDE "\xe4\xb8\x80" /* a character of two columns */

/* --- writing ---------------------------------------------------------------------------------- */

struct writing {
	struct buf *out;
	const struct vt_state *s;
	VTermScreenCell style;	/* selected now */
	VTermScreenCell normal; /* that of a new terminal */
	int row, col;		/* of the cursor; col < 0: unknown */
};

static void write_style(struct writing *w, const VTermScreenCell *c)
{
	if (style_equal(&w->style, c))
		return;
	vt_put_style(c, w->out);
	if (c->attrs.font)
		buf_printf(w->out, "\x1b[%dm", 10 + c->attrs.font);
	w->style = *c;
}

static void write_place(struct writing *w, int row, int col)
{
	if (w->row != row || w->col != col)
		buf_printf(w->out, "\x1b[%d;%dH", row + 1, col + 1);
	w->row = row;
	w->col = col;
}

static void write_erased(struct writing *w, int row, int col, int nr, const VTermScreenCell *c)
{
	write_place(w, row, col);
	write_style(w, c);
	buf_printf(w->out, "\x1b[%dX", nr);
}

static void write_chars(struct writing *w, const VTermScreenCell *c)
{
	char bytes[VTERM_MAX_CHARS_PER_CELL * 4];
	size_t n = 0;
	for (size_t i = 0; i < VTERM_MAX_CHARS_PER_CELL && c->chars[i]; i++)
		n += utf8_put(c->chars[i], bytes + n);
	buf_append(w->out, bytes, n);
	w->col = n == 1 && w->col < w->s->cols - 1 ? w->col + 1 : -1;
}

static bool is_half(const struct vt_state *s, const VTermScreenCell *row, int col)
{
	return col < s->cols && row[col].chars[0] == (uint32_t)VT_HALF;
}

/* What later characters of the row would destroy, and what only destruction leaves. */
static void write_halves(struct writing *w, int r, const VTermScreenCell *row)
{
	int last = w->s->cols - 1;
	if (is_half(w->s, row, 0)) {
		write_place(w, r, 0);
		buf_puts(w->out, WIDE);
		w->col = -1;
		write_place(w, r, 0);
		buf_puts(w->out, "\x1b[P");
	}
	if (row[last].chars[0] >= WIDE_FIRST / 4 && row[last].chars[0] < UINT32_MAX &&
	    text_width(row[last].chars[0]) == 2) { /* the terminal has become narrower */
		write_place(w, r, last - 1);
		write_style(w, &row[last]);
		write_chars(w, &row[last]);
		write_place(w, r, last - 1);
		buf_puts(w->out, "\x1b[@");
	}
	for (int c = 1; c <= last; c++)
		if (is_half(w->s, row, c) && !style_equal(&row[c], &w->normal))
			write_erased(w, r, c, 1, &row[c]);
}

static int erased_run(const struct writing *w, const VTermScreenCell *row, int c)
{
	int n = 1;
	while (c + n < w->s->cols && !row[c + n].chars[0] && style_equal(&row[c + n], &row[c]))
		n++;
	return n > 1 && is_half(w->s, row, c + n) ? n - 1 : n;
}

static void write_glyph(struct writing *w, int r, const VTermScreenCell *row, int c)
{
	bool wide = row[c].chars[0] >= 0x80 && text_width(row[c].chars[0]) == 2;
	bool half = is_half(w->s, row, c + 1);
	if (wide && c == w->s->cols - 1)
		return; /* written with the halves */
	write_place(w, r, c);
	write_style(w, &row[c]);
	if (half && !wide) {
		buf_puts(w->out, WIDE);
		w->col = -1;
		write_place(w, r, c);
	}
	write_chars(w, &row[c]);
	if (wide && !half && c + 1 < w->s->cols && !row[c + 1].chars[0])
		write_erased(w, r, c + 1, 1, &row[c + 1]);
}

static void write_row(struct writing *w, int r, const VTermScreenCell *row)
{
	write_halves(w, r, row);
	for (int c = 0, n; c < w->s->cols; c += n) {
		n = 1;
		if (row[c].chars[0] == (uint32_t)VT_HALF)
			continue;
		if (row[c].chars[0]) {
			write_glyph(w, r, row, c);
			continue;
		}
		n = erased_run(w, row, c);
		if (n == 1 && is_half(w->s, row, c + 1)) {
			write_place(w, r, c);
			write_style(w, &row[c]);
			buf_puts(w->out, WIDE);
			w->col = -1;
		} else if (style_equal(&row[c], &w->normal)) {
			continue;
		}
		write_erased(w, r, c, n, &row[c]);
	}
}

static void write_screen(struct writing *w, const struct page *p)
{
	for (int r = 0; r < w->s->rows; r++) {
		const VTermLineInfo *l = &p->line[r];
		if (l->doublewidth || l->doubleheight) {
			write_place(w, r, 0);
			buf_printf(w->out, "\x1b#%c",
				   l->doubleheight == 1	  ? '3'
				   : l->doubleheight == 2 ? '4'
							  : '6');
		}
		write_row(w, r, p->row[r]);
	}
	write_style(w, &w->normal);
}

static void write_modes(struct writing *w, const struct modes *m)
{
	modes_repeat(m, false, w->out);
	buf_puts(w->out, "\x1b[?6l\x1b[r\x1b[?7h");
	w->col = -1;
}

static void write_saved(struct writing *w)
{
	static const VTermScreenCell never = { .width = 0 };
	if (!w->s->saved.row && !w->s->saved.col && !w->s->saved_cursor &&
	    style_equal(&w->s->saved_pen, &never))
		return; /* as in a new terminal */
	w->col = -1;
	write_place(w, w->s->saved.row, w->s->saved.col);
	write_style(w, &w->s->saved_pen);
	buf_printf(w->out,
		   "\x1b[?25%c\x1b"
		   "7",
		   w->s->saved_cursor ? 'h' : 'l');
	write_style(w, &w->normal);
}

static void write_tabs(struct writing *w)
{
	bool own = false;
	for (int c = 1; c < w->s->cols - 1; c++)
		own = own || w->s->tab[c] != (c % TAB == 0);
	if (!own)
		return;
	buf_puts(w->out, "\x1b[3g");
	for (int c = 0; c < w->s->cols; c++)
		if (c == w->s->cols - 1 ? c % TAB == 0 : w->s->tab[c]) {
			write_place(w, 0, c);
			buf_puts(w->out, "\x1bH");
		}
}

static bool is_erased(const struct page *p, int r, int c, int nr)
{
	return !p->row[r][c].chars[0] &&
	       (nr < 2 ||
		(!p->row[r][c + 1].chars[0] && style_equal(&p->row[r][c], &p->row[r][c + 1])));
}

/* The character that REP repeats is the one that was written last: writes it where it is, or
 * where there is none. */
static void write_last(struct writing *w, const struct vt *v)
{
	const struct page *p = w->s->page[w->s->alternate];
	VTermScreenCell last = { .width = 1 };
	size_t used;
	if (!v->nr_last || utf8_next(v->last, v->nr_last, last.chars, &used) != UTF8_OK)
		return;
	int nr = text_width(last.chars[0]);
	for (int r = w->s->rows - 1; r >= 0; r--)
		for (int c = w->s->cols - 3; c >= 0 && !p->line[r].doublewidth; c--) {
			const VTermScreenCell *cell = &p->row[r][c];
			bool same = cell->chars[0] == last.chars[0] && !cell->chars[1] &&
				    cell->width == nr;
			if (same) {
				write_glyph(w, r, p->row[r], c);
				return;
			}
			if (!is_erased(p, r, c, nr))
				continue;
			write_place(w, r, c);
			write_chars(w, &last);
			w->col = -1;
			write_erased(w, r, c, nr, cell);
			return;
		}
}

static void write_margins(struct writing *w)
{
	const struct vt_state *s = w->s;
	if (s->top != 1 || s->bottom != s->rows)
		buf_printf(w->out, "\x1b[%d;%dr", s->top, s->bottom);
	buf_puts(w->out, s->origin ? "\x1b[?6h" : "\x1b[1;1H");
	w->col = -1;
}

static void write_cursor(struct writing *w)
{
	const struct vt_state *s = w->s;
	const VTermScreenCell *row = s->page[s->alternate]->row[s->at.row];
	int up = s->origin ? s->top - 1 : 0;
	bool half = s->pending && s->at.col && is_half(s, row, s->at.col);
	int col = s->at.col - half;
	buf_printf(w->out, "\x1b[%d;%dH", s->at.row - up + 1, col + 1);
	if (!s->pending)
		return;
	VTermScreenCell x = row[col];
	bool erased = !x.chars[0] || x.chars[0] == (uint32_t)VT_HALF;
	x.chars[0] = erased ? 'x' : x.chars[0];
	write_style(w, &x);
	w->col = col;
	write_chars(w, &x);
	if (erased)
		buf_puts(w->out, "\x1b[X");
}

static void write_rest(struct writing *w, int shift)
{
	static const char *const choose[VT_SETS] = { "", "\x0e", "\x1bn", "\x1bo" };
	const struct vt_state *s = w->s;
	buf_printf(w->out, "%s%s\x1b[?7%c\x1b[?25%c\x1b[?5%c", s->insert ? "\x1b[4h" : "",
		   s->new_line ? "\x1b[20h" : "", s->wrap ? 'h' : 'l', s->cursor ? 'h' : 'l',
		   s->reverse ? 'h' : 'l');
	for (int i = 0; i < VT_SETS; i++)
		if (s->set[i] != 'u')
			buf_printf(w->out, "\x1b%c%c", "()*+"[i], s -> set[i]);
	write_style(w, &s->pen);
	buf_puts(w->out, choose[shift]);
}

/* --- comparing -------------------------------------------------------------------------------- */

static bool cell_equal(const VTermScreenCell *a, const VTermScreenCell *b)
{
	for (int i = 0; i < VTERM_MAX_CHARS_PER_CELL; i++) {
		if (a->chars[i] != b->chars[i])
			return false;
		if (!a->chars[i])
			break;
	}
	return a->width == b->width && a->attrs.dwl == b->attrs.dwl && style_equal(a, b);
}

static bool page_equal(const struct vt_state *s, const struct page *p, const struct vt *v)
{
	for (int r = 0; r < s->rows; r++)
		for (int c = 0; c < s->cols; c++) {
			VTermScreenCell now = vt_cell(v, r, c);
			if (!cell_equal(&p->row[r][c], &now))
				return false;
		}
	return true;
}

static bool is_like(const struct vt_state *s, const struct vt *v)
{
	VTermPos at = vt_cursor(v);
	VTermScreenCell pen = vt_pen(v);
	return page_equal(s, s->page[s->alternate], v) && at.row == s->at.row &&
	       at.col == s->at.col && style_equal(&pen, &s->pen) &&
	       vt_mode(v, 1047) == s->alternate;
}

/* Which number a program has used for it can matter to its modes. */
static void write_alternate(struct writing *w, const struct modes *m)
{
	static const int number[] = { 47, 1047, 1049 };
	bool on = false;
	for (size_t i = 0; i < sizeof(number) / sizeof(*number); i++)
		if (modes_on(m, number[i], false)) {
			buf_printf(w->out, "\x1b[?%dh", number[i]);
			on = on || number[i] != 47;
		}
	if (on != w->s->alternate)
		buf_printf(w->out, "\x1b[?1047%c", w->s->alternate ? 'h' : 'l');
	w->col = -1;
}

static struct vt *vt_made(const struct vt *old, const struct vt_state *s, const struct modes *m,
			  struct buf *out)
{
	struct vt *v = vt_new(s->rows, s->cols, old->bare_lf);
	size_t before = out->len;
	struct writing w = { .out = out, .s = s, .col = -1 };
	w.normal = w.style = vt_pen(v);
	if (old->no_back)
		vt_forget_back(v);
	write_screen(&w, s->page[0]);
	vt_feed(v, out->data + before, out->len - before);
	bool good = page_equal(s, s->page[0], v);
	before = out->len;
	write_alternate(&w, m);
	if (s->alternate)
		write_screen(&w, s->page[1]);
	write_modes(&w, m);
	write_saved(&w);
	write_tabs(&w);
	write_last(&w, old);
	write_margins(&w);
	write_cursor(&w);
	write_rest(&w, old->shift);
	vt_feed(v, out->data + before, out->len - before);
	if (!good || !is_like(s, v))
		vt_free(&v);
	return v;
}

bool vt_again(struct vt **vp, const struct modes *m, struct buf *out)
{
	struct vt *old = *vp;
	struct vt_state *s = NEW(struct vt_state);
	size_t before = out->len;
	*vp = NULL;
	if (modes_quiet(m) && !old->nr_begun && !old->escape && !old->csi.at && !old->single &&
	    vt_state_read(s, old))
		*vp = vt_made(old, s, m, out);
	if (!*vp)
		out->len = before;
	vt_free(&old);
	vt_state_free(&s);
	return *vp != NULL;
}
