#include "ui/term/vt_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/utf8.h"
#include "base/text/width.h"

enum { SO = 0x0e, SI = 0x0f, CAN = 0x18, SUB = 0x1a, ESC = 0x1b, DEL = 0x7f, SS2 = 0x8e, SS3 };

/* --- cells to glyphs -------------------------------------------------------------------------- */

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
static uint8_t vt_nearest(int r, int g, int b)
{
	static const uint8_t rgb[16][3] = {
		{ 0, 0, 0 },	   { 205, 0, 0 },   { 0, 205, 0 },   { 205, 205, 0 },
		{ 0, 0, 238 },	   { 205, 0, 205 }, { 0, 205, 205 }, { 229, 229, 229 },
		{ 127, 127, 127 }, { 255, 0, 0 },   { 0, 255, 0 },   { 255, 255, 0 },
		{ 92, 92, 255 },   { 255, 0, 255 }, { 0, 255, 255 }, { 255, 255, 255 },
	};
	int best = 0, best_d = INT32_MAX;
	for (int i = 0; i < 16; i++) {
		int dr = rgb[i][0] - r, dg = rgb[i][1] - g, db = rgb[i][2] - b,
		    d = dr * dr + dg * dg + db * db;
		if (d < best_d) {
			best_d = d;
			best = i;
		}
	}
	return (uint8_t)(best + 1);
}

/* 1 to 16, 0 = the default. */
static uint8_t vt_colour(const struct vt *v, VTermColor c)
{
	if (VTERM_COLOR_IS_DEFAULT_FG(&c) || VTERM_COLOR_IS_DEFAULT_BG(&c))
		return 0;
	if (VTERM_COLOR_IS_INDEXED(&c) && c.indexed.idx < 16)
		return (uint8_t)(c.indexed.idx + 1);
	vterm_screen_convert_color_to_rgb(v->screen, &c);
	return vt_nearest(c.rgb.red, c.rgb.green, c.rgb.blue);
}

struct glyph glyph_of(const struct vt *v, const VTermScreenCell *c)
{
	struct glyph g = { 0 };
	char bytes[VTERM_MAX_CHARS_PER_CELL * 4];
	size_t n = 0;
	for (size_t i = 0; i < VTERM_MAX_CHARS_PER_CELL && c->chars[i] && c->chars[i] <= 0x10ffff;
	     i++)
		n += utf8_put(c->chars[i], bytes + n);
	if (n > 0)
		sanitize_for_screen(bytes, n, 0, one_glyph, &g);
	if (g.len == 0 || (g.flags & (GLYPH_NEWLINE | GLYPH_RETURN)))
		g = (struct glyph){ .s = " ", .len = 1, .width = 1 };
	if (g.width != c->width && (g.flags & GLYPH_ESCAPED) == 0 && g.width > c->width)
		g = (struct glyph){ .s = "?", .len = 1, .width = 1, .flags = GLYPH_ESCAPED };
	uint8_t back = vt_colour(v, c->bg);
	g.fg = vt_colour(v, c->fg);
	g.flags |= (uint8_t)((c->attrs.bold ? GLYPH_BOLD : 0) |
			     (c->attrs.underline ? GLYPH_UNDERLINE : 0));
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
	for (int col = 0; col<cols; col += cells[col].width> 1 ? 2 : 1) {
		out[n] = glyph_of(v, &cells[col]);
		if (!is_blank(&out[n++]))
			end = n;
	}
	return end;
}

/* --- what libvterm tells ---------------------------------------------------------------------- */

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
		v->back[at].glyph = mem_calloc((size_t)n, sizeof(*row));
		memcpy(v->back[at].glyph, row, (size_t)n * sizeof(*row));
	}
	return 1;
}

static int property_set(VTermProp prop, VTermValue *value, void *self)
{
	struct vt *v = self;
	if (prop == VTERM_PROP_ALTSCREEN)
		v->alternate = value->boolean;
	return 1;
}

static const VTermScreenCallbacks vt_callbacks = { .sb_pushline = push_line,
						   .settermprop = property_set };
static const VTermScreenCallbacks vt_callbacks_no_back = { .settermprop = property_set };

/* It gets all there is, and takes what comes before a control. */
static int ahead_text(const char *bytes, size_t len, void *self)
{
	struct vt *v = self;
	uint32_t cp;
	size_t at = 0, used;
	for (; at < len && (unsigned char)bytes[at] >= ' ' && bytes[at] != DEL; at += used)
		if (utf8_next(bytes + at, len - at, &cp, &used) == UTF8_OK && text_width(cp) > 0) {
			memcpy(v->last, bytes + at, used);
			v->nr_last = used;
		}
	v->single = v->single && !at;
	return (int)at;
}

static int ahead_control(unsigned char control, void *self)
{
	struct vt *v = self;
	if (control == SO || control == SI)
		v->shift = control == SO;
	v->single = v->single || control == SS2 || control == SS3;
	return 1;
}

