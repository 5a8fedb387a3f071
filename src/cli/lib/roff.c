#include "cli/lib/roff.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "control/registry.h"

enum { EXAMPLE_COLUMNS = 68 }; /* of 80, without the margins */

/* --- characters ------------------------------------------------------------------------------- */

static void roff_put_char(struct buf *out, char c, bool minus)
{
	static const struct {
		char c;
		const char *roff;
	} special[] = { { '\\', "\\e" },  { '\'', "\\(aq" }, { '`', "\\(ga" }, { '^', "\\(ha" },
			{ '~', "\\(ti" }, { '"', "\\(dq" },  { '-', "\\-" } };
	if (c == '.' && (!out->len || out->data[out->len - 1] == '\n'))
		buf_puts(out, "\\&"); /* would begin a macro */
	for (size_t i = 0; i < ARRAY_LEN(special); i++)
		if (special[i].c == c && (c != '-' || minus)) {
			buf_puts(out, special[i].roff);
			return;
		}
	buf_putc(out, c);
}

void roff_literal(struct buf *out, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		roff_put_char(out, text[i], true);
}

static void put_font(struct buf *out, char font, const char *text, size_t len)
{
	buf_printf(out, "\\f%c", font);
	roff_literal(out, text, len);
	buf_puts(out, "\\fR");
}

/* --- prose ------------------------------------------------------------------------------------ */

static bool roff_opens(const char *text, size_t i)
{
	return i == 0 || strchr(" ([{\n", text[i - 1]) != NULL;
}

/* The length of what stands quoted from @i on, without its quotes; 0: nothing does (an apostrophe,
 * an empty text). */
static size_t roff_quoted(const char *text, size_t len, size_t i)
{
	if ((text[i] != '\'' && text[i] != '`') || !roff_opens(text, i))
		return 0;
	for (size_t k = i + 1; k < len; k++)
		if (text[k] == text[i] && text[k - 1] != ' ' &&
		    (k + 1 == len || !isalnum((unsigned char)text[k + 1])))
			return k - i - 1;
	return 0;
}

/* The length of an option that stands at @i; 0: none does. */
static size_t roff_option(const char *text, size_t len, size_t i)
{
	size_t k = i;
	if (text[i] != '-' || !roff_opens(text, i))
		return 0;
	while (k < len && text[k] == '-')
		k++;
	size_t dashes = k - i;
	while (k < len && (isalnum((unsigned char)text[k]) || text[k] == '-'))
		k++;
	return k - i > dashes && isalpha((unsigned char)text[i + dashes]) ? k - i : 0;
}

static bool roff_letter(const char *text, size_t len, size_t i)
{
	return i < len && isalpha((unsigned char)text[i]);
}

void roff_prose(struct buf *out, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		size_t n = roff_quoted(text, len, i), o = roff_option(text, len, i);
		if (n) {
			put_font(out, 'B', text + i + 1, n);
			i += n + 1;
		} else if (o) {
			put_font(out, 'B', text + i, o);
			i += o - 1;
		} else if (text[i] == ' ' || text[i] == '\n') {
			if (out->len && !strchr(" \n", out->data[out->len - 1]))
				buf_putc(out, ' ');
		} else {
			roff_put_char(out, text[i],
				      !(i && roff_letter(text, len, i - 1) &&
					roff_letter(text, len, i + 1)));
		}
	}
}

void roff_line(struct buf *out, const char *text, size_t len)
{
	roff_prose(out, text, len);
	buf_putc(out, '\n');
}

/* --- parts of a page -------------------------------------------------------------------------- */

/* "2026-11-21": of the day on which the page is made, or the one that the builder of a package
 * names. */
static void put_date(struct buf *out)
{
	const char *epoch = getenv("SOURCE_DATE_EPOCH");
	time_t when = epoch && *epoch ? (time_t)strtoll(epoch, NULL, 10) : time(NULL);
	struct tm tm;
	if (!gmtime_r(&when, &tm))
		memset(&tm, 0, sizeof(tm));
	buf_printf(out, "%04d-%02d-%02d", tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday);
}

void roff_paragraph(struct buf *out)
{
	const char *last = out->len > 1 ? memrchr(out->data, '\n', out->len - 1) : NULL;
	if (!last || strncmp(last + 1, ".S", 2) != 0) /* a heading begins one */
		buf_puts(out, ".PP\n");
}

void roff_page(struct buf *out, const char *name, int section, const char *title,
	       const char *version, const char *about)
{
	buf_puts(out, ".TH ");
	for (const char *c = name; *c; c++)
		roff_put_char(out, (char)toupper((unsigned char)*c), true);
	buf_printf(out, " %d ", section);
	put_date(out);
	buf_printf(out, " \"sandglass %s\" \"%s\"\n", version, title);
	/* syntax is not hyphenated, and columns of 80 are not spread */
	buf_puts(out, ".nh\n.ad l\n");
	roff_section(out, "Name");
	roff_literal(out, name, strlen(name));
	buf_puts(out, " \\- ");
	roff_line(out, about, strlen(about));
}

void roff_section(struct buf *out, const char *title)
{
	buf_puts(out, ".SH ");
	for (const char *c = title; *c; c++)
		roff_put_char(out, (char)toupper((unsigned char)*c), true);
	buf_putc(out, '\n');
}

void roff_heading(struct buf *out, const char *text, size_t len)
{
	buf_puts(out, ".SS ");
	roff_literal(out, text, len);
	buf_putc(out, '\n');
}

