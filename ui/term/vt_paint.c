/* The screen of an emulated terminal onto another one, and as text. Part of ui/term/vt.h. */
#include <string.h>

#include "ui/term/vt_priv.h"

static void put_color(const VTermColor *c, bool back, struct buf *out)
{
	if (back ? VTERM_COLOR_IS_DEFAULT_BG(c) : VTERM_COLOR_IS_DEFAULT_FG(c))
		return;
	if (VTERM_COLOR_IS_INDEXED(c))
		buf_printf(out, ";%d;5;%d", back ? 48 : 38, c->indexed.idx);
	else
		buf_printf(out, ";%d;2;%d;%d;%d", back ? 48 : 38, c->rgb.red, c->rgb.green,
			   c->rgb.blue);
}

void vt_put_style(const VTermScreenCell *c, struct buf *out)
{
	buf_puts(out, "\x1b[0");
	if (c->attrs.bold)
		buf_puts(out, ";1");
	if (c->attrs.italic)
		buf_puts(out, ";3");
	if (c->attrs.underline)
		buf_printf(out, ";4%s",
			   c->attrs.underline == 2   ? ":2"
			   : c->attrs.underline == 3 ? ":3"
						     : "");
	if (c->attrs.blink)
		buf_puts(out, ";5");
	if (c->attrs.reverse)
		buf_puts(out, ";7");
	if (c->attrs.strike)
		buf_puts(out, ";9");
	put_color(&c->fg, false, out);
	put_color(&c->bg, true, out);
	buf_putc(out, 'm');
}

static bool same_style(const VTermScreenCell *a, const VTermScreenCell *b)
{
	CLEANUP(buf_release) struct buf x = BUF_INIT, y = BUF_INIT;
	vt_put_style(a, &x);
	vt_put_style(b, &y);
	return x.len == y.len && memcmp(x.data, y.data, x.len) == 0;
}

static bool plain_blank(const VTermScreenCell *c)
{
	return (!c->chars[0] || c->chars[0] == ' ') && VTERM_COLOR_IS_DEFAULT_BG(&c->bg) &&
	       !c->attrs.reverse && !c->attrs.underline && !c->attrs.strike;
}

static int vt_read_row(const struct vt *v, int row, VTermScreenCell *cells)
{
	int rows, cols, end = 0;
	vterm_get_size(v->vterm, &rows, &cols);
	for (int c = 0; c < cols; c++) {
		if (!vterm_screen_get_cell(v->screen, (VTermPos){ .row = row, .col = c },
					   &cells[c]))
			cells[c] = (VTermScreenCell){ .width = 1 };
		if (!plain_blank(&cells[c]))
			end = c + (cells[c].width > 1 ? 2 : 1);
	}
	return end < cols ? end : cols;
}

static void vt_paint_row(const struct vt *v, int row, struct buf *out)
{
	VTermScreenCell cells[VT_COLS_MAX], last = { .width = 0 };
	int end = vt_read_row(v, row, cells);
	buf_printf(out, "\x1b[%d;1H\x1b[0m\x1b[2K", row + 1);
	for (int c = 0; c<end; c += cells[c].width> 1 ? 2 : 1) {
		struct glyph g = glyph_of(v, &cells[c]);
		if (!last.width || !same_style(&last, &cells[c]))
			vt_put_style(&cells[c], out);
		last = cells[c];
		buf_append(out, g.s, g.len);
	}
}

void vt_paint(const struct vt *v, struct buf *out)
{
	VTermPos at;
	int rows, cols;
	vterm_get_size(v->vterm, &rows, &cols);
	for (int r = 0; r < rows; r++)
		vt_paint_row(v, r, out);
	vterm_state_get_cursorpos(vterm_obtain_state(v->vterm), &at);
	buf_printf(out, "\x1b[0m\x1b[%d;%dH", at.row + 1, at.col + 1);
}

void vt_rows(const struct vt *v, struct buf *out)
{
	VTermScreenCell cells[VT_COLS_MAX];
	int rows, cols;
	vterm_get_size(v->vterm, &rows, &cols);
	for (int r = 0; r < rows; r++) {
		int end = vt_read_row(v, r, cells);
		for (int c = 0; c<end; c += cells[c].width> 1 ? 2 : 1) {
			struct glyph g = glyph_of(v, &cells[c]);
			buf_append(out, g.s, g.len);
		}
		buf_putc(out, '\n');
	}
}
