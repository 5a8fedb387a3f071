#include "ui/term/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void text_init(struct text *t, struct arena *a, int width, int gutter, bool ascii)
{
	*t = (struct text){ .arena = a,
			    .width = width < gutter + 4 ? gutter + 4 : width,
			    .gutter = gutter,
			    .ascii = ascii };
}

/* Arena arrays grow by copying; the old copy is freed with the arena. */
static void *term_text_grow(struct arena *a, const void *old, size_t nr, size_t cap, size_t size)
{
	char *p = arena_alloc(a, cap * size);
	if (nr > 0)
		memcpy(p, old, nr * size);
	return p;
}

/* --- packed glyphs ---------------------------------------------------------------------------- */

/* A row of printable ASCII without style has a byte a glyph. In any other row too, but SET_STYLE
 * flags fg precedes a change of style, and WHOLE width len bytes is any other glyph. */
enum { SET_STYLE = 1, WHOLE = 2 };

static bool is_ascii_glyph(const struct glyph *g)
{
	return g->len == 1 && g->width == 1 && g->s[0] >= ' ' && g->s[0] <= '~';
}

static bool needs_packing(const struct glyph *g, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++)
		if (!is_ascii_glyph(&g[i]) || g[i].flags || g[i].fg)
			return true;
	return false;
}

static void pack_glyphs(const struct glyph *g, uint32_t nr, struct buf *out)
{
	uint8_t flags = 0, fg = 0;
	for (; nr > 0; nr--, g++) {
		if (g->flags != flags || g->fg != fg) {
			flags = g->flags;
			fg = g->fg;
			buf_append(out, (const char[]){ SET_STYLE, (char)flags, (char)fg }, 3);
		}
		if (!is_ascii_glyph(g))
			buf_append(out, (const char[]){ WHOLE, (char)g->width, (char)g->len }, 3);
		buf_append(out, g->s, g->len);
	}
}

/* The glyphs of the last row go into it. */
static void pack_row(struct text *t)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	if (t->nr_glyphs == 0)
		return;
	struct text_row *r = &t->row[t->nr - 1];
	r->packed = needs_packing(t->glyph, t->nr_glyphs);
	pack_glyphs(t->glyph, t->nr_glyphs, &b);
	r->bytes = arena_strndup(t->arena, b.data, b.len);
	r->nr = t->nr_glyphs;
	t->nr_glyphs = 0;
}

struct text_walk text_walk_row(const struct text_row *r)
{
	return (struct text_walk){ .at = r->bytes, .left = r->nr, .packed = r->packed };
}

bool text_walk_next(struct text_walk *w, struct glyph *out)
{
	uint8_t width = 1, len = 1;
	if (w->left == 0)
		return false;
	w->left--;
	if (w->packed && *w->at == SET_STYLE) {
		w->flags = (uint8_t)w->at[1];
		w->fg = (uint8_t)w->at[2];
		w->at += 3;
	}
	if (w->packed && *w->at == WHOLE) {
		width = (uint8_t)w->at[1];
		len = (uint8_t)w->at[2];
		w->at += 3;
	}
	*out = (struct glyph){ .len = len, .width = width, .flags = w->flags, .fg = w->fg };
	memcpy(out->s, w->at, len);
	w->at += len;
	return true;
}

struct glyph text_glyph(const struct text_row *r, uint32_t i)
{
	struct text_walk w = text_walk_row(r);
	struct glyph g = { 0 };
	if (!r->packed) { /* straight to it */
		w.at += i;
		i = 0;
	}
	for (uint32_t k = 0; k <= i && text_walk_next(&w, &g); k++)
		;
	return g;
}

/* --- building --------------------------------------------------------------------------------- */

