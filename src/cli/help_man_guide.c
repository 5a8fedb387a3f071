/* sandglass-tutorial(7), sandglass-console(7), and sandglass-backends(7), from the program's guides
 * in Markdown. Of Markdown it knows sections,
 * paragraphs, lists, tables, and code, as the guides use them. */
#include <ctype.h>
#include <string.h>

#include "cli/help.h"
#include "cli/lib/roff.h"
#include "base/mem.h"
#include "luahost/library.h"

enum { CELLS_MAX = 8 };

enum guide_part {
	PART_NONE,
	PART_PROSE,
	PART_LIST,
	PART_CODE,
	PART_FENCE,
	PART_PICTURE,
	PART_TABLE
};

struct guide {
	struct buf *out;
	enum guide_part part;
	char *head[CELLS_MAX]; /* of the table */
	size_t nr_head;
	bool titled; /* a section has begun */
};

static void guide_end(struct guide *g)
{
	if (g->part == PART_CODE || g->part == PART_FENCE)
		buf_puts(g->out, ".fi\n.RE\n");
	else if (g->part == PART_PROSE || g->part == PART_LIST)
		buf_putc(g->out, '\n');
	while (g->nr_head)
		free(g->head[--g->nr_head]);
	g->part = PART_NONE;
}

static void guide_code(struct guide *g, enum guide_part part)
{
	guide_end(g);
	roff_paragraph(g->out);
	buf_puts(g->out, ".RS 2\n.nf\n");
	g->part = part;
}

/* The text between the next two bars of a row; false: there is none. */
static bool guide_cell(const char **at, const char *end, const char **cell, size_t *len)
{
	const char *s = *at;
	if (s >= end || *s != '|')
		return false;
	const char *bar = memchr(s + 1, '|', (size_t)(end - s - 1));
	if (!bar)
		return false;
	*at = bar;
	for (s++; s < bar && *s == ' '; s++) {
	}
	while (bar > s && bar[-1] == ' ')
		bar--;
	*cell = s;
	*len = (size_t)(bar - s);
	return true;
}

/* The first cell is the term. Of several further ones, each follows the name of its column. */
static void guide_row(struct guide *g, const char *line, const char *end)
{
	const char *cell;
	size_t len, column = 0;
	bool first = true;
	buf_puts(g->out, ".TP\n");
	for (; guide_cell(&line, end, &cell, &len); column++) {
		if (column == 0) {
			roff_line(g->out, cell, len);
			continue;
		}
		if (!len)
			continue;
		buf_puts(g->out, first ? "" : "; ");
		first = false;
		if (g->nr_head > 2 && column < g->nr_head) {
			roff_prose(g->out, g->head[column], strlen(g->head[column]));
			buf_puts(g->out, ": ");
		}
		roff_prose(g->out, cell, len);
	}
	buf_putc(g->out, '\n');
}

static void guide_table(struct guide *g, const char *line, const char *end)
{
	const char *cell;
	size_t len;
	if (g->part == PART_TABLE) {
		if (line[1] != '-')
			guide_row(g, line, end);
		return;
	}
	guide_end(g);
	g->part = PART_TABLE;
	while (g->nr_head < CELLS_MAX && guide_cell(&line, end, &cell, &len))
		g->head[g->nr_head++] = mem_strndup(cell, len);
}

static size_t guide_list_mark(const char *line, size_t len)
{
	size_t digits = 0;
	while (digits < len && isdigit((unsigned char)line[digits]))
		digits++;
	if (digits && digits + 1 < len && line[digits] == '.' && line[digits + 1] == ' ')
		return digits + 2;
	return len > 2 && line[0] == '-' && line[1] == ' ' ? 2 : 0;
}

static void guide_text(struct guide *g, const char *line, size_t len)
{
	size_t mark = guide_list_mark(line, len), indent = strspn(line, " ");
	if (mark) {
		guide_end(g);
		buf_printf(g->out, mark == 2 ? ".IP \\(bu 2\n" : ".IP %.*s 4\n", (int)mark - 1,
			   line);
		g->part = PART_LIST;
		indent = mark;
	} else if (g->part == PART_PROSE || g->part == PART_LIST) {
		buf_putc(g->out, ' ');
	} else {
		guide_end(g);
		roff_paragraph(g->out);
		g->part = PART_PROSE;
	}
	roff_prose(g->out, line + indent, len - indent);
}

static void guide_line(struct guide *g, const char *line, const char *end)
{
	size_t len = (size_t)(end - line);
	if (len && *line != '#' && !g->titled)
		roff_section(g->out, "Description");
	g->titled |= len && (*line != '#' || line[1] == '#');
	if (len >= 3 && !memcmp(line, "```", 3)) {
		if (g->part == PART_FENCE || g->part == PART_PICTURE) {
			guide_end(g);
		} else if (len == 7 && !memcmp(line + 3, "text", 4)) {
			guide_end(g); /* a screen: its frame is not of every terminal */
			g->part = PART_PICTURE;
		} else {
			guide_code(g, PART_FENCE);
		}
	} else if (g->part == PART_PICTURE) {
		return;
	} else if (g->part == PART_FENCE) {
		roff_example(g->out, line, len);
	} else if (len >= 4 && !memcmp(line, "    ", 4) && g->part != PART_LIST) {
		if (g->part != PART_CODE)
			guide_code(g, PART_CODE);
		roff_example(g->out, line + 4, len - 4);
	} else if (len > 3 && !memcmp(line, "## ", 3)) {
		CLEANUP(free_ptr) char *title = mem_strndup(line + 3, len - 3);
		guide_end(g);
		roff_section(g->out, title);
	} else if (len && *line == '|') {
		guide_table(g, line, end);
	} else if (!len) {
		guide_end(g);
	} else if (*line != '#') {
		guide_text(g, line, len);
	}
}

void help_man_guide(struct buf *out, const char *file)
{
	struct guide g = { .out = out };
	size_t len;
	const char *text = library_file(file, &len), *all = text ? text + len : NULL;
	for (const char *line = text, *end; line && line < all; line = end + 1) {
		end = memchr(line, '\n', (size_t)(all - line));
		end = end ? end : all;
		guide_line(&g, line, end);
	}
	guide_end(&g);
}
