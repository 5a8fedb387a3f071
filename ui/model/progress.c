#include "ui/model/progress.h"

#include <ctype.h>
#include <string.h>

enum { MOST = 1000000000 };

static size_t model_progress_number(const char *p, size_t len, int64_t *out)
{
	size_t n = 0;
	int64_t v = 0;
	while (n < len && p[n] >= '0' && p[n] <= '9' && v < MOST)
		v = v * 10 + (p[n++] - '0');
	*out = v;
	return v < MOST ? n : 0;
}

static size_t model_progress_blanks(const char *p, size_t len)
{
	size_t n = 0;
	while (n < len && p[n] == ' ')
		n++;
	return n;
}

/* The last line, and of a line that is written over itself what stands last. */
static const char *model_progress_last_line(const char *text, size_t *len)
{
	size_t end = *len, begin;
	while (end > 0 && (text[end - 1] == '\n' || text[end - 1] == '\r' || text[end - 1] == ' '))
		end--;
	for (begin = end; begin > 0 && text[begin - 1] != '\n' && text[begin - 1] != '\r'; begin--)
		;
	*len = end - begin;
	return text + begin;
}

/* At a number that starts a word or a bracket: bytes of the whole format, 0 for no progress. */
static size_t model_progress_form(const char *p, size_t len, char before, int64_t *done,
				  int64_t *total)
{
	size_t n = model_progress_number(p, len, done), at = n, m;
	if (n == 0)
		return 0;
	if (at < len && p[at] == '%') {
		*total = 100;
		return *done <= 100 ? at + 1 : 0;
	}
	at += model_progress_blanks(p + at, len - at);
	bool bracket = before == '[' || before == '(',
	     of = len - at > 3 && memcmp(p + at, "of ", 3) == 0;
	if (!of && !(bracket && at < len && p[at] == '/'))
		return 0;
	at += of ? 3 : 1;
	at += model_progress_blanks(p + at, len - at);
	m = model_progress_number(p + at, len - at, total);
	at += m;
	bool closed = !bracket || of || (at < len && (p[at] == ']' || p[at] == ')'));
	return m > 0 && *total > 1 && *done <= *total && closed &&
			       (at == len || !isalnum((unsigned char)p[at]))
		       ? at
		       : 0;
}

bool progress_parse(const char *text, size_t len, int64_t *done, int64_t *total)
{
	bool found = false;
	char before = ' ', bracket = 0;
	const char *p = model_progress_last_line(text, &len);
	for (size_t i = 0; i < len;) {
		int64_t d, t;
		bool begins = p[i] >= '0' && p[i] <= '9' && strchr(" [(:=", before) != NULL;
		size_t n = begins ? model_progress_form(p + i, len - i, bracket ? bracket : before,
							&d, &t)
				  : 0;
		if (n)
			*done = d, *total = t, found = true;
		bracket = p[i] == '[' || p[i] == '(' ? p[i] : p[i] == ' ' ? bracket : 0;
		before = p[i];
		i += n ? n : 1;
		if (n)
			before = 'x';
	}
	return found;
}
