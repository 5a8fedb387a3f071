#include "ui/term/vt.h"

#include <stdlib.h>
#include <string.h>
#include <vterm.h>

#include "base/text/utf8.h"

struct line {
	struct glyph *glyph;
	int nr;
};

struct vt {
	VTerm *vterm;
	VTermScreen *screen;
	struct line back[VT_BACK_MAX]; /* a ring: the oldest at first */
	size_t first, nr;
	bool bare_lf;
	char begun[4]; /* of a character */
	size_t nr_begun;
	bool escape; /* an ESC waits for what follows it */
};

enum { CAN = 0x18, SUB = 0x1a, ESC = 0x1b, DEL = 0x7f };

/* --- cells to glyphs ---------------------------------------------------------------------------------------------- */

static bool one_glyph(void *self, const struct glyph *g)
{
	struct glyph *out = self;
	if (out->len > 0) { /* it would take more than one: a stand-in */
		*out = (struct glyph){ .s = "?", .len = 1, .width = 1, .flags = GLYPH_ESCAPED };
		return false;
	}
	*out = *g;
	return true;
}

/* The nearest of the 16, as terminals have them by default. */
static uint8_t nearest(int r, int g, int b)
{
	static const uint8_t rgb[16][3] = {
		{ 0, 0, 0 },     { 205, 0, 0 }, { 0, 205, 0 }, { 205, 205, 0 }, { 0, 0, 238 },    { 205, 0, 205 },
		{ 0, 205, 205 }, { 229, 229, 229 }, { 127, 127, 127 }, { 255, 0, 0 }, { 0, 255, 0 }, { 255, 255, 0 },
		{ 92, 92, 255 }, { 255, 0, 255 },   { 0, 255, 255 },   { 255, 255, 255 },
	};
	int best = 0, best_d = INT32_MAX;
	for (int i = 0; i < 16; i++) {
		int dr = rgb[i][0] - r, dg = rgb[i][1] - g, db = rgb[i][2] - b, d = dr * dr + dg * dg + db * db;
		if (d < best_d) {
			best_d = d;
			best = i;
		}
	}
	return (uint8_t)(best + 1);
}

/* 1 to 16, 0 = the default. */
static uint8_t colour(const struct vt *v, VTermColor c)
{
	if (VTERM_COLOR_IS_DEFAULT_FG(&c) || VTERM_COLOR_IS_DEFAULT_BG(&c))
		return 0;
	if (VTERM_COLOR_IS_INDEXED(&c) && c.indexed.idx < 16)
		return (uint8_t)(c.indexed.idx + 1);
	vterm_screen_convert_color_to_rgb(v->screen, &c);
	return nearest(c.rgb.red, c.rgb.green, c.rgb.blue);
}

static struct glyph glyph_of(const struct vt *v, const VTermScreenCell *c)
{
	struct glyph g = { 0 };
	char bytes[VTERM_MAX_CHARS_PER_CELL * 4];
	size_t n = 0;
	for (size_t i = 0; i < VTERM_MAX_CHARS_PER_CELL && c->chars[i] && c->chars[i] <= 0x10ffff; i++)
		n += utf8_put(c->chars[i], bytes + n);
	if (n > 0)
		sanitize(bytes, n, 0, one_glyph, &g);
	if (g.len == 0 || (g.flags & (GLYPH_NEWLINE | GLYPH_RETURN)))
		g = (struct glyph){ .s = " ", .len = 1, .width = 1 };
	if (g.width != c->width && (g.flags & GLYPH_ESCAPED) == 0 && g.width > c->width)
		g = (struct glyph){ .s = "?", .len = 1, .width = 1, .flags = GLYPH_ESCAPED };
	uint8_t back = colour(v, c->bg);
	g.fg = colour(v, c->fg);
	g.flags |= (uint8_t)((c->attrs.bold ? GLYPH_BOLD : 0) | (c->attrs.underline ? GLYPH_UNDERLINE : 0));
	if (c->attrs.reverse || back) {
		g.flags |= GLYPH_REVERSE;
		g.fg = back ? back : g.fg;
	}
	return g;
}

static bool is_blank(const struct glyph *g)
{
	return g->s[0] == ' ' && !(g->flags & (GLYPH_REVERSE | GLYPH_UNDERLINE));
}

/* Glyphs of a row without the blanks at its end; @cell gives column after column. */
static int row_glyphs(const struct vt *v, const VTermScreenCell *cells, int cols, struct glyph *out)
{
	int n = 0, end = 0;
	for (int col = 0; col < cols; col += cells[col].width > 1 ? 2 : 1) {
		out[n] = glyph_of(v, &cells[col]);
		if (!is_blank(&out[n++]))
			end = n;
	}
	return end;
}

/* --- what libvterm tells ------------------------------------------------------------------------------------------ */

static int push_line(int cols, const VTermScreenCell *cells, void *self)
{
	struct vt *v = self;
	struct glyph row[VT_COLS_MAX];
	int n = row_glyphs(v, cells, cols < VT_COLS_MAX ? cols : VT_COLS_MAX, row);
	size_t at = (v->first + v->nr) % VT_BACK_MAX;
	if (v->nr == VT_BACK_MAX) {
		free(v->back[at].glyph);
		v->first = (v->first + 1) % VT_BACK_MAX;
	} else {
		v->nr++;
	}
	v->back[at] = (struct line){ .nr = n };
	if (n > 0) {
		v->back[at].glyph = xcalloc((size_t)n, sizeof(*row));
		memcpy(v->back[at].glyph, row, (size_t)n * sizeof(*row));
	}
	return 1;
}

static const VTermScreenCallbacks callbacks = { .sb_pushline = push_line };