static int ahead_escape(const char *bytes, size_t len, void *self)
{
	struct vt *v = self;
	char c = len == 1 ? bytes[0] : 0;
	if (c == 'n' || c == 'o')
		v->shift = c == 'n' ? 2 : 3;
	else if (c == 'c')
		v->shift = 0;
	return 1;
}

static int ahead_csi(const char *leader, const long args[], int nr, const char *intermed,
		     char command, void *self)
{
	struct vt *v = self;
	if (command == 'b' && !(leader && *leader) && !(intermed && *intermed))
		v->repeat = nr > 0 ? (long)CSI_ARG_COUNT(args[0]) : 1;
	if (command == 'r' && !(leader && *leader) && !(intermed && *intermed))
		v->top = nr > 0 && CSI_ARG(args[0]) < INT16_MAX ? (int)CSI_ARG(args[0]) : 0;
	return 1;
}

static const VTermParserCallbacks ahead_callbacks = {
	.text = ahead_text, .control = ahead_control, .escape = ahead_escape, .csi = ahead_csi
};

struct vt *vt_new(int rows, int cols, bool bare_lf)
{
	struct vt *v = NEW(struct vt);
	rows = rows < 1 ? 24 : rows > VT_ROWS_MAX ? VT_ROWS_MAX : rows;
	cols = cols < 1		    ? 80
	       : cols < VT_COLS_MIN ? VT_COLS_MIN
	       : cols > VT_COLS_MAX ? VT_COLS_MAX
				    : cols;
	v->bare_lf = bare_lf;
	v->credit = 1 << 12; /* a few full rows */
	v->vterm = vterm_new(rows, cols);
	vterm_set_utf8(v->vterm, 1);
	v->screen = vterm_obtain_screen(v->vterm);
	vterm_screen_set_callbacks(v->screen, &vt_callbacks, v);
	vterm_screen_enable_altscreen(v->screen, 1);
	vterm_screen_reset(v->screen, 1);
	v->ahead = vterm_new(1, VT_COLS_MIN);
	vterm_set_utf8(v->ahead, 1);
	vterm_parser_set_callbacks(v->ahead, &ahead_callbacks, v);
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
	vterm_free(v->ahead);
	vterm_free(v->vterm);
	free(v);
}

void vt_forget_back(struct vt *v)
{
	v->no_back = true;
	vterm_screen_set_callbacks(v->screen, &vt_callbacks_no_back, v);
}

/* Drops the emulation's own answers. */
static void drop_answers(const struct vt *v)
{
	char junk[512];
	while (vterm_output_read(v->vterm, junk, sizeof(junk)) > 0)
		;
}

/* libvterm 0.1 takes a string (OSC, DCS) for endless if anything comes between its two last
 * bytes: a control byte, or the end of the input. So an ESC waits for the next byte, and control
 * bytes go before it, as a terminal does them. */
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

/* libvterm 0.1 repeats a character (REP) until it has filled that many columns, which never ends
 * if the character takes none. So the characters themselves replace the sequence, which is
 * cancelled. */
static void vt_repeat(struct vt *v, const char *p, size_t len, struct buf *out)
{
	enum { EARNED_EACH = 4, CREDIT_MAX = 1 << 16 };
	for (size_t n; len > 0; p += n, len -= n) {
		const char *b = memchr(p, 'b', len);
		n = b ? (size_t)(b + 1 - p) : len;
		v->repeat = 0;
		v->credit = v->credit + EARNED_EACH * (long)n < CREDIT_MAX
				    ? v->credit + EARNED_EACH * (long)n
				    : CREDIT_MAX;
		vterm_input_write(v->ahead, p, n);
		buf_append(out, p, n);
		if (!v->repeat)
			continue;
		out->data[out->len - 1] = CAN;
		for (long i = 0; i < v->repeat && i < VT_COLS_MAX && v->credit > 0;
		     i++, v->credit--)
			buf_append(out, v->last, v->nr_last);
	}
}

/* To libvterm, in pieces that begin with a character: answers must not pile up. */
static void vt_feed_bytes(struct vt *v, const char *p, size_t len)
{
	const char *end = p + len;
	modes_feed(&v->modes, p, len);
	while (p < end) {
		size_t n = (size_t)(end - p) < 4096 ? (size_t)(end - p) : 4096;
		const char *lf = v->bare_lf ? memchr(p, '\n', n) : NULL;
		if (lf == p) {
			vterm_input_write(v->vterm, "\r\n", 2);
			p++;
			continue;
		}
		n = lf ? (size_t)(lf - p) : n;
		while (p + n < end && ((unsigned char)p[n] & 0xc0) == 0x80)
			n--;
		if (n > 1 && p[n - 1] == ESC)
			n--;
		vterm_input_write(v->vterm, p, n);
		drop_answers(v);
		p += n;
	}
}

/* Bytes at @p that in_order passes as they are while no ESC waits. */
static size_t plain_run(const char *p, size_t len)
{
	size_t n = 0;
	while (n < len && (unsigned char)p[n] < 0x80 && p[n] != ESC)
		n++;
	return n;
}

