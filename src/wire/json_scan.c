#include "wire/json_scan.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 2048 }; /* as in jansson */

char json_scan_peek(struct json_scan *s)
{
	while (s->p < s->end && (*s->p == ' ' || *s->p == '\n' || *s->p == '\t' || *s->p == '\r'))
		s->p++;
	return s->p < s->end ? *s->p : 0;
}

bool json_scan_take(struct json_scan *s, char c)
{
	if (json_scan_peek(s) != c || s->p == s->end)
		return false;
	s->p++;
	return true;
}

bool json_scan_enter(struct json_scan *s)
{
	return ++s->depth <= DEPTH_MAX;
}

void json_scan_leave(struct json_scan *s)
{
	s->depth--;
}

bool json_scan_word(struct json_scan *s, const char *word)
{
	size_t n = strlen(word);
	json_scan_peek(s);
	if ((size_t)(s->end - s->p) < n || memcmp(s->p, word, n) != 0)
		return false;
	s->p += n;
	/* jansson reads all letters as one word */
	return s->p == s->end ||
	       !((*s->p >= 'a' && *s->p <= 'z') || (*s->p >= 'A' && *s->p <= 'Z'));
}

/* --- strings ---------------------------------------------------------------------------------- */

/* Length of the UTF-8 sequence at @p; 0: none. */
static size_t utf8_sequence(const unsigned char *p, size_t left)
{
	unsigned char c = p[0];
	size_t n = c < 0x80 ? 1 : c < 0xc2 ? 0 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : c < 0xf5 ? 4 : 0;
	if (!n || n > left)
		return 0;
	for (size_t i = 1; i < n; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	if ((c == 0xe0 && p[1] < 0xa0) || (c == 0xed && p[1] > 0x9f) ||
	    (c == 0xf0 && p[1] < 0x90) || (c == 0xf4 && p[1] > 0x8f))
		return 0; /* overlong, a surrogate, or above U+10FFFF */
	return n;
}

/* The end of a string that begins at s->p, with all of it checked but its surrogates. */
static const char *string_end(const struct json_scan *s, bool *escaped)
{
	const char *p = s->p;
	while (p < s->end && *p != '"') {
		unsigned char c = (unsigned char)*p;
		if (c < 0x20)
			return NULL;
		if (c == '\\') {
			*escaped = true;
			if (++p == s->end || !strchr("\"\\/bfnrtu", *p) || !*p)
				return NULL;
			p++;
			continue;
		}
		size_t n = utf8_sequence((const unsigned char *)p, (size_t)(s->end - p));
		if (!n)
			return NULL;
		p += n;
	}
	return p < s->end ? p : NULL;
}

/* Four hexadecimal digits at *@p; false: others. */
static bool hex_unit(const char **p, const char *end, uint32_t *out)
{
	if (end - *p < 4)
		return false;
	*out = 0;
	for (int i = 0; i < 4; i++) {
		char c = *(*p)++;
		uint32_t digit = c >= '0' && c <= '9'	? (uint32_t)(c - '0')
				 : c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a' + 10)
				 : c >= 'A' && c <= 'F' ? (uint32_t)(c - 'A' + 10)
							: 16;
		if (digit > 15)
			return false;
		*out = *out << 4 | digit;
	}
	return true;
}

static bool unescape_unicode(const char **p, const char *end, uint32_t *out)
{
	uint32_t low;
	if (!hex_unit(p, end, out) || (*out >= 0xdc00 && *out < 0xe000))
		return false;
	if (*out < 0xd800 || *out >= 0xdc00)
		return true;
	if (end - *p < 6 || (*p)[0] != '\\' || (*p)[1] != 'u')
		return false;
	*p += 2;
	if (!hex_unit(p, end, &low) || low < 0xdc00 || low >= 0xe000)
		return false;
	*out = 0x10000 + ((*out - 0xd800) << 10) + (low - 0xdc00);
	return true;
}

static char *put_utf8(char *o, uint32_t c)
{
	if (c < 0x80) {
		*o++ = (char)c;
	} else if (c < 0x800) {
		*o++ = (char)(0xc0 | c >> 6);
		*o++ = (char)(0x80 | (c & 63));
	} else if (c < 0x10000) {
		*o++ = (char)(0xe0 | c >> 12);
		*o++ = (char)(0x80 | (c >> 6 & 63));
		*o++ = (char)(0x80 | (c & 63));
	} else {
		*o++ = (char)(0xf0 | c >> 18);
		*o++ = (char)(0x80 | (c >> 12 & 63));
		*o++ = (char)(0x80 | (c >> 6 & 63));
		*o++ = (char)(0x80 | (c & 63));
	}
	return o;
}

/* @out has room: no escape is shorter than its character. */
static bool unescape_string(const char *p, const char *end, char *out, size_t *len)
{
	static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
	char *o = out;
	while (p < end) {
		if (*p != '\\') {
			*o++ = *p++;
			continue;
		}
		char c = p[1];
		p += 2;
		uint32_t code;
		const char *at = strchr(from, c);
		if (c == 'u') {
			if (!unescape_unicode(&p, end, &code))
				return false;
			o = put_utf8(o, code);
		} else {
			*o++ = at ? to[at - from] : c;
		}
	}
	*len = (size_t)(o - out);
	return true;
}

bool json_scan_string(struct json_scan *s, const char **out, size_t *len)
{
	bool escaped = false;
	if (!json_scan_take(s, '"'))
		return false;
	const char *from = s->p, *end = string_end(s, &escaped);
	if (!end)
		return false;
	s->p = end + 1;
	*out = from;
	*len = (size_t)(end - from);
	if (!escaped)
		return true;
	char *plain = arena_alloc(s->arena, *len + 1);
	*out = plain;
	return unescape_string(from, end, plain, len);
}

/* --- numbers ---------------------------------------------------------------------------------- */

static size_t scan_digits(const char *p, const char *end)
{
	const char *from = p;
	while (p < end && *p >= '0' && *p <= '9')
		p++;
	return (size_t)(p - from);
}

static bool scan_real(struct json_scan *s, const char *from)
{
	if (s->p < s->end && *s->p == '.') {
		size_t n = scan_digits(++s->p, s->end);
		s->p += n;
		if (!n)
			return false;
	}
	if (s->p < s->end && (*s->p == 'e' || *s->p == 'E')) {
		s->p++;
		if (s->p < s->end && (*s->p == '+' || *s->p == '-'))
			s->p++;
		size_t n = scan_digits(s->p, s->end);
		s->p += n;
		if (!n)
			return false;
	}
	double v = strtod(arena_strndup(s->arena, from, (size_t)(s->p - from)), NULL);
	return isfinite(v);
}

/* "-" and digits as a number; false: it does not fit. */
static bool int_of(const char *p, const char *end, int64_t *out)
{
	bool minus = *p == '-';
	*out = 0;
	for (p += minus; p < end; p++) {
		int64_t digit = *p - '0';
		if (__builtin_mul_overflow(*out, 10, out) ||
		    (minus ? __builtin_sub_overflow(*out, digit, out)
			   : __builtin_add_overflow(*out, digit, out)))
			return false;
	}
	return true;
}

bool json_scan_number(struct json_scan *s, bool *is_int, int64_t *out)
{
	json_scan_peek(s);
	const char *from = s->p;
	if (s->p < s->end && *s->p == '-')
		s->p++;
	size_t n = scan_digits(s->p, s->end);
	if (!n || (n > 1 && *s->p == '0'))
		return false;
	s->p += n;
	*is_int = s->p == s->end || !strchr(".eE", *s->p) || !*s->p;
	return *is_int ? int_of(from, s->p, out) : scan_real(s, from);
}

/* --- any value -------------------------------------------------------------------------------- */

static bool json_scan_members(struct json_scan *s, char close)
{
	s->p++;
	if (json_scan_take(s, close))
		return true;
	for (;;) {
		const char *name;
		size_t len;
		if (close == '}' && (!json_scan_string(s, &name, &len) || memchr(name, 0, len) ||
				     !json_scan_take(s, ':')))
			return false;
		if (!json_scan_skip(s))
			return false;
		if (json_scan_take(s, close))
			return true;
		if (!json_scan_take(s, ','))
			return false;
	}
}

static bool json_scan_value(struct json_scan *s)
{
	const char *text;
	size_t len;
	bool is_int;
	int64_t number;
	switch (json_scan_peek(s)) {
	case '"':
		return json_scan_string(s, &text, &len);
	case '{':
		return json_scan_members(s, '}');
	case '[':
		return json_scan_members(s, ']');
	case 't':
		return json_scan_word(s, "true");
	case 'f':
		return json_scan_word(s, "false");
	case 'n':
		return json_scan_word(s, "null");
	default:
		return json_scan_number(s, &is_int, &number);
	}
}

bool json_scan_skip(struct json_scan *s)
{
	bool ok = json_scan_enter(s) && json_scan_value(s);
	json_scan_leave(s);
	return ok;
}