void roff_usage(struct buf *out, const char *text, size_t len)
{
	for (size_t i = 0; i < len;) {
		size_t n = i;
		while (n < len && (isalnum((unsigned char)text[n]) || strchr("-_,", text[n])))
			n++;
		if (n == i) {
			roff_put_char(out, text[i++], true);
			continue;
		}
		put_font(out, isupper((unsigned char)text[i]) ? 'I' : 'B', text + i, n - i);
		i = n;
	}
}

/* Where a comment of a shell begins, or @len. Where the line can be broken before @most columns: at
 * the last blank that is in no quotes, in front of an option if there is one; 0: nowhere. */
static size_t break_at(const char *line, size_t len, size_t most, size_t *comment)
{
	size_t blank = 0, option_at = 0;
	char quote = 0;
	*comment = len;
	for (size_t i = 0; i + 1 < len && *comment == len; i++) {
		if (quote ? line[i] == quote : line[i] == '\'' || line[i] == '"')
			quote = quote ? 0 : line[i];
		else if (line[i] != ' ' || quote)
			continue;
		else if (line[i + 1] == '#')
			*comment = i + 1;
		else if (i < most && i > EXAMPLE_COLUMNS / 4)
			*(line[i + 1] == '-' ? &option_at : &blank) = i;
	}
	return option_at ? option_at : blank;
}

static void roff_put_line(struct buf *out, const char *text, size_t len, const char *end)
{
	while (len && text[len - 1] == ' ')
		len--;
	roff_literal(out, text, len);
	buf_puts(out, end);
}

void roff_example(struct buf *out, const char *line, size_t len)
{
	size_t comment, at = break_at(line, len, EXAMPLE_COLUMNS, &comment);
	if (len <= EXAMPLE_COLUMNS || *line != '$') {
		roff_put_line(out, line, len, "\n");
	} else if (comment < len) { /* has a line of its own, in front */
		roff_put_line(out, "  ", 0, "  ");
		roff_put_line(out, line + comment, len - comment, "\n");
		roff_example(out, line, comment);
	} else {
		roff_put_line(out, line, at ? at : len, at ? " \\e\n" : "\n");
		if (at)
			roff_put_line(out, "", 0, "      ");
		if (at)
			roff_put_line(out, line + at + 1, len - at - 1, "\n");
	}
}

/* --- layout ----------------------------------------------------------------------------------- */

enum layout { LAYOUT_NONE, LAYOUT_PROSE, LAYOUT_ROW, LAYOUT_EXAMPLE };

static void layout_end(struct buf *out, enum layout was)
{
	if (was == LAYOUT_EXAMPLE)
		buf_puts(out, ".fi\n.RE\n");
	else if (was == LAYOUT_PROSE || was == LAYOUT_ROW)
		buf_putc(out, '\n');
}

static void layout_begin(struct buf *out, enum layout now)
{
	if (now == LAYOUT_EXAMPLE || now == LAYOUT_PROSE)
		roff_paragraph(out);
	if (now == LAYOUT_EXAMPLE)
		buf_puts(out, ".RS 2\n.nf\n");
	else if (now == LAYOUT_ROW)
		buf_puts(out, ".TP\n");
}

/* "  TERM   TEXT" */
static void roff_put_row(struct buf *out, const char *line, size_t len)
{
	const char *gap = memmem(line, len, "  ", 2);
	size_t term = gap ? (size_t)(gap - line) : len;
	put_font(out, 'B', line, term);
	buf_putc(out, '\n');
	while (term < len && line[term] == ' ')
		term++;
	roff_prose(out, line + term, len - term);
}

void roff_layout(struct buf *out, const char *text)
{
	enum layout was = LAYOUT_NONE;
	for (const char *line = text, *end; *line; line = *end ? end + 1 : end) {
		end = strchrnul(line, '\n');
		size_t len = (size_t)(end - line), indent = strspn(line, " ");
		enum layout now = len == 0		      ? LAYOUT_NONE
				  : !strncmp(line, "  $ ", 4) ? LAYOUT_EXAMPLE
				  : indent == 2		      ? LAYOUT_ROW
							      : LAYOUT_PROSE;
		bool goes_on = (now == LAYOUT_PROSE && was == LAYOUT_PROSE) ||
			       (indent > 2 && was == LAYOUT_ROW) ||
			       (now == LAYOUT_EXAMPLE && was == LAYOUT_EXAMPLE);
		if (!goes_on) {
			layout_end(out, was);
			layout_begin(out, now);
			was = now;
		} else if (was != LAYOUT_EXAMPLE) {
			buf_putc(out, ' ');
		}
		if (was == LAYOUT_EXAMPLE)
			roff_example(out, line + 2, len - 2);
		else if (now == LAYOUT_ROW)
			roff_put_row(out, line + 2, len - 2);
		else if (len)
			roff_prose(out, line + indent, len - indent);
	}
	layout_end(out, was);
}

void roff_options(struct buf *out, const char *table)
{
	struct option_row r;
	while (option_next(&table, &r)) {
		buf_puts(out, ".TP\n");
		if (r.letter) {
			char name[] = { '-', r.letter, 0 };
			put_font(out, 'B', name, 2);
		}
		if (r.name[0]) {
			CLEANUP(free_ptr) char *name = mem_printf("--%s", r.name);
			buf_puts(out, r.letter ? ", " : "");
			put_font(out, 'B', name, strlen(name));
		}
		if (r.value[0]) {
			buf_putc(out, ' ');
			roff_usage(out, r.value, strlen(r.value));
		}
		buf_puts(out, r.repeats ? "...\n" : "\n");
		roff_line(out, r.text, r.text_len);
	}
}