struct vt *vt_new(int rows, int cols, bool bare_lf)
{
	struct vt *v = NEW(struct vt);
	rows = rows < 1 ? 24 : rows > VT_ROWS_MAX ? VT_ROWS_MAX : rows;
	cols = cols < 1 ? 80 : cols > VT_COLS_MAX ? VT_COLS_MAX : cols;
	v->bare_lf = bare_lf;
	v->vterm = vterm_new(rows, cols);
	vterm_set_utf8(v->vterm, 1);
	v->screen = vterm_obtain_screen(v->vterm);
	vterm_screen_set_callbacks(v->screen, &callbacks, v);
	vterm_screen_enable_altscreen(v->screen, 1);
	vterm_screen_reset(v->screen, 1);
	return v;
}

void vt_free(struct vt **vp)
{
	struct vt *v = *vp;
	*vp = NULL;
	if (!v)
		return;
	for (size_t i = 0; i < VT_BACK_MAX; i++)
		free(v->back[i].glyph);
	vterm_free(v->vterm);
	free(v);
}

/* What the emulation would answer is for nobody. */
static void drop_answers(struct vt *v)
{
	char junk[512];
	while (vterm_output_read(v->vterm, junk, sizeof(junk)) > 0)
		;
}

/* How many bytes at the end of <p, len> are the beginning of a character that goes on. */
static size_t begun(const char *p, size_t len)
{
	for (size_t n = 1; n <= 3 && n <= len; n++) {
		unsigned char c = (unsigned char)p[len - n];
		if (c >= 0xc0)
			return n < (c >= 0xf0 ? 4U : c >= 0xe0 ? 3U : 2U) ? n : 0;
		if (c < 0x80)
			return 0;
	}
	return 0;
}

/* libvterm 0.1 takes a string (OSC, DCS) for endless when anything comes between the two bytes that end it: a control byte, or
 * the end of what it is given. So an ESC waits for what follows it, and control bytes go before it, as a terminal does them. */
static void in_order(struct vt *v, const char *p, size_t len, struct buf *out)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)p[i];
		bool control = (c < ' ' && c != ESC && c != CAN && c != SUB) || c == DEL;
		if (v->escape && !control)
			buf_putc(out, ESC);
		if (c != ESC)
			buf_putc(out, (char)c);
		v->escape = c == ESC || (v->escape && control);
	}
}

static void feed(struct vt *v, const void *bytes, size_t len)
{
	CLEANUP(buf_release) struct buf all = BUF_INIT;
	in_order(v, bytes, len, &all);
	if (!all.len)
		return;
	const char *p = all.data, *end = p + all.len;
	while (p < end) { /* in pieces: answers must not pile up */
		size_t n = (size_t)(end - p) < 4096 ? (size_t)(end - p) : 4096;
		const char *lf = v->bare_lf ? memchr(p, '\n', n) : NULL;
		if (lf == p) {
			vterm_input_write(v->vterm, "\r\n", 2);
			p++;
			continue;
		}
		n = lf ? (size_t)(lf - p) : n;
		if (!lf && n < (size_t)(end - p) && n > begun(p, n))
			n -= begun(p, n);
		if (n > 1 && p[n - 1] == ESC)
			n--;
		vterm_input_write(v->vterm, p, n);
		drop_answers(v);
		p += n;
	}
}

void vt_feed(struct vt *v, const void *bytes, size_t len)
{
	CLEANUP(buf_release) struct buf whole = BUF_INIT;
	if (!len)
		return;
	if (v->nr_begun) {
		buf_append(&whole, v->begun, v->nr_begun);
		buf_append(&whole, bytes, len);
		bytes = whole.data;
		len = whole.len;
	}
	/* libvterm loses a character that comes in two pieces */
	v->nr_begun = begun(bytes, len);
	memcpy(v->begun, (const char *)bytes + len - v->nr_begun, v->nr_begun);
	feed(v, bytes, len - v->nr_begun);
}

void vt_resize(struct vt *v, int rows, int cols)
{
	int was_rows, was_cols;
	rows = rows < 1 ? 1 : rows > VT_ROWS_MAX ? VT_ROWS_MAX : rows;
	cols = cols < 1 ? 1 : cols > VT_COLS_MAX ? VT_COLS_MAX : cols;
	vterm_get_size(v->vterm, &was_rows, &was_cols);
	if (rows != was_rows || cols != was_cols)
		vterm_set_size(v->vterm, rows, cols);
	drop_answers(v);
}

/* --- to a pane ---------------------------------------------------------------------------------------------------- */

static void add_row(struct text *t, const struct glyph *g, int nr)
{
	text_glyphs(t, ROLE_TEXT, g, (size_t)nr);
}

void vt_text(struct vt *v, struct text *t)
{
	VTermScreenCell cells[VT_COLS_MAX];
	struct glyph row[VT_COLS_MAX];
	int rows, cols, blank = 0;
	vterm_get_size(v->vterm, &rows, &cols);
	for (size_t i = 0; i < v->nr; i++) {
		const struct line *l = &v->back[(v->first + i) % VT_BACK_MAX];
		add_row(t, l->glyph, l->nr);
	}
	for (int r = 0; r < rows; r++) {
		for (int c = 0; c < cols; c++)
			if (!vterm_screen_get_cell(v->screen, (VTermPos){ .row = r, .col = c }, &cells[c]))
				cells[c] = (VTermScreenCell){ .width = 1 };
		int n = row_glyphs(v, cells, cols, row);
		if (n == 0) {
			blank++;
			continue;
		}
		for (; blank > 0; blank--)
			add_row(t, NULL, 0);
		add_row(t, row, n);
	}
}