static struct text_row *new_row(struct text *t, const char *gutter)
{
	pack_row(t);
	if (t->nr == t->cap) {
		t->cap = t->cap ? t->cap * 2 : 64;
		t->row = term_text_grow(t->arena, t->row, t->nr, t->cap, sizeof(*t->row));
	}
	struct text_row *r = &t->row[t->nr++];
	*r = (struct text_row){ .role = (uint8_t)t->role,
				.gutter = gutter,
				.gutter_role = ROLE_DIM };
	t->col = 0;
	return r;
}

static void push_glyph(struct text *t, const struct glyph *g)
{
	if (t->nr_glyphs == t->cap_glyphs) {
		t->cap_glyphs = t->cap_glyphs ? t->cap_glyphs * 2 : 128;
		t->glyph = term_text_grow(t->arena, t->glyph, t->nr_glyphs, t->cap_glyphs,
					  sizeof(*t->glyph));
	}
	t->glyph[t->nr_glyphs++] = *g;
	t->col += g->width;
}

/* The next row; prose takes its last word along. */
static void term_text_wrap(struct text *t)
{
	uint32_t nr = t->nr_glyphs, keep = nr;
	while (t->soft && keep > 0 && nr - keep < 24 && t->glyph[keep - 1].s[0] != ' ')
		keep--;
	if (!t->soft || keep == 0 || nr - keep >= 24)
		keep = nr;
	t->nr_glyphs = keep;
	new_row(t, NULL)->wrapped = true;
	for (uint32_t i = keep; i < nr; i++)
		push_glyph(t, &t->glyph[i]);
}

static bool term_text_take_glyph(void *self, const struct glyph *g)
{
	struct text *t = self;
	if (!t->open)
		new_row(t, t->mark);
	t->open = true;
	if (g->flags & GLYPH_RETURN) {
		t->nr_glyphs = 0;
		t->col = 0;
		return true;
	}
	if (g->flags & GLYPH_NEWLINE) {
		t->open = false;
		return true;
	}
	if (t->col + g->width > t->width - t->gutter)
		term_text_wrap(t);
	/* the word that came along leaves one cell, this takes two */
	if (t->col + g->width > t->width - t->gutter)
		new_row(t, NULL)->wrapped = true;
	push_glyph(t, g);
	return true;
}

void text_begin(struct text *t, enum role r, const char *gutter, unsigned flags)
{
	t->role = r;
	t->mark = gutter;
	t->open = false;
	t->soft = flags & TEXT_SOFT;
	sanitizer_init(&t->s, (flags & ~(unsigned)TEXT_SOFT) | (t->ascii ? SANITIZE_ASCII : 0u),
		       term_text_take_glyph, t);
}

void text_feed(struct text *t, const void *bytes, size_t len)
{
	sanitizer_feed(&t->s, bytes, len);
}

void text_end(struct text *t)
{
	sanitizer_end(&t->s);
	t->hidden += t->s.hidden;
	t->non_ascii += t->s.non_ascii;
	t->open = false;
	pack_row(t);
}

static bool term_text_is_plain(const char *p, size_t len)
{
	unsigned char odd = 0;
	for (size_t i = 0; i < len; i++)
		odd |= p[i] < ' ' || p[i] > '~';
	return !odd;
}

/* The sanitizer would give it back as it is, a cell a byte. */
static void add_plain(struct text *t, const char *gutter, const char *bytes, size_t len)
{
	size_t room = (size_t)(t->width - t->gutter);
	const char *p = arena_strndup(t->arena, bytes, len);
	for (size_t at = 0; at < len; at += room) {
		struct text_row *row = new_row(t, at ? NULL : gutter);
		row->wrapped = at > 0;
		row->bytes = p + at;
		row->nr = (uint32_t)(len - at < room ? len - at : room);
	}
	t->open = false;
}

void text_add(struct text *t, enum role r, const char *gutter, const void *bytes, size_t len,
	      unsigned flags)
{
	size_t before = t->nr;
	if (len > 0 && !(flags & TEXT_SOFT) && term_text_is_plain(bytes, len)) {
		t->role = r;
		add_plain(t, gutter, bytes, len);
		return;
	}
	text_begin(t, r, gutter, flags);
	text_feed(t, bytes, len);
	text_end(t);
	if (t->nr == before)
		new_row(t, gutter);
}