/* libvterm loses a character that comes in two pieces, handles broken bytes differently by
 * piece, and counts C1 controls as less than a cell. So it gets only whole characters, and a
 * replacement for each invalid one. */
void vt_feed(struct vt *v, const void *bytes, size_t len)
{
	static const char broken[] = "\xef\xbf\xbd";
	CLEANUP(buf_release) struct buf whole = BUF_INIT, clean = BUF_INIT, out = BUF_INIT;
	const char *p = bytes;
	enum utf8_result r;
	uint32_t cp;
	size_t used;
	if (v->nr_begun) {
		buf_append(&whole, v->begun, v->nr_begun);
		buf_append(&whole, bytes, len);
		p = whole.data;
		len = whole.len;
	}
	for (; len > 0; p += used, len -= used) {
		used = v->escape ? 0 : plain_run(p, len);
		buf_append(&clean, p, used);
		if (used)
			continue;
		r = utf8_next(p, len, &cp, &used);
		if (r == UTF8_PARTIAL)
			break;
		bool good = r == UTF8_OK && !(cp >= 0x80 && cp < 0xa0);
		in_order(v, good ? p : broken, good ? used : sizeof(broken) - 1, &clean);
	}
	if (len)
		memcpy(v->begun, p, len);
	v->nr_begun = len;
	csi_bound_drop(&v->csi, &clean);
	if (clean.len)
		vt_repeat(v, clean.data, clean.len, &out);
	if (out.len)
		vt_feed_bytes(v, out.data, out.len);
}

static bool vt_row_is_blank(const struct vt *v, int row)
{
	return vterm_screen_is_eol(v->screen, (VTermPos){ .row = row, .col = 0 });
}

/* Rows that leave the main screen at its top when it gets fewer rows: the last ones that are used
 * stay. */
static int rows_to_leave(const struct vt *v, int was, int rows, int cursor)
{
	int last = was - 1;
	while (last >= rows && last != cursor && vt_row_is_blank(v, last))
		last--;
	return v->alternate || last < rows ? 0 : last + 1 - rows;
}

bool vt_margins(const struct vt *v, int *top, int *bottom)
{
	char answer[64];
	drop_answers(v);
	vterm_input_write(v->vterm, "\x1bP$qr\x1b\\", 7);
	answer[vterm_output_read(v->vterm, answer, sizeof(answer) - 1)] = 0;
	return sscanf(answer, "\x1bP1$r%d;%d", top, bottom) == 2;
}

/* Cancels a sequence that has begun. */
static void vt_quiet(struct vt *v)
{
	if (modes_quiet(&v->modes))
		return;
	vterm_input_write(v->vterm, "\x18", 1);
	modes_feed(&v->modes, "\x18", 1);
}

/* libvterm 0.1 writes outside of its cells if margins are below the new size, or if the cursor
 * leaves the screen at its top with the rows there. */
static void vt_before_resize(struct vt *v, int was, int rows)
{
	VTermPos at;
	char fix[48];
	int top = 1, bottom;
	vterm_state_get_cursorpos(vterm_obtain_state(v->vterm), &at);
	int leave = rows_to_leave(v, was, rows, at.row);
	if (v->top <= rows && at.row >= leave)
		return;
	vt_quiet(v);
	if (vt_margins(v, &top, &bottom) && top <= rows && at.row >= leave)
		return;
	int row = at.row < leave ? leave : at.row;
	int n = snprintf(fix, sizeof(fix), "\x1b[?6l\x1b[r\x1b[%d;%dH", row + 1, at.col + 1);
	vterm_input_write(v->vterm, fix, (size_t)n);
	modes_feed(&v->modes, fix, (size_t)n);
	v->top = 0;
}

void vt_resize(struct vt *v, int rows, int cols)
{
	int was_rows, was_cols;
	rows = rows < 1 ? 1 : rows > VT_ROWS_MAX ? VT_ROWS_MAX : rows;
	cols = cols < VT_COLS_MIN ? VT_COLS_MIN : cols > VT_COLS_MAX ? VT_COLS_MAX : cols;
	vterm_get_size(v->vterm, &was_rows, &was_cols);
	vt_before_resize(v, was_rows, rows);
	if (rows != was_rows || cols != was_cols)
		vterm_set_size(v->vterm, rows, cols);
	drop_answers(v);
}

/* --- to a pane -------------------------------------------------------------------------------- */

static void vt_add_row(struct text *t, const struct glyph *g, int nr)
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
		vt_add_row(t, l->glyph, l->nr);
	}
	for (int r = 0; r < rows; r++) {
		for (int c = 0; c < cols; c++)
			if (!vterm_screen_get_cell(v->screen, (VTermPos){ .row = r, .col = c },
						   &cells[c]))
				cells[c] = (VTermScreenCell){ .width = 1 };
		int n = row_glyphs(v, cells, cols, row);
		if (n == 0) {
			blank++;
			continue;
		}
		for (; blank > 0; blank--)
			vt_add_row(t, NULL, 0);
		vt_add_row(t, row, n);
	}
}
