/* Numbers, times, amounts, and regular expressions, as written in a filter. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "query/filter_priv.h"

static bool number_prefix(const char **s, int64_t scale, int64_t *out)
{
	const char *p = *s;
	bool minus = *p == '-';
	int64_t whole = 0, fraction = 0, unit = 1;
	p += minus;
	const char *digits = p;
	while (isdigit((unsigned char)*p)) {
		if (whole > INT64_C(900000000000))
			return false;
		whole = whole * 10 + (*p++ - '0');
	}
	if (p == digits)
		return false;
	if (p[0] == '.' && isdigit((unsigned char)p[1])) {
		for (p++; isdigit((unsigned char)*p); p++)
			if (unit < 1000000) {
				fraction = fraction * 10 + (*p - '0');
				unit *= 10;
			}
	} else if (scale == 0) {
		scale = 1;
	}
	if (whole > INT64_MAX / (scale ? scale : 1) / 2)
		return false;
	*out = whole * scale + fraction * scale / unit;
	if (minus)
		*out = -*out;
	*s = p;
	return true;
}

static const struct unit {
	const char *name;
	int64_t us;
} filter_value_units[] = { { "ms", 1000 },
			   { "us", 1 },
			   { "s", 1000000 },
			   { "m", 60000000 },
			   { "h", INT64_C(3600000000) },
			   { "d", INT64_C(86400000000) } };

static bool span_value(const char *s, int64_t *out)
{
	size_t number = strspn(s, "-0123456789.");
	int64_t scale = 1000000;
	for (size_t i = 0; s[number] && i < ARRAY_LEN(filter_value_units); i++)
		if (!strcmp(s + number, filter_value_units[i].name)) {
			scale = filter_value_units[i].us;
			return number_prefix(&s, scale, out) &&
			       !strcmp(s, filter_value_units[i].name);
		}
	return number_prefix(&s, scale, out) && !*s;
}

static bool filter_value_plain_value(const char *s, int64_t scale, int64_t *out)
{
	size_t len = strlen(s);
	if (len && (s[len - 1] == 'k' || s[len - 1] == 'M'))
		scale *= s[len - 1] == 'k' ? 1000 : 1000000;
	return number_prefix(&s, scale, out) && (!*s || ((*s == 'k' || *s == 'M') && !s[1]));
}

/* "2026-11-21", "2026-11-21T14:30", "...:05"; UTC. */
static bool date_value(const char *s, int64_t *out)
{
	static const int before[] = { 0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334 };
	int y = 0, mo = 0, d = 0, h = 0, mi = 0, sec = 0, used = 0;
	size_t len = strlen(s);
	if (sscanf(s, "%4d-%2d-%2d%n", &y, &mo, &d, &used) != 3 || used != 10)
		return false;
	if (len > 10 && (sscanf(s + 10, "T%2d:%2d%n", &h, &mi, &used) != 2 || used != 6))
		return false;
	if (len > 16 && (sscanf(s + 16, ":%2d%n", &sec, &used) != 1 || used != 3))
		return false;
	if ((len > 19 && strcmp(s + 19, "Z") != 0) || y < 1970 || y > 9999 || mo < 1 || mo > 12 ||
	    d < 1 || d > 31 || h > 23 || mi > 59 || sec > 60)
		return false;
	int64_t past = y - 1 - 1968, days = (int64_t)(y - 1970) * 365 + past / 4 -
					    (y - 1 - 1900) / 100 + (y - 1 - 1600) / 400;
	bool leap = (y % 4 == 0 && y % 100 != 0) || y % 400 == 0;
	days += before[mo - 1] + (leap && mo > 2) + d - 1;
	*out = (((days * 24 + h) * 60 + mi) * 60 + sec) * INT64_C(1000000);
	return true;
}

static bool one_number(enum field_type type, const char *s, struct value *v, int64_t *out)
{
	switch (type) {
	case F_SPAN:
		return span_value(s, out);
	case F_MONEY:
		return filter_value_plain_value(*s == '$' ? s + 1 : s, 1000000, out);
	case F_NUMBER:
		return *s != '$' && filter_value_plain_value(s, 1, out);
	case F_INSTANT:
		v->ago = !date_value(s, out);
		return !v->ago || span_value(s, out);
	case F_TEXT:
	case F_IS:
	case F_HAS:
		break;
	}
	return false;
}

bool value_number(enum field_type type, const char *s, struct value *v)
{
	const char *dots = strstr(s, "..");
	if (!dots) {
		bool good = one_number(type, s, v, &v->low);
		v->high = v->low;
		return good;
	}
	CLEANUP(free_ptr) char *left = mem_strndup(s, (size_t)(dots - s));
	v->low = INT64_MIN;
	v->high = INT64_MAX;
	if (type == F_INSTANT || (!*left && !dots[2]))
		return false;
	return (!*left || one_number(type, left, v, &v->low)) &&
	       (!dots[2] || one_number(type, dots + 2, v, &v->high));
}

/* \d is the one class that regcomp does not know. */
char *regex_text(const char *s)
{
	struct buf b = BUF_INIT;
	bool list = false;
	for (; *s; s++) {
		if (s[0] == '\\' && s[1]) {
			if (s[1] == 'd')
				buf_puts(&b, list ? "0-9" : "[0-9]");
			else
				buf_append(&b, s, 2);
			s++;
			continue;
		}
		list = *s == '[' ? true : *s == ']' ? false : list;
		buf_putc(&b, *s);
	}
	return buf_take(&b);
}

/* regcomp copies repeated parts, and repeated parts inside of those again: a short text can cost
 * minutes. NULL, or the reason. */
const char *regex_cost(const char *s)
{
	long copies = 1, flat = 0;
	char before = 0; /* ')' a group, 'q' a repetition, 'c' anything else */
	for (; *s; s++) {
		long times = *s == '+' ? 2 : 1;
		bool quantifier = *s == '+' || *s == '*' || *s == '?';
		if (*s == '\\' && s[1]) {
			if (isdigit((unsigned char)*++s))
				return "back-references are not supported";
			before = 'c';
			continue;
		}
		if (*s == '[') { /* a list: up to its end; a first ] belongs to the list */
			s += s[1] == '^' ? 2 : 1;
			s += *s == ']';
			while (*s && *s != ']')
				s++;
			if (!*s)
				return NULL; /* regcomp says it better */
			before = 'c';
			continue;
		}
		if (*s == '{' && isdigit((unsigned char)s[1])) {
			long low = strtol(s + 1, NULL, 10);
			const char *comma = s + 1 + strspn(s + 1, "0123456789");
			long high = *comma == ',' ? strtol(comma + 1, NULL, 10) : 0;
			quantifier = true;
			times = 1 + (high > low ? high : low);
			while (s[1] && *s != '}')
				s++;
		}
		if (!quantifier) {
			before = *s == ')' ? ')' : 'c';
			continue;
		}
		if (before == 'q')
			return "a repetition of a repetition";
		if (before == ')')
			copies *= times;
		else
			flat += times;
		if (times > 256 || copies > 1024 || flat > 1024)
			return "it repeats too much";
		before = 'q';
	}
	return NULL;
}
