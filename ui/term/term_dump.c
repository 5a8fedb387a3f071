#include <string.h>

#include "ui/term/term.h"

static void dump_glyphs(const struct cell *c, int cols, struct buf *line)
{
	for (int i = 0; i < cols; i++)
		if (c[i].width > 0)
			buf_append(line, c[i].s, c[i].len);
}

/* A letter for the role; upper layer: the output's own color as a digit, reverse and underline are
 * left to the theme.
 */
static char letter_of(const struct cell *c)
{
	static const char colours[] = "01234567ABCDEFGH";
	if (c->fg > 0)
		return colours[(c->fg - 1) & 15];
	if (c->width == 1 && c->s[0] == ' ' && c->role != ROLE_HIDDEN)
		return ' ';
	return role_letter(c->role);
}

static void dump_letters(const struct cell *c, int cols, struct buf *line)
{
	bool cursor = false;
	for (int i = 0; i < cols; i++) {
		buf_putc(line, letter_of(&c[i]));
		cursor = cursor || (c[i].flags & GRID_CURSOR);
	}
	if (cursor)
		buf_putc(line, '|');
}

static void write_line(struct buf *line, FILE *to)
{
	while (line->len > 0 && line->data[line->len - 1] == ' ')
		line->len--;
	fwrite(line->data, 1, line->len, to);
	fputc('\n', to);
	buf_reset(line);
}

static void dump_layer(const struct grid *g, bool letters, FILE *to)
{
	CLEANUP(buf_release) struct buf line = BUF_INIT;
	for (int row = 0; row < g->rows; row++) {
		const struct cell *c = &g->cell[(size_t)row * (size_t)g->cols];
		if (letters)
			dump_letters(c, g->cols, &line);
		else
			dump_glyphs(c, g->cols, &line);
		write_line(&line, to);
	}
}

void term_text(const struct grid *g, FILE *to)
{
	dump_layer(g, false, to);
}

void term_dump(const struct grid *g, FILE *to)
{
	CLEANUP(buf_release) struct buf line = BUF_INIT;
	term_text(g, to);
	for (int i = 0; i < g->cols; i++)
		buf_putc(&line, '=');
	write_line(&line, to);
	dump_layer(g, true, to);
}
