/* Running text made ready for a pane: sanitized, wrapped to a width, with a gutter that the text
 * cannot write into.
 *
 * A gutter text is at the right end of the gutter. Rows live in the arena. Build with text_add
 * (whole pieces) or text_begin, text_feed, text_end (streams); then paint any part. A line that
 * is too long continues in the next row with a blank gutter. */
#ifndef UI_TEXT_H
#define UI_TEXT_H

#include "base/mem.h"
#include "ui/term/grid.h"

/* Millions of rows may be kept, so a row has no glyphs: only what gives them back. */
struct text_row {
	/* @packed: as text.c packs glyphs; else printable ASCII, one glyph a byte */
	const char *bytes;
	const char *gutter;	   /* NULL: blank */
	uint32_t nr;		   /* glyphs */
	uint8_t role, gutter_role; /* enum role */
	bool packed : 1;
	bool flush : 1;	  /* begins at the left edge, before the gutter */
	bool wrapped : 1; /* continues the line of the row before */
};

/* Reads a row from left to right. */
struct text_walk {
	const char *at;
	uint32_t left;
	uint8_t flags, fg;
	bool packed;
};

struct text {
	struct text_row *row;
	size_t nr, cap;
	struct arena *arena;
	int width, gutter; /* cells: whole, and of these the gutter's */
	bool ascii;
	uint32_t hidden, non_ascii; /* added up over what was added */
	/* under way */
	struct sanitizer s;
	enum role role;
	const char *mark;
	int col;
	bool open, soft;
	struct glyph *glyph; /* of the last row, until it is packed */
	uint32_t nr_glyphs, cap_glyphs;
};

/* Flags besides those of the sanitizer: break between words where it can be done. Never for exact
 * text. */
enum { TEXT_SOFT = 1 << 8 };

void text_init(struct text *t, struct arena *a, int width, int gutter, bool ascii);
void text_begin(struct text *t, enum role r, const char *gutter, unsigned flags);
void text_feed(struct text *t, const void *bytes, size_t len);
void text_end(struct text *t);
/* One piece; @gutter stands before its first row. */
void text_add(struct text *t, enum role r, const char *gutter, const void *bytes, size_t len,
	      unsigned flags);
void text_puts(struct text *t, enum role r, const char *s);
void text_putf(struct text *t, enum role r, const char *fmt, ...) PRINTF(3, 4);
void text_blank(struct text *t);
/* A row of glyphs as they are; what does not fit the width is cut with its mark, never wrapped. */
void text_glyphs(struct text *t, enum role r, const struct glyph *g, size_t nr);
struct text_walk text_walk_row(const struct text_row *r);
bool text_walk_next(struct text_walk *w, struct glyph *out); /* false: the row has no more */
/* Its glyph @i < nr. Linear in @i. */
struct glyph text_glyph(const struct text_row *r, uint32_t i);
/* Keeps the first @nr rows; the last of them ends with the sign for cut text. */
void text_cut(struct text *t, size_t nr);
void text_row_plain(const struct text_row *r, struct buf *out); /* appends its glyphs as bytes */
/* The rows as lines of text, wrapped rows joined; @gutters: with their signs ("+", "-", "$") and
 * names before them. */
void text_plain_rows(const struct text *t, size_t from, size_t to, bool gutters, struct buf *out);
void text_plain(const struct text *t, bool gutters, struct buf *out);
/* a row that is flush */
void text_head(struct text *t, enum role r, const char *fmt, ...) PRINTF(3, 4);
/* Rows from @top on, as many as the area has. */
void text_paint(const struct text *t, struct area a, size_t top);
/* A top row such that @top + @rows does not go past the end. */
size_t text_clamp(const struct text *t, int64_t top, int rows);

#endif
