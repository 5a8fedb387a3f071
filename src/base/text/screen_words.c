#include "base/text/screen_words.h"

#include <string.h>

enum { ESC = 0x1b, BEL = 7, RIGHT_MAX = 200, PARAMS_MAX = 12 };

/* ESC ] ... up to BEL or ESC \. Returns where the text continues. */
static size_t skip_string(const char *s, size_t n, size_t i)
{
	for (; i < n && s[i] != BEL; i++)
		if (s[i] == ESC)
			return i + 1 < n && s[i + 1] == '\\' ? i + 2 : i;
	return i < n ? i + 1 : n;
}

struct words {
	struct buf *out;
	size_t most; /* spaces stop here: a short sequence must not fill the memory */
	long column; /* of the cursor, from 0, as far as the bytes tell */
};

static void words_put(struct words *w, char c)
{
	if (c == '\n' && (!w->out->len || w->out->data[w->out->len - 1] == '\n')) {
		w->column = 0;
		return;
	}
	buf_putc(w->out, c);
	w->column = c == '\n' ? 0 : w->column + (((unsigned char)c & 0xc0) != 0x80);
}

static void words_right(struct words *w, long columns)
{
	for (long k = 0; k < columns && k < RIGHT_MAX && w->out->len < w->most; k++)
		words_put(w, ' ');
}

/* The digits at @p, at most PARAMS_MAX of them, as a number; 0 without any. */
static long csi_number(const char *p, const char *end)
{
	long n = 0;
	for (; p < end && *p >= '0' && *p <= '9'; p++)
		n = n * 10 + (*p - '0');
	return n;
}

/* ESC [ ..: @i is behind the bracket. */
static size_t take_csi(const char *s, size_t n, size_t i, struct words *w)
{
	size_t from = i;
	while (i < n && (unsigned char)s[i] >= 0x20 && s[i] < 0x40)
		i++;
	if (i == n)
		return n;
	char final = s[i];
	const char *second = memchr(s + from, ';', i - from);
	long first = i - from < PARAMS_MAX ? csi_number(s + from, s + i) : 0;
	if (first < 1)
		first = 1;
	if (final == 'C' || (final == 'G' && first > w->column)) {
		words_right(w, final == 'C' ? first : first - 1 - w->column);
	} else if (strchr("ABDEFGHdf", final)) {
		words_put(w, '\n');
		if (strchr("Hf", final) && second && i - from < PARAMS_MAX)
			w->column = csi_number(second + 1, s + i) - 1;
		else if (final == 'G')
			w->column = first - 1;
	}
	return (unsigned char) final < 0x40 ? i : i + 1;
}

static size_t take_escape(const char *s, size_t n, size_t i, struct words *w)
{
	if (i + 1 >= n)
		return n;
	char c = s[i + 1];
	if (c == '[')
		return take_csi(s, n, i + 2, w);
	if (strchr("]P_^X", c))
		return skip_string(s, n, i + 2);
	i++;
	while (i < n && s[i] >= 0x20 && s[i] < 0x30) /* ESC ( B */
		i++;
	return i < n ? i + 1 : n;
}

void screen_words(const char *bytes, size_t len, struct buf *out)
{
	struct words w = { .out = out, .most = out->len + 2 * len + RIGHT_MAX };
	for (size_t i = 0; i < len;) {
		unsigned char c = (unsigned char)bytes[i];
		if (c == ESC) {
			i = take_escape(bytes, len, i, &w);
			continue;
		}
		if (c == '\r' || c == '\n')
			words_put(&w, '\n');
		else if (c >= 0x20 || c == '\t')
			words_put(&w, (char)c);
		i++;
	}
}
