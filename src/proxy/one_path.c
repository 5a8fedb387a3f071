#include "proxy/one_path.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/text/utf8.h"

static int hex_digit(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
				      : -1;
}

static bool needs_no_escape(int c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       (c && strchr("-._~", c));
}

static const char *bad_byte(int c)
{
	if (c < ' ' || c == 0x7f)
		return "a path with a control character";
	return c == '\\' ? "a path with a backslash" : c == '#' ? "a path with a fragment" : NULL;
}

/* In "/@scope%2fname" registries take the escape for the separator that it is. */
static bool scope_ends(const struct buf *out)
{
	size_t at = out->len;
	while (at && out->data[at - 1] != '/')
		at--;
	return at && out->len - at > 1 && out->data[at] == '@';
}

/* Escapes to their one form; @plain gets the decoded bytes. */
static const char *one_path_one_escape(const char *path, size_t len, struct buf *out,
				       struct buf *plain)
{
	for (size_t i = 0; i < len; i++) {
		int c = (unsigned char)path[i];
		bool escaped = c == '%';
		if (escaped) {
			int high = i + 2 < len ? hex_digit(path[i + 1]) : -1,
			    low = high >= 0 ? hex_digit(path[i + 2]) : -1;
			if (low < 0)
				return "a path with an invalid escape";
			c = high * 16 + low;
			i += 2;
		}
		if (bad_byte(c))
			return bad_byte(c);
		if (escaped && c == '/' && scope_ends(out))
			escaped = false;
		bool again = c == '%' && i + 2 < len && hex_digit(path[i + 1]) >= 0 &&
			     hex_digit(path[i + 2]) >= 0;
		/* again: an escape of an escape, which a server may decode twice */
		if (escaped && (c == '/' || again))
			return "a path with an encoded separator";
		buf_putc(plain, (char)c);
		if (!escaped || needs_no_escape(c))
			buf_putc(out, (char)c);
		else
			buf_printf(out, "%%%02X", (unsigned)c);
	}
	return utf8_valid(plain->data, plain->len) ? NULL : "a path that is not UTF-8";
}

static bool is_dots(const char *s, size_t len, size_t *nr_out)
{
	size_t n = 0;
	while (n < len && s[n] == '.')
		n++;
	*nr_out = n;
	return n && n <= 2 && (n == len || s[n] == ';');
}

/* Bytes at @s that some server reads as a dot: a dot, or a sign that looks like one or several; 0:
 * none. */
static size_t like_dot(const char *s, size_t len, size_t *dots)
{
	static const struct {
		const char *text;
		size_t dots;
	} signs[] = { { ".", 1 },      { "\u2024", 1 }, { "\uFF0E", 1 }, { "\uFE52", 1 },
		      { "\u3002", 1 }, { "\uFF61", 1 }, { "\u2025", 2 }, { "\u2026", 3 } };
	for (size_t i = 0; i < ARRAY_LEN(signs); i++) {
		size_t n = strlen(signs[i].text);
		if (len >= n && !memcmp(s, signs[i].text, n)) {
			*dots += signs[i].dots;
			return n;
		}
	}
	return 0;
}

/* A name that some servers take for "..": they drop blanks at its ends and what follows a
 * semicolon, or take other signs for dots. @s in its one form. */
static bool like_parent(const char *s, size_t len)
{
	char name[64];
	size_t n = 0, i = 0, dots = 0, took;
	for (; i < len && n < sizeof(name); i++) {
		bool escape = s[i] == '%' && i + 2 < len;
		name[n++] = escape ? (char)(hex_digit(s[i + 1]) * 16 + hex_digit(s[i + 2])) : s[i];
		i += escape ? 2 : 0;
	}
	bool other = n && name[0] == ' ';
	for (i = 0; i < n && name[i] == ' ';)
		i++;
	while ((took = like_dot(name + i, n - i, &dots))) {
		other |= name[i] != '.';
		i += took;
	}
	bool behind = i < n && (name[i] == ' ' || name[i] == ';');
	return dots >= 2 && (other || behind);
}

const char *one_path(const char *path, size_t len, struct buf *out)
{
	CLEANUP(buf_release) struct buf escaped = BUF_INIT;
	CLEANUP(buf_release) struct buf plain = BUF_INIT;
	size_t first = out->len, dots;
	if (!len || *path != '/')
		return "a path without a slash in front";
	const char *why = one_path_one_escape(path, len, &escaped, &plain), *p = buf_cstr(&escaped);
	if (why)
		return why;
	for (const char *end = p + escaped.len; p < end;) {
		const char *slash = memchr(p + 1, '/', (size_t)(end - p - 1)),
			   *next = slash ? slash : end;
		size_t n = (size_t)(next - p) - 1;
		bool is = is_dots(p + 1, n, &dots);
		if (is && dots != n)
			/* some servers drop them first */
			return "a path with parameters after dots";
		if (like_parent(p + 1, n))
			return "a path with a name that may mean its parent";
		if (is && dots == 2)
			while (out->len > first && out->data[--out->len] != '/')
				continue;
		else if (!is && n)
			buf_append(out, p, n + 1);
		if (!slash && (is || !n))
			buf_putc(out, '/');
		p = next;
	}
	if (out->len == first)
		buf_putc(out, '/');
	out->data[out->len] = 0;
	return NULL;
}

bool one_path_override_field(const char *name)
{
	static const char *const known[] = { "x-http-method-override", "x-http-method",
					     "x-method-override",      "x-original-method",
					     "x-original-url",	       "x-rewrite-url",
					     "x-override-url",	       "x-original-uri" };
	CLEANUP(free_ptr) char *dashed = mem_strdup(name); /* CGI has one form for - and _ */
	for (char *c = dashed; *c; c++)
		*c = *c == '_' ? '-' : *c;
	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (!strcmp(known[i], dashed))
			return true;
	return false;
}

bool one_path_override_query(const char *query, size_t len)
{
	static const char *const known[] = { "_method",	      "x-http-method-override",
					     "x-http-method", "x-method-override",
					     "_httpmethod",   "$httpmethod" };
	CLEANUP(buf_release) struct buf plain = BUF_INIT;
	for (size_t i = 0; i < len; i++) { /* names may be escaped, too */
		int high = query[i] == '%' && i + 2 < len ? hex_digit(query[i + 1]) : -1,
		    low = high >= 0 ? hex_digit(query[i + 2]) : -1;
		buf_putc(&plain, low < 0 ? query[i] : (char)(high * 16 + low));
		i += low < 0 ? 0 : 2;
	}
	const char *p = buf_cstr(&plain), *end = p + plain.len;
	while (p < end) {
		size_t n = strcspn(p, "?&;"), name = strcspn(p, "=&?;");
		for (size_t i = 0; i < ARRAY_LEN(known); i++)
			if (name == strlen(known[i]) && !strncasecmp(p, known[i], name))
				return true;
		p += n + 1;
	}
	return false;
}
