/* libvterm shows its cells, cursor, pen, and some modes. The other parts of its state are found by
 * trying: text that is written into the terminal shows its tab stops, sets of characters, saved
 * cursor, and pending wrap. */
#include "ui/term/vt_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* --- reading ---------------------------------------------------------------------------------- */

static void try_bytes(const struct vt *v, const char *bytes)
{
	vterm_input_write(v->vterm, bytes, strlen(bytes));
}

/* Its answer to a query. */
static const char *vt_asked(const struct vt *v, const char *query, char answer[64])
{
	char junk[512];
	while (vterm_output_read(v->vterm, junk, sizeof(junk)) > 0)
		;
	try_bytes(v, query);
	answer[vterm_output_read(v->vterm, answer, 63)] = 0;
	return answer;
}

bool vt_mode(const struct vt *v, int number)
{
	char query[32], answer[64];
	int got, value = 0;
	snprintf(query, sizeof(query), "\x1b[?%d$p", number);
	return sscanf(vt_asked(v, query, answer), "\x1b[?%d;%d$y", &got, &value) == 2 && value == 1;
}

VTermPos vt_cursor(const struct vt *v)
{
	VTermPos at;
	vterm_state_get_cursorpos(vterm_obtain_state(v->vterm), &at);
	return at;
}

VTermScreenCell vt_pen(const struct vt *v)
{
	const VTermState *state = vterm_obtain_state(v->vterm);
	VTermScreenCell c = { .width = 1 };
	VTermValue x[VTERM_N_ATTRS];
	for (int i = VTERM_ATTR_BOLD; i <= VTERM_ATTR_BACKGROUND; i++)
		vterm_state_get_penattr(state, (VTermAttr)i, &x[i]);
	c.attrs.bold = (unsigned)x[VTERM_ATTR_BOLD].boolean & 1U;
	c.attrs.underline = (unsigned)x[VTERM_ATTR_UNDERLINE].number & 3U;
	c.attrs.italic = (unsigned)x[VTERM_ATTR_ITALIC].boolean & 1U;
	c.attrs.blink = (unsigned)x[VTERM_ATTR_BLINK].boolean & 1U;
	c.attrs.reverse = (unsigned)x[VTERM_ATTR_REVERSE].boolean & 1U;
	c.attrs.strike = (unsigned)x[VTERM_ATTR_STRIKE].boolean & 1U;
	c.attrs.font = (unsigned)x[VTERM_ATTR_FONT].number & 15U;
	c.fg = x[VTERM_ATTR_FOREGROUND].color;
	c.bg = x[VTERM_ATTR_BACKGROUND].color;
	return c;
}

VTermScreenCell vt_cell(const struct vt *v, int row, int col)
{
	VTermScreenCell c = { .width = 1 };
	(void)vterm_screen_get_cell(v->screen, (VTermPos){ .row = row, .col = col }, &c);
	return c;
}

static struct page *vt_page(const struct vt *v, int rows, int cols)
{
	struct page *p = NEW(struct page);
	p->cells = mem_calloc((size_t)rows * (size_t)cols, sizeof(*p->cells));
	for (int r = 0; r < rows; r++) {
		p->row[r] = p->cells + (size_t)r * (size_t)cols;
		p->line[r] = *vterm_state_get_lineinfo(vterm_obtain_state(v->vterm), r);
		for (int c = 0; c < cols; c++)
			p->row[r][c] = vt_cell(v, r, c);
	}
	return p;
}

static void page_free(struct page *p)
{
	if (p)
		free(p->cells);
	free(p);
}

/* Erasing that spares them leaves only protected cells. */
static bool has_protected(const struct vt *v, int rows, int cols)
{
	try_bytes(v, "\x1b[?2J");
	for (int r = 0; r < rows; r++)
		for (int c = 0; c < cols; c++)
			if (vt_cell(v, r, c).chars[0])
				return true;
	return false;
}

static bool read_pages(struct vt_state *s, const struct vt *v)
{
	char answer[64];
	if (strstr(vt_asked(v, "\x1bP$q\"q\x1b\\", answer), "r1\""))
		return false; /* the next characters are protected */
	s->page[s->alternate] = vt_page(v, s->rows, s->cols);
	if (has_protected(v, s->rows, s->cols))
		return false;
	if (!s->alternate)
		return true;
	try_bytes(v, "\x1b[?1047l");
	s->page[0] = vt_page(v, s->rows, s->cols);
	return !has_protected(v, s->rows, s->cols);
}

/* --- trying ----------------------------------------------------------------------------------- */

/* After the last column the next character goes to the next row; after a wide one the cursor stays
 * on it. */