void text_puts(struct text *t, enum role r, const char *s)
{
	text_add(t, r, NULL, s, strlen(s), TEXT_SOFT);
}

void text_putf(struct text *t, enum role r, const char *fmt, ...)
{
	char text[2048];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	text_puts(t, r, text);
}

void text_blank(struct text *t)
{
	t->role = ROLE_TEXT;
	new_row(t, NULL);
}

static const struct glyph cut_mark = { .s = ">", .len = 1, .width = 1 };

void text_cut(struct text *t, size_t nr)
{
	if (t->nr <= nr || nr == 0)
		return;
	t->nr = nr;
	struct text_row *r = &t->row[nr - 1];
	struct text_walk w = text_walk_row(r);
	struct glyph g;
	int width = 1;
	for (; text_walk_next(&w, &g); width += g.width)
		push_glyph(t, &g);
	while (t->nr_glyphs > 0 && width > t->width - t->gutter)
		width -= t->glyph[--t->nr_glyphs].width;
	push_glyph(t, &cut_mark);
	pack_row(t);
}

void text_glyphs(struct text *t, enum role r, const struct glyph *g, size_t nr)
{
	t->role = r;
	new_row(t, NULL);
	int room = t->width - t->gutter, all = 0;
	for (size_t i = 0; i < nr; i++)
		all += g[i].width;
	for (size_t i = 0; i < nr && t->col + g[i].width <= (all > room ? room - 1 : room); i++)
		push_glyph(t, &g[i]);
	if (all > room)
		push_glyph(t, &cut_mark);
	pack_row(t);
}

void text_row_plain(const struct text_row *r, struct buf *out)
{
	struct text_walk w = text_walk_row(r);
	struct glyph g;
	while (text_walk_next(&w, &g))
		buf_append(out, g.s, g.len);
}

void text_plain_rows(const struct text *t, size_t from, size_t to, bool gutters, struct buf *out)
{
	for (size_t i = from; i < to && i < t->nr; i++) {
		const struct text_row *r = &t->row[i];
		if (gutters && !r->flush && !r->wrapped && r->nr > 0)
			buf_printf(out, "%s%s", r->gutter ? r->gutter : " ",
				   r->gutter && strlen(r->gutter) > 1 ? " " : "");
		text_row_plain(r, out);
		if (i + 1 >= to || i + 1 >= t->nr || !t->row[i + 1].wrapped)
			buf_putc(out, '\n');
	}
}

void text_plain(const struct text *t, bool gutters, struct buf *out)
{
	text_plain_rows(t, 0, t->nr, gutters, out);
}

void text_head(struct text *t, enum role r, const char *fmt, ...)
{
	char text[1024];
	size_t first = t->nr;
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	text_puts(t, r, text);
	t->row[first].flush = true;
}

void text_paint(const struct text *t, struct area a, size_t top)
{
	for (int row = 0; row < a.rows && top + (size_t)row < t->nr; row++) {
		const struct text_row *r = &t->row[top + (size_t)row];
		int col = r->flush ? 0 : t->gutter;
		if (r->gutter && t->gutter > 1) {
			int at = t->gutter - 1 - text_cells(r->gutter, a.g->ascii);
			at = at < 0 ? 0 : at;
			put_bytes(a, row, at, t->gutter - 1 - at, r->gutter_role, r->gutter,
				  strlen(r->gutter), 0);
		}
		struct text_walk w = text_walk_row(r);
		struct glyph g;
		while (text_walk_next(&w, &g) && put_glyph(a, row, &col, r->role, &g))
			;
	}
}

size_t text_clamp(const struct text *t, int64_t top, int rows)
{
	int64_t most = (int64_t)t->nr - rows;
	if (top > most)
		top = most;
	return top < 0 ? 0 : (size_t)top;
}
