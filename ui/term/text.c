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

static struct text_row *new_row(struct text *t, const char *gutter)
{
	if (t->nr == t->cap) {
		t->cap = t->cap ? t->cap * 2 : 64;
		t->row = term_text_grow(t->arena, t->row, t->nr, t->cap, sizeof(*t->row));
	}
	struct text_row *r = &t->row[t->nr++];
	*r = (struct text_row){ .role = t->role, .gutter = gutter, .gutter_role = ROLE_DIM };
	t->col = 0;
	return r;
}

static void push_glyph(struct text *t, struct text_row *r, const struct glyph *g)
{
	if (r->nr == r->cap) {
		r->cap = r->cap ? r->cap * 2 : 16;
		r->glyph = term_text_grow(t->arena, r->glyph, r->nr, r->cap, sizeof(*r->glyph));
	}
	r->glyph[r->nr++] = *g;
	t->col += g->width;
}

/* The next row; prose takes its last word along. */
static struct text_row *term_text_wrap(struct text *t)
{
	size_t full = t->nr - 1;
	struct text_row *next = new_row(t, NULL), *r = &t->row[full];
	next->wrapped = true;
	uint32_t keep = r->nr;
	while (t->soft && keep > 0 && r->nr - keep < 24 && r->glyph[keep - 1].s[0] != ' ')
		keep--;
	if (!t->soft || keep == 0 || r->nr - keep >= 24)
		return next;
	for (uint32_t i = keep; i < r->nr; i++)
		push_glyph(t, next, &r->glyph[i]);
	r->nr = keep;
	return next;
}

static bool term_text_take_glyph(void *self, const struct glyph *g)
{
	struct text *t = self;
	struct text_row *r = t->open ? &t->row[t->nr - 1] : new_row(t, t->mark);
	t->open = true;
	if (g->flags & GLYPH_RETURN) {
		r->nr = 0;
		t->col = 0;
		return true;
	}
	if (g->flags & GLYPH_NEWLINE) {
		t->open = false;
		return true;
	}
	if (t->col + g->width > t->width - t->gutter)
		r = term_text_wrap(t);
	/* the word that came along leaves one cell, this takes two */
	if (t->col + g->width > t->width - t->gutter) {
		r = new_row(t, NULL);
		r->wrapped = true;
	}
	push_glyph(t, r, g);
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
		row->plain = p + at;
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
	const struct text_row was = *r;
	int width = 1;
	r->plain = NULL;
	if (was.plain)
		r->nr = r->cap = 0;
	for (uint32_t i = 0; was.plain && i < was.nr; i++) {
		const struct glyph g = text_glyph(&was, i);
		push_glyph(t, r, &g);
	}
	for (uint32_t i = 0; i < r->nr; i++)
		width += r->glyph[i].width;
	while (r->nr > 0 && width > t->width - t->gutter)
		width -= r->glyph[--r->nr].width;
	push_glyph(t, r, &cut_mark);
}

void text_glyphs(struct text *t, enum role r, const struct glyph *g, size_t nr)
{
	t->role = r;
	struct text_row *row = new_row(t, NULL);
	int room = t->width - t->gutter, all = 0;
	for (size_t i = 0; i < nr; i++)
		all += g[i].width;
	for (size_t i = 0; i < nr && t->col + g[i].width <= (all > room ? room - 1 : room); i++)
		push_glyph(t, row, &g[i]);
	if (all > room)
		push_glyph(t, row, &cut_mark);
}

void text_row_plain(const struct text_row *r, struct buf *out)
{
	if (r->plain)
		buf_append(out, r->plain, r->nr);
	for (uint32_t i = 0; !r->plain && i < r->nr; i++)
		buf_append(out, r->glyph[i].s, r->glyph[i].len);
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
		for (uint32_t i = 0; i < r->nr; i++) {
			const struct glyph g = text_glyph(r, i);
			if (!put_glyph(a, row, &col, r->role, &g))
				break;
		}
	}
}

size_t text_clamp(const struct text *t, int64_t top, int rows)
{
	int64_t most = (int64_t)t->nr - rows;
	if (top > most)
		top = most;
	return top < 0 ? 0 : (size_t)top;
}
