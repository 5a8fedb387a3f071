#include "script/pattern.h"

#include <ctype.h>
#include <string.h>

static void set_add(uint64_t *set, unsigned c)
{
	set[c >> 6] |= (uint64_t)1 << (c & 63);
}

static bool set_has(const uint64_t *set, unsigned char c)
{
	return set[c >> 6] >> (c & 63) & 1;
}

static int is_nul(int c)
{
	return c == 0;
}

static int (*class_of(int letter))(int)
{
	switch (letter) {
	case 'a':
		return isalpha;
	case 'c':
		return iscntrl;
	case 'd':
		return isdigit;
	case 'g':
		return isgraph;
	case 'l':
		return islower;
	case 'p':
		return ispunct;
	case 's':
		return isspace;
	case 'u':
		return isupper;
	case 'w':
		return isalnum;
	case 'x':
		return isxdigit;
	case 'z': /* as in Lua's own, where it is called obsolete */
		return is_nul;
	default:
		return NULL;
	}
}

/* The class after a %: a class, its complement (upper case), or the character itself. */
static void set_add_escape(uint64_t *set, unsigned char letter)
{
	int (*test)(int) = class_of(tolower(letter));
	if (!test) {
		set_add(set, letter);
		return;
	}
	bool complement = isupper(letter) != 0;
	for (unsigned c = 0; c < 256; c++)
		if ((test((int)c) != 0) != complement)
			set_add(set, c);
}

/* Reads a set from behind its "[". Returns the place behind "]" or NULL. */
static const char *set_parse(uint64_t *set, const char *p, const char *end)
{
	bool complement = p < end && *p == '^';
	if (complement)
		p++;
	bool first = true; /* a ] right at the start is an ordinary member */
	for (;; first = false) {
		if (p >= end)
			return NULL;
		if (*p == ']' && !first)
			break;
		if (*p == '%') {
			if (p + 1 >= end)
				return NULL;
			set_add_escape(set, (unsigned char)p[1]);
			p += 2;
		} else if (p + 2 < end && p[1] == '-' && p[2] != ']') {
			for (unsigned c = (unsigned char)p[0]; c <= (unsigned char)p[2]; c++)
				set_add(set, c);
			p += 3;
		} else {
			set_add(set, (unsigned char)*p++);
		}
	}
	for (size_t i = 0; complement && i < 4; i++)
		set[i] = ~set[i];
	return p + 1;
}

/* Reads one item that begins with %, other than a plain class. Returns NULL without @fault if it is
 * a plain class. */
static const char *special_parse(struct item *it, const char *p, const char *end,
				 const char **fault)
{
	if (p[1] == 'b') {
		if (end - p < 4) {
			*fault = "malformed pattern (missing arguments to '%b')";
			return NULL;
		}
		it->kind = ITEM_BALANCE;
		it->from = (unsigned char)p[2];
		it->to = (unsigned char)p[3];
		return p + 4;
	}
	if (p[1] == 'f') {
		if (end - p < 3 || p[2] != '[') {
			*fault = "missing '[' after '%f' in pattern";
			return NULL;
		}
		it->kind = ITEM_FRONTIER;
		p = set_parse(it->set, p + 3, end);
		if (!p)
			*fault = "malformed pattern (missing ']')";
		return p;
	}
	if (p[1] >= '0' && p[1] <= '9') {
		it->kind = ITEM_BACK;
		it->capture = p[1] - '1';
		return p + 2;
	}
	return NULL;
}

static const char *single_parse(struct item *it, const char *p, const char *end, const char **fault)
{
	it->kind = ITEM_SET;
	if (*p == '.') {
		memset(it->set, 0xff, sizeof(it->set));
		p++;
	} else if (*p == '[') {
		p = set_parse(it->set, p + 1, end);
		if (!p) {
			*fault = "malformed pattern (missing ']')";
			return NULL;
		}
	} else if (*p == '%') {
		set_add_escape(it->set, (unsigned char)p[1]);
		p += 2;
	} else {
		set_add(it->set, (unsigned char)*p++);
	}
	if (p < end && strchr("?*+-", *p) && *p)
		it->repeat = *p++;
	return p;
}

const char *pattern_compile(const char *p, size_t len, struct item *items)
{
	const char *end = p + len, *fault = NULL;
	struct item *it = items;
	for (; p < end; it++) {
		*it = (struct item){ .kind = ITEM_END };
		if (*p == '(') {
			bool place = p + 1 < end && p[1] == ')';
			it->kind = place ? ITEM_PLACE : ITEM_OPEN;
			p += place ? 2 : 1;
		} else if (*p == ')') {
			it->kind = ITEM_CLOSE;
			p++;
		} else if (*p == '$' && p + 1 == end) {
			it->kind = ITEM_TAIL;
			p++;
		} else {
			if (*p == '%' && p + 1 >= end)
				return "malformed pattern (ends with '%')";
			const char *q = *p == '%' ? special_parse(it, p, end, &fault) : NULL;
			p = q || fault ? q : single_parse(it, p, end, &fault);
			if (fault)
				return fault;
		}
	}
	*it = (struct item){ .kind = ITEM_END };
	return NULL;
}

