#include "terminal/plain_lines.h"

#include <stdlib.h>
#include <string.h>

enum { BEL = 7, CAN = 0x18, SUB = 0x1a, ESC = 0x1b, DEL = 0x7f };

struct run { /* of plain text, in the output that becomes shorter */
	size_t from, to;
	size_t nr_lines; /* CR LF in it */
};

static bool is_plain(unsigned char c)
{
	return c >= ' ' || c == '\n' || c == '\r' || c == '\t' || c == '\b' || c == BEL;
}

static size_t after_string(const char *p, size_t at, size_t len)
{
	for (; at < len; at++) {
		if (p[at] == BEL || p[at] == CAN || p[at] == SUB)
			return at + 1;
		if (p[at] == ESC && at + 1 < len) /* ST, or the start of what cuts it off */
			return p[at + 1] == '\\' ? at + 2 : at;
	}
	return len;
}

/* Behind the arguments and the last byte of a CSI; @at: its first argument. */
static size_t after_csi(const char *p, size_t at, size_t len, char *end)
{
	for (; at < len && ((unsigned char)p[at] < 0x40 || p[at] == DEL); at++)
		if (p[at] == ESC || p[at] == CAN || p[at] == SUB)
			return p[at] == ESC ? at : at + 1;
	*end = at < len ? p[at] : 0;
	return at < len ? at + 1 : len;
}

/* Behind the sequence that starts at @at; @len if it is not complete. @end: its last byte. Controls
 * and bytes beyond ASCII don't end it: the emulator does the ones and passes over the others. */
static size_t after_sequence(const char *p, size_t at, size_t len, char *end)
{
	*end = 0;
	if (p[at] != ESC)
		return at + 1;
	for (at++; at < len; at++) {
		unsigned char c = (unsigned char)p[at];
		if (c == ESC || c == CAN || c == SUB)
			return c == ESC ? at : at + 1;
		if (c == '[')
			return after_csi(p, at + 1, len, end);
		if (c && strchr("]P_^X", c))
			return after_string(p, at + 1, len);
		if (c >= '0' && c < DEL) {
			*end = (char)c;
			return at + 1;
		}
	}
	return len;
}

/* The sequence <p, len> sets a color or another attribute of later text. */
static bool is_style(const char *p, size_t len)
{
	if (len < 3 || p[1] != '[' || p[len - 1] != 'm')
		return false;
	for (size_t i = 2; i + 1 < len; i++)
		if (!strchr("0123456789;:", p[i]) || !p[i])
			return false;
	return true;
}

/* A sequence that reaches to the end of the output: @end is its last byte, 0 of a string or of one
 * that has not come. */
static bool is_complete(const char *p, size_t len, char end)
{
	bool bell = len > 2 && p[len - 1] == BEL;
	return end || bell || (len > 3 && p[len - 2] == ESC && p[len - 1] == '\\') ||
	       (len > 2 && (p[len - 1] == CAN || p[len - 1] == SUB));
}

static void follow_margins(const char *p, size_t len, char end, bool *margins)
{
	size_t at = 1; /* controls and intermediate bytes may follow the ESC */
	bool intermediate = false;
	for (; at < len && ((unsigned char)p[at] < '0' || (unsigned char)p[at] >= DEL); at++)
		intermediate |= p[at] >= ' ' && p[at] < '0';
	bool csi = at + 1 < len && p[at] == '[', bare = at + 2 == len;
	if (csi && end == 'r' && p[at + 1] != '?')
		*margins = !bare;
	else if (csi && end == 's' && !bare)
		*margins = true;
	else if (!intermediate && at + 1 == len && end == 'c')
		*margins = false;
}

/* The output is made shorter in its place: @out bytes of it are done. */
struct shorter {
	char *p;
	size_t out;
};

static void shorter_keep(struct shorter *s, const char *from, size_t len)
{
	if (from != s->p + s->out)
		memmove(s->p + s->out, from, len);
	s->out += len;
}

/* Keeps the styles that are set in <p, len>, from the last one that takes all back. */
static void keep_styles(struct shorter *s, const char *p, size_t len)
{
	size_t first = s->out;
	const char *at = p, *stop = p + len;
	while (at < stop && (at = memchr(at, ESC, (size_t)(stop - at)))) {
		char end;
		size_t n = after_sequence(at, 0, (size_t)(stop - at), &end);
		if (n == 3 || (n == 4 && at[2] == '0'))
			s->out = first;
		shorter_keep(s, at, n);
		at += n;
	}
}

/* Keeps the run, without the lines that no screen of @keep / 2 rows can show at its end. */
static void end_run(struct shorter *s, const struct run *r, size_t keep, bool margins)
{
	size_t at = r->to;
	if (margins || r->nr_lines <= keep) {
		shorter_keep(s, s->p + r->from, r->to - r->from);
		return;
	}
	for (size_t nr = 0; nr <= keep;) {
		const char *lf = memrchr(s->p + r->from, '\n', at - r->from);
		at = (size_t)(lf - s->p);
		nr += at > r->from && s->p[at - 1] == '\r';
	}
	keep_styles(s, s->p + r->from, at - r->from);
	s->p[at] = '\r'; /* in the place of the line feed before the first line that is kept */
	shorter_keep(s, s->p + at, r->to - at);
}

size_t plain_lines_drop(struct buf *b, int rows, bool in_string, bool *margins)
{
	char *p = b->data;
	size_t len = b->len, keep = (size_t)rows * 2, left = 0;
	size_t at = in_string ? after_string(p, 0, len) : 0;
	struct run r = { .from = at, .to = at };
	struct shorter s = { .p = p, .out = at };
	while (at < len) {
		char end;
		if (is_plain((unsigned char)p[at])) {
			r.nr_lines += p[at] == '\n' && at > r.from && p[at - 1] == '\r';
			for (at++; at < len && (unsigned char)p[at] >= ' ';)
				at++;
			r.to = at;
			continue;
		}
		size_t next = after_sequence(p, at, len, &end);
		if (end == 'm' && is_style(p + at, next - at)) {
			r.to = at = next;
			continue;
		}
		end_run(&s, &r, keep, *margins);
		if (p[at] == ESC && next == len && !is_complete(p + at, next - at, end))
			left = next - at;
		follow_margins(p + at, next - at, end, margins);
		shorter_keep(&s, p + at, next - at);
		r = (struct run){ .from = next, .to = next };
		at = next;
	}
	end_run(&s, &r, keep, *margins);
	b->len = s.out;
	if (p)
		p[s.out] = 0;
	return b->len - left;
}
