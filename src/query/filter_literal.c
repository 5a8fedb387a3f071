/* The text that every match of a regular expression, a pattern, or a word contains: the index of
 * words finds it. */
#include <ctype.h>
#include <string.h>

#include "query/filter_priv.h"

enum { LEAST = 3 /* bytes: a trigram */ };

static void end_piece(struct strv *out, struct buf *piece)
{
	if (piece->len >= LEAST)
		strv_push(out, buf_cstr(piece));
	buf_reset(piece);
}

/* Drops a character that may also be missing. */
static void drop_last(struct buf *piece)
{
	while (piece->len && ((uint8_t)piece->data[piece->len - 1] & 0xc0) == 0x80)
		piece->len--;
	piece->len -= piece->len > 0;
	if (piece->data)
		piece->data[piece->len] = 0;
}

/* The bracket that ends a list, or the end of the text. */
static const char *end_of_list(const char *s)
{
	s += s[1] == '^' ? 2 : 1;
	s += *s == ']';
	while (*s && *s != ']')
		s++;
	return s;
}

static const char *end_of_group(const char *s)
{
	for (int depth = 0; *s; s++) {
		if (*s == '\\' && s[1])
			s++;
		else if (*s == '[')
			s = end_of_list(s);
		else if (*s == '(')
			depth++;
		else if (*s == ')' && !--depth)
			break;
		if (!*s)
			break;
	}
	return s;
}

/* The last character of something other than a plain character. */
static const char *filter_literal_skip(const char *s)
{
	switch (*s) {
	case '[':
		return end_of_list(s);
	case '(':
		return end_of_group(s);
	case '{':
		return strchrnul(s, '}');
	case '\\':
		s += s[1] != 0;
		while (((uint8_t)s[1] & 0xc0) == 0x80) /* a whole character */
			s++;
		return s;
	default:
		return s;
	}
}

/* One alternative of an extended regular expression: the runs of plain characters outside of its
 * groups and lists, and those in the groups that it requires. */
static const char *filter_literal_alternative(const char *s, struct strv *out, struct strv *groups)
{
	CLEANUP(buf_release) struct buf piece = BUF_INIT;
	for (; *s && *s != '|'; s++) {
		if (*s == '\\' && ispunct((uint8_t)s[1]) && !strchr("<>`'", s[1])) {
			buf_putc(&piece, *++s);
		} else if (strchr("*?{\\.^$+[()", *s)) {
			if (strchr("*?{", *s))
				drop_last(&piece);
			end_piece(out, &piece);
			const char *from = s;
			s = filter_literal_skip(s);
			if (!*s)
				break;
			if (*from == '(' && !strchr("*?{", s[1] ? s[1] : 'x'))
				strv_push_bytes(groups, from + 1, (size_t)(s - from - 1));
		} else {
			buf_putc(&piece, *s);
		}
	}
	end_piece(out, &piece);
	return s;
}

static bool of_regex(const char *s, filter_pieces_fn *fn, void *self)
{
	for (;; s++) {
		CLEANUP(strv_release) struct strv pieces = STRV_INIT, groups = STRV_INIT;
		s = filter_literal_alternative(s, &pieces, &groups);
		bool good = fn(self, &pieces);
		for (size_t i = 0; i < groups.nr && !good; i++)
			good = of_regex(groups.item[i], fn, self);
		if (!good || !*s)
			return good;
	}
}

static bool of_text(const char *s, bool glob, filter_pieces_fn *fn, void *self)
{
	CLEANUP(strv_release) struct strv pieces = STRV_INIT;
	CLEANUP(buf_release) struct buf piece = BUF_INIT;
	for (; *s; s++) {
		if (glob && (*s == '*' || *s == '?'))
			end_piece(&pieces, &piece);
		else
			buf_putc(&piece, *s);
	}
	end_piece(&pieces, &piece);
	return fn(self, &pieces);
}

bool filter_pieces(const struct node *n, filter_pieces_fn *fn, void *self)
{
	if (n->op == OP_REGEX)
		return of_regex(n->value[0].text, fn, self);
	for (size_t i = 0; i < n->nr; i++)
		if (!of_text(n->value[i].text, n->value[i].glob, fn, self))
			return false;
	return true;
}

/* Of a text in lower case: may a recorder write it in the body of an output, which is not in the
 * index? */
static bool may_be_output(const char *s)
{
	static const char words[] = "stream off len segment hash"; /* as values_make.c knows them */
	while (*s) {
		size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789");
		if (!n && !strchr("{}\":,", *s))
			return false;
		if (strspn(s, "abcdef0123456789") < n && !memmem(words, sizeof(words) - 1, s, n))
			return false;
		s += n ? n : 1;
	}
	return true;
}

bool filter_match_body(const struct strv *pieces, struct buf *out)
{
	bool tells = false;
	buf_reset(out);
	for (size_t i = 0; i < pieces->nr; i++) {
		CLEANUP(free_ptr) char *copy = mem_strdup(pieces->item[i]);
		/* look_new takes texts with neither */
		for (char *part, *rest = copy; (part = strsep(&rest, "\"*"));) {
			if (strlen(part) < LEAST)
				continue;
			buf_printf(out, "\"%s\" ", part);
			for (char *c = part; *c; c++)
				*c = (char)tolower((uint8_t)*c);
			tells = tells || !may_be_output(part);
		}
	}
	return tells;
}