/* One unit of work; false when the budget is used up. */
static bool pattern_step(struct match *m)
{
	if (m->steps) {
		m->steps--;
		return true;
	}
	if (!m->fault)
		m->fault =
			"pattern takes too long on this text (it backtracks too much; say more exactly what to match)";
	return false;
}

static bool pattern_single(struct match *m, const struct item *it, const char *s)
{
	return s < m->text_end && set_has(it->set, (unsigned char)*s);
}

static const char *pattern_greedy(struct match *m, const struct item *it, const char *s,
				  ptrdiff_t least)
{
	ptrdiff_t n = 0;
	while (pattern_single(m, it, s + n)) {
		if (!pattern_step(m))
			return NULL;
		n++;
	}
	for (; n >= least; n--) {
		const char *e = pattern_match(m, it + 1, s + n);
		if (e || m->fault)
			return e;
	}
	return NULL;
}

static const char *pattern_lazy(struct match *m, const struct item *it, const char *s)
{
	for (;;) {
		const char *e = pattern_match(m, it + 1, s);
		if (e || m->fault)
			return e;
		if (!pattern_single(m, it, s) || !pattern_step(m))
			return NULL;
		s++;
	}
}

static const char *capture_begin(struct match *m, const struct item *it, const char *s)
{
	if (m->nr_captures >= PATTERN_CAPTURES) {
		m->fault = "too many captures";
		return NULL;
	}
	m->capture[m->nr_captures].at = s;
	m->capture[m->nr_captures].len = it->kind == ITEM_PLACE ? CAPTURE_PLACE : CAPTURE_OPEN;
	m->nr_captures++;
	const char *e = pattern_match(m, it + 1, s);
	if (!e)
		m->nr_captures--;
	return e;
}

static const char *capture_finish(struct match *m, const struct item *it, const char *s)
{
	int i = m->nr_captures - 1;
	while (i >= 0 && m->capture[i].len != CAPTURE_OPEN)
		i--;
	if (i < 0) {
		m->fault = "invalid pattern capture";
		return NULL;
	}
	m->capture[i].len = s - m->capture[i].at;
	const char *e = pattern_match(m, it + 1, s);
	if (!e)
		m->capture[i].len = CAPTURE_OPEN;
	return e;
}

static const char *pattern_balance(struct match *m, const struct item *it, const char *s)
{
	if (s >= m->text_end || (unsigned char)*s != it->from)
		return NULL;
	long depth = 1;
	for (s++; s < m->text_end; s++) {
		if (!pattern_step(m))
			return NULL;
		if ((unsigned char)*s == it->to) {
			if (--depth == 0)
				return s + 1;
		} else if ((unsigned char)*s == it->from) {
			depth++;
		}
	}
	return NULL;
}

static const char *back_reference(struct match *m, const struct item *it, const char *s)
{
	int i = it->capture;
	if (i < 0 || i >= m->nr_captures || m->capture[i].len == CAPTURE_OPEN) {
		m->fault = "invalid capture index in pattern";
		return NULL;
	}
	if (m->capture[i].len == CAPTURE_PLACE)
		return NULL; /* a place has no text that could come again */
	size_t len = (size_t)m->capture[i].len;
	if ((size_t)(m->text_end - s) < len || memcmp(m->capture[i].at, s, len) != 0)
		return NULL;
	m->steps -= len / 16 < m->steps ? len / 16 : m->steps;
	return s + len;
}

static bool pattern_frontier(const struct match *m, const struct item *it, const char *s)
{
	unsigned char before = s == m->text ? 0 : (unsigned char)s[-1];
	unsigned char here = s == m->text_end ? 0 : (unsigned char)*s;
	return !set_has(it->set, before) && set_has(it->set, here);
}

/* Recursion is bounded by the number of items, which the caller bounds by PATTERN_MAX. */
const char *pattern_match(struct match *m, const struct item *it, const char *s)
{
	for (; s; it++) {
		if (!pattern_step(m))
			return NULL;
		switch (it->kind) {
		case ITEM_END:
			return s;
		case ITEM_TAIL:
			return s == m->text_end ? s : NULL;
		case ITEM_OPEN:
		case ITEM_PLACE:
			return capture_begin(m, it, s);
		case ITEM_CLOSE:
			return capture_finish(m, it, s);
		case ITEM_BALANCE:
			s = pattern_balance(m, it, s);
			break;
		case ITEM_FRONTIER:
			if (!pattern_frontier(m, it, s))
				return NULL;
			break;
		case ITEM_BACK:
			s = back_reference(m, it, s);
			break;
		case ITEM_SET:
			if (it->repeat == '*' || it->repeat == '+')
				return pattern_greedy(m, it, s, it->repeat == '+');
			if (it->repeat == '-')
				return pattern_lazy(m, it, s);
			bool here = pattern_single(m, it, s);
			if (it->repeat == '?') {
				const char *e = here ? pattern_match(m, it + 1, s + 1) : NULL;
				if (e || m->fault)
					return e;
			} else if (here) {
				s++;
			} else {
				return NULL;
			}
			break;
		}
	}
	return NULL;
}
