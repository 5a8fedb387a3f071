#include "ui/term/squeeze.h"

#include <stdio.h>
#include <string.h>

enum { PARAMS = 16 };

/* --- saying ----------------------------------------------------------------------------------- */

static bool squeeze_same(const struct pen *a, const struct pen *b)
{
	return a->fg == b->fg && a->bold == b->bold && a->underline == b->underline &&
	       a->reverse == b->reverse;
}

static void squeeze_add(struct buf *b, const char *code)
{
	if (b->len > 0)
		buf_append(b, ";", 1);
	buf_append(b, code, strlen(code));
}

static void add_colour(struct buf *b, int fg)
{
	char code[16];
	if (fg < 0)
		snprintf(code, sizeof(code), "39");
	else if (fg < 16)
		snprintf(code, sizeof(code), "%d", fg < 8 ? 30 + fg : 90 + fg - 8);
	else
		snprintf(code, sizeof(code), "38;5;%d", fg);
	squeeze_add(b, code);
}

/* Writes the change from @from to @to; turning off is by "everything off", which every terminal
 * knows. */
static void squeeze_say(const struct pen *from, const struct pen *to, struct buf *out)
{
	static const struct pen plain = { .fg = -1 };
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	bool off = (from->bold && !to->bold) || (from->underline && !to->underline) ||
		   (from->reverse && !to->reverse) || (from->fg >= 0 && to->fg < 0);
	if (squeeze_same(from, to))
		return;
	if (off && !squeeze_same(to, &plain))
		squeeze_add(&b, "0");
	from = off ? &plain : from;
	if (to->bold && !from->bold)
		squeeze_add(&b, "1");
	if (to->underline && !from->underline)
		squeeze_add(&b, "4");
	if (to->reverse && !from->reverse)
		squeeze_add(&b, "7");
	if (to->fg != from->fg)
		add_colour(&b, to->fg);
	buf_append(out, "\x1b[", 2);
	buf_append(out, b.data ? b.data : "", b.len);
	buf_append(out, "m", 1);
}

void squeeze_settle(struct squeeze *s, struct buf *out)
{
	if (s->foreign)
		return;
	squeeze_say(&s->told, &s->wanted, out);
	s->told = s->wanted;
}

/* --- understanding ---------------------------------------------------------------------------- */

/* One attribute at p[*i]. False: not one of ours. */
static bool squeeze_set(struct pen *pen, const int *p, int n, int *i)
{
	int c = p[*i];
	if (c == 0)
		*pen = (struct pen){ .fg = -1 };
	else if (c == 1 || c == 22)
		pen->bold = c == 1;
	else if (c == 4 || c == 24)
		pen->underline = c == 4;
	else if (c == 7 || c == 27)
		pen->reverse = c == 7;
	else if (c >= 30 && c <= 37)
		pen->fg = c - 30;
	else if (c >= 90 && c <= 97)
		pen->fg = c - 90 + 8;
	else if (c == 39)
		pen->fg = -1;
	else if (c == 38 && *i + 2 < n && p[*i + 1] == 5)
		pen->fg = p[*i + 2] & 255, *i += 2;
	else
		return false;
	return true;
}

/* "1;33" of CSI 1;33 m. Returns how many numbers, -1: something else. */
static int squeeze_numbers(const char *s, size_t len, int out[PARAMS])
{
	int n = 0;
	out[0] = 0;
	for (size_t i = 0; i < len; i++)
		if (s[i] == ';' && n + 1 < PARAMS)
			out[++n] = 0;
		else if (s[i] >= '0' && s[i] <= '9' && out[n] < 1000)
			out[n] = out[n] * 10 + (s[i] - '0');
		else
			return -1;
	return n + 1;
}

/* Attributes as curses says them: @seq is the whole sequence, its numbers from @seq + 2 on. */
static void squeeze_attributes(struct squeeze *s, const char *seq, size_t len, struct buf *out)
{
	int p[PARAMS], n = squeeze_numbers(seq + 2, len - 3, p);
	struct pen pen = s->wanted;
	bool known = n > 0;
	for (int i = 0; i < n && known; i++)
		known = squeeze_set(&pen, p, n, &i);
	if (known && s->foreign && p[0] == 0) { /* what we did not know is off again */
		buf_append(out, "\x1b[m", 3);
		s->told = (struct pen){ .fg = -1 };
		s->foreign = false;
	}
	if (!known && !s->foreign) {
		squeeze_settle(s, out);
		s->foreign = true;
	}
	if (s->foreign)
		buf_append(out, seq, len);
	if (known)
		s->wanted = pen;
}

/* --- a frame ---------------------------------------------------------------------------------- */

/* Length of the escape sequence at @p: CSI to its final byte, else two or three bytes. */
static size_t squeeze_sequence(const char *p, size_t len)
{
	size_t n = 2;
	if (len < 2)
		return len;
	if (p[1] != '[')
		return p[1] >= 0x20 && p[1] <= 0x2f && len > 2 ? 3 : 2;
	while (n < len && !(p[n] >= 0x40 && p[n] <= 0x7e))
		n++;
	return n < len ? n + 1 : len;
}

static void squeeze_escape(struct squeeze *s, const char *p, size_t n, struct buf *out)
{
	char last = p[n - 1];
	if (n == 3 && memcmp(p, "\x1b(B", 3) == 0)
		return;
	if (n > 2 && p[1] == '[' && last == 'm') {
		squeeze_attributes(s, p, n, out);
		return;
	}
	int region[PARAMS];
	if (last == 'r' && n > 3 && s->rows > 0 && squeeze_numbers(p + 2, n - 3, region) == 2 &&
	    region[0] == 1 && region[1] == s->rows) {
		buf_append(out, "\x1b[r", 3);
		return;
	}
	bool erases = n > 2 && p[1] == '[' && strchr("JKXP@LMST", last);
	if ((erases || n == 2) &&
	    (s->told.underline || s->told.reverse || s->wanted.underline || s->wanted.reverse))
		squeeze_settle(s, out);
	buf_append(out, p, n);
}

static bool squeeze_shows(const struct squeeze *s, char c)
{
	if (c != ' ')
		return (unsigned char)c > ' ';
	return s->told.underline || s->told.reverse || s->wanted.underline || s->wanted.reverse;
}

void squeeze_frame(struct squeeze *s, const char *frame, size_t len, struct buf *out)
{
	for (size_t i = 0, n; i < len; i += n) {
		n = 1;
		if (frame[i] == '\x1b') {
			n = squeeze_sequence(frame + i, len - i);
			squeeze_escape(s, frame + i, n, out);
		} else if (frame[i] != '\x0f') {
			if (squeeze_shows(s, frame[i]))
				squeeze_settle(s, out);
			buf_append(out, frame + i, 1);
		}
	}
}