static bool try_wrap(const struct vt_state *s, const struct vt *v)
{
	if (s->at.col < s->cols - 2)
		return false;
	char other[2] = { s->page[0]->row[s->at.row][s->at.col].chars[0] == 'X' ? 'Y' : 'X', 0 };
	try_bytes(v, other);
	return vt_cell(v, s->at.row, s->at.col).chars[0] != (uint32_t)other[0];
}

/* In the last column a mark joins its character only if both are read at once, as UTF-8. */
static char set_found(const struct vt *v, int cols)
{
	char last[32];
	uint32_t q = vt_cell(v, 0, 0).chars[0], hash = vt_cell(v, 0, 1).chars[0];
	if (q != 'q' || hash != '#')
		return q == 'q' && hash == 0xa3 ? 'A' : q == 0x2500 ? '0' : 0;
	snprintf(last, sizeof(last), "\x1b[1;%dHe\xcc\x81", cols);
	try_bytes(v, last);
	return vt_cell(v, 0, cols - 1).chars[1] ? 'u' : 'B';
}

static bool try_sets(struct vt_state *s, const struct vt *v)
{
	static const char *const choose[VT_SETS] = { "\x0f", "\x0e", "\x1bn", "\x1bo" };
	for (int i = 0; i < VT_SETS; i++) {
		try_bytes(v, "\x1b[1;1H\x1b#5");
		try_bytes(v, choose[i]);
		try_bytes(v, "\xc3\xa9");
		if (vt_cell(v, 0, 0).chars[0] != 0xe9)
			return false; /* not UTF-8 */
		try_bytes(v, "\x1b[1;1Hq#");
		s->set[i] = set_found(v, s->cols);
		if (!s->set[i])
			return false;
	}
	try_bytes(v, "\x0f\x1b(B");
	return true;
}

static void try_rest(struct vt_state *s, const struct vt *v)
{
	try_bytes(v, "\x1b[1;1Hab\x1b[1;1Hc");
	s->insert = vt_cell(v, 0, 1).chars[0] == 'a';
	try_bytes(v, "\x1b[4l\x1b[1;2H\n");
	s->new_line = vt_cursor(v).col == 0;
	try_bytes(v, "\x1b[20l\x1b[1;1H\x1b#5");
	for (int at = 0, was = -1; at != was && at < s->cols - 1;) {
		was = at;
		try_bytes(v, "\t");
		at = vt_cursor(v).col;
		s->tab[at] = at < s->cols - 1;
	}
	try_bytes(v, "\x1b"
		     "8");
	s->saved = vt_cursor(v);
	s->saved_pen = vt_pen(v);
	s->saved_cursor = vt_mode(v, 25);
}

bool vt_state_read(struct vt_state *s, const struct vt *v)
{
	vterm_get_size(v->vterm, &s->rows, &s->cols);
	s->at = vt_cursor(v);
	s->pen = vt_pen(v);
	s->alternate = v->alternate;
	s->reverse = vt_mode(v, 5);
	s->origin = vt_mode(v, 6);
	s->wrap = vt_mode(v, 7);
	s->cursor = vt_mode(v, 25);
	if (vt_mode(v, 1047) != s->alternate || /* a reset has confused libvterm 0.1 */
	    !vt_margins(v, &s->top, &s->bottom) || !read_pages(s, v))
		return false;
	s->pending = try_wrap(s, v);
	try_bytes(v, "\x1b[0m\x1b[?6l\x1b[r\x1b[?7h");
	if (!try_sets(s, v))
		return false;
	try_rest(s, v);
	return true;
}

void vt_state_free(struct vt_state **sp)
{
	for (int i = 0; i < 2; i++)
		page_free((*sp)->page[i]);
	free(*sp);
	*sp = NULL;
}

bool style_equal(const VTermScreenCell *a, const VTermScreenCell *b)
{
	return a->attrs.bold == b->attrs.bold && a->attrs.underline == b->attrs.underline &&
	       a->attrs.italic == b->attrs.italic && a->attrs.blink == b->attrs.blink &&
	       a->attrs.reverse == b->attrs.reverse && a->attrs.strike == b->attrs.strike &&
	       a->attrs.font == b->attrs.font && vterm_color_is_equal(&a->fg, &b->fg) &&
	       vterm_color_is_equal(&a->bg, &b->bg) &&
	       VTERM_COLOR_IS_DEFAULT_FG(&a->fg) == VTERM_COLOR_IS_DEFAULT_FG(&b->fg) &&
	       VTERM_COLOR_IS_DEFAULT_BG(&a->bg) == VTERM_COLOR_IS_DEFAULT_BG(&b->bg);
}
