/* The lower half of the reader: words, their unknown parts, blanks, here-documents. */
#include "action/shell_parse.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct piece {
	struct buf text;
	bool dynamic, splits, quoted;
	/* known bytes before the first unknown, and where the last unknown ended */
	size_t prefix, since;
};

static void read_double(struct reader *r, struct piece *w, const char *stop, bool here);

bool reader_given_up(const struct reader *r)
{
	return r->s->opaque;
}

int reader_at(const struct reader *r, size_t i)
{
	return (size_t)(r->end - r->p) > i ? (unsigned char)r->p[i] : -1;
}

void reader_give_up(struct reader *r, const char *why)
{
	shell_opaque(r->s, why);
	r->p = r->end;
}

bool reader_meta(int c)
{
	return c == -1 || c == ' ' || c == '\t' || c == '\n' || c == ';' || c == '&' || c == '|' ||
	       c == '<' || c == '>' || c == '(' || c == ')';
}

/* --- words ------------------------------------------------------------------------------------ */

static void shell_word_is_unknown(struct piece *w, const char *from, const char *to, bool splits)
{
	if (!w->dynamic)
		w->prefix = w->text.len;
	w->dynamic = true;
	w->splits |= splits;
	buf_append(&w->text, from, (size_t)(to - from));
	w->since = w->text.len;
}

/* `...`: its text, once unescaped, is a list of its own. */
static void read_backtick(struct reader *r)
{
	CLEANUP(buf_release) struct buf inner = BUF_INIT;
	r->p++;
	while (r->p < r->end && *r->p != '`') {
		if (*r->p == '\\' &&
		    (reader_at(r, 1) == '`' || reader_at(r, 1) == '\\' || reader_at(r, 1) == '$'))
			r->p++;
		if (r->p < r->end)
			buf_putc(&inner, *r->p++);
	}
	if (r->p >= r->end) {
		reader_give_up(r, "unbalanced backtick");
		return;
	}
	r->p++;
	shell_read(r->s, buf_cstr(&inner), inner.len, r->depth + 1);
	if (reader_given_up(r))
		r->p = r->end;
}

/* ${...} and the text of $((...)): only what they run matters. */
static void read_until(struct reader *r, int open, int close)
{
	struct piece skipped = { 0 };
	int level = 1;
	if (++r->depth > SHELL_DEPTH_MAX)
		reader_give_up(r, "nested too deeply");
	while (level && r->p < r->end) {
		int c = reader_at(r, 0);
		if (c == '\\') {
			r->p += reader_at(r, 1) >= 0 ? 2 : 1;
		} else if (c == '\'') {
			const char *q = memchr(r->p + 1, '\'', (size_t)(r->end - r->p - 1));
			if (!q)
				break;
			r->p = q + 1;
		} else if (c == '"') {
			r->p++;
			read_double(r, &skipped, "\"", false);
		} else if (c == '$' || c == '`') {
			read_double(r, &skipped, NULL, false);
		} else {
			level += c == open ? 1 : c == close ? -1 : 0;
			r->p++;
		}
	}
	buf_release(&skipped.text);
	r->depth--;
	if (level)
		reader_give_up(r, "unbalanced bracket");
}

void reader_arithmetic(struct reader *r, size_t skip)
{
	r->p += skip;
	read_until(r, '(', ')');
	if (reader_given_up(r))
		return;
	if (reader_at(r, 0) == ')')
		r->p++;
	else
		reader_give_up(r, "a subshell directly inside $( )");
}

/* At a '$'. @quoted: between double quotes, where nothing splits ("$@" does all the same). */
static void read_dollar(struct reader *r, struct piece *w, bool quoted)
{
	const char *from = r->p;
	int c = reader_at(r, 1);
	bool splits = !quoted;
	if (c == '(' && reader_at(r, 2) == '(') {
		reader_arithmetic(r, 3);
	} else if (c == '(') {
		r->p += 2;
		size_t heres = r->nr_here;
		reader_deeper(r, UNTIL_PAREN);
		if (r->nr_here != heres)
			reader_give_up(r, "a here-document that continues after its $( )");
	} else if (c == '{') {
		splits |= reader_at(r, 2) == '@' ||
			  memchr(r->p, '@',
				 (size_t)(r->end - r->p) < 64 ? (size_t)(r->end - r->p) : 64);
		r->p += 2;
		read_until(r, '{', '}');
	} else if (c == '\'' && !quoted) {
		/* bash decodes escapes here, dash does not: either way it is one word that we do
		 * not know */
		for (r->p += 2; r->p < r->end && *r->p != '\''; r->p++)
			if (*r->p == '\\' && reader_at(r, 1) >= 0)
				r->p++;
		splits = false;
		w->quoted = true;
		if (r->p >= r->end)
			reader_give_up(r, "unbalanced quote");
		else
			r->p++;
	} else if (c == '"' && !quoted) {
		/* a translated string: as if the dollar were not there, or were one more byte */
		r->p++;
		splits = false;
	} else if (isalpha(c) || c == '_') {
		for (r->p += 2; isalnum(reader_at(r, 0)) || reader_at(r, 0) == '_';)
			r->p++;
	} else if (c > 0 && (isdigit(c) || strchr("@*#?-$!", c))) {
		splits |= c == '@';
		r->p += 2;
	} else {
		buf_putc(&w->text, '$');
		r->p++;
		return;
	}
	if (!reader_given_up(r))
		shell_word_is_unknown(w, from, r->p, splits);
}

/* Text in which $ and ` live but words do not end. @stop: the bytes that end it (consumed); NULL =
 * one expansion only. @here: a here-document's text, which ends with the reader. */
static void read_double(struct reader *r, struct piece *w, const char *stop, bool here)
{
	while (r->p < r->end) {
		int c = reader_at(r, 0);
		if (stop && !here && c == *stop) {
			r->p++;
			return;
		}
		if (c == '$') {
			read_dollar(r, w, true);
		} else if (c == '`') {
			const char *from = r->p;
			read_backtick(r);
			if (!reader_given_up(r))
				shell_word_is_unknown(w, from, r->p, false);
		} else if (c == '\\' && reader_at(r, 1) >= 0) {
			int d = reader_at(r, 1);
			if (d != '\n' && !strchr(here ? "$`\\" : "$`\"\\", d))
				buf_putc(&w->text, '\\');
			if (d != '\n')
				buf_putc(&w->text, (char)d);
			r->p += 2;
		} else {
			buf_putc(&w->text, (char)c);
			r->p++;
		}
		if (!stop)
			return;
	}
	if (stop && !here)
		reader_give_up(r, "unbalanced quote");
}

/* {a,b} or {1..9} starting here? "{}" and "{x}" stay as they are. */
static bool brace_expands(const struct reader *r)
{
	int level = 0;
	for (const char *q = r->p; q < r->end && !reader_meta((unsigned char)*q); q++) {
		level += *q == '{' ? 1 : *q == '}' ? -1 : 0;
		if (level == 0)
			return false;
		if (*q == ',' || (*q == '.' && q + 1 < r->end && q[1] == '.') || *q == '"' ||
		    *q == '\'' || *q == '\\')
			return true;
	}
	return false;
}

/* [ab] is a pattern; "[" and "[[" are commands. */
static bool bracket_closes(const struct reader *r)
{
	for (const char *q = r->p + 1; q < r->end && !reader_meta((unsigned char)*q); q++)
		if (*q == ']')
			return true;
	return false;
}

/* <(list) and >(list): a word whose value is a file name that nobody knows. */
static bool at_process(const struct reader *r)
{
	int c = reader_at(r, 0);
	return (c == '<' || c == '>') && reader_at(r, 1) == '(';
}

/* One word into @out. false if there is none here. */
bool reader_word(struct reader *r, struct shell_word *out)
{
	struct piece w = { 0 };
	const char *start = r->p;
	bool brace = false;
	while (r->p < r->end && (!reader_meta(reader_at(r, 0)) || at_process(r))) {
		int c = reader_at(r, 0);
		if (c == '<' || c == '>') {
			const char *from = r->p;
			r->p += 2;
			reader_deeper(r, UNTIL_PAREN);
			if (!reader_given_up(r))
				shell_word_is_unknown(&w, from, r->p, false);
		} else if (c == '\'') {
			const char *q = memchr(r->p + 1, '\'', (size_t)(r->end - r->p - 1));
			if (!q) {
				reader_give_up(r, "unbalanced quote");
				break;
			}
			buf_append(&w.text, r->p + 1, (size_t)(q - r->p - 1));
			w.quoted = true;
			r->p = q + 1;
		} else if (c == '"') {
			r->p++;
			w.quoted = true;
			read_double(r, &w, "\"", false);
		} else if (c == '\\') {
			if (reader_at(r, 1) >= 0 && reader_at(r, 1) != '\n')
				buf_putc(&w.text, r->p[1]);
			w.quoted |= reader_at(r, 1) != '\n';
			r->p += reader_at(r, 1) >= 0 ? 2 : 1;
		} else if (c == '$') {
			read_dollar(r, &w, false);
		} else if (c == '`') {
			const char *from = r->p;
			read_backtick(r);
			if (!reader_given_up(r))
				shell_word_is_unknown(&w, from, r->p, true);
		} else if (c == '*' || c == '?' || (c == '[' && bracket_closes(r)) ||
			   (c == '{' && brace_expands(r))) {
			const char *to =
				c == '[' ? memchr(r->p + 1, ']', (size_t)(r->end - r->p - 1))
					 : NULL;
			to = to ? to + 1 : r->p + 1;
			shell_word_is_unknown(&w, r->p, to, true);
			brace |= c == '{';
			r->p = to;
		} else {
			buf_putc(&w.text, (char)c);
			r->p++;
		}
	}
	if (brace) /* {git,push}: no end of it is the end of every word */
		w.since = w.text.len;
	bool any = r->p > start && !reader_given_up(r);
	if (any && w.text.len == 0 && !w.quoted && !w.dynamic)
		any = false; /* nothing but a continued line */
	if (any)
		*out = (struct shell_word){ arena_strndup(&r->s->arena, buf_cstr(&w.text),
							  w.text.len),
					    w.text.len,
					    w.dynamic,
					    w.splits,
					    w.quoted,
					    w.dynamic ? w.prefix : w.text.len,
					    w.dynamic ? w.text.len - w.since : w.text.len };
	buf_release(&w.text);
	return any;
}

/* --- blanks, here-documents ------------------------------------------------------------------- */

void reader_blanks(struct reader *r)
{
	for (;;) {
		int c = reader_at(r, 0);
		if (c == ' ' || c == '\t')
			r->p++;
		else if (c == '\\' && reader_at(r, 1) == '\n')
			r->p += 2;
		else if (c == '#')
			while (reader_at(r, 0) >= 0 && reader_at(r, 0) != '\n')
				r->p++;
		else
			return;
	}
}

static const char *shell_word_line_end(const char *p, const char *end)
{
	const char *nl = memchr(p, '\n', (size_t)(end - p));
	return nl ? nl : end;
}

/* The body of one here-document; the reader stands at its first line. */
static void read_here(struct reader *r, const struct here *h)
{
	const char *from = r->p, *to = r->end;
	while (r->p < r->end) {
		const char *nl = shell_word_line_end(r->p, r->end), *line = r->p;
		while (h->strip && line < nl && *line == '\t')
			line++;
		to = r->p;
		r->p = nl < r->end ? nl + 1 : r->end;
		if ((size_t)(nl - line) == h->tag.len && !memcmp(line, h->tag.text, h->tag.len))
			break;
		to = r->p;
	}
	struct piece body = { 0 };
	if (h->literal) {
		buf_append(&body.text, from, (size_t)(to - from));
	} else {
		const char *next = r->p, *end = r->end;
		r->p = from;
		r->end = to;
		read_double(r, &body, "", true);
		if (!reader_given_up(r))
			r->p = next;
		r->end = end;
		if (reader_given_up(r))
			r->p = r->end;
	}
	struct shell_word *w = &r->raw[h->raw].redirect[h->redirect].target;
	w->text = arena_strndup(&r->s->arena, buf_cstr(&body.text), body.text.len);
	w->len = body.text.len;
	w->dynamic = body.dynamic;
	w->prefix = body.dynamic ? body.prefix : body.text.len;
	w->suffix = body.dynamic ? body.text.len - body.since : body.text.len;
	buf_release(&body.text);
}

static void shell_word_newline(struct reader *r)
{
	r->p++;
	size_t nr = r->nr_here;
	r->nr_here = 0;
	for (size_t i = 0; i < nr && !reader_given_up(r); i++)
		read_here(r, &r->here[i]);
}

void reader_lines(struct reader *r)
{
	for (reader_blanks(r); reader_at(r, 0) == '\n'; reader_blanks(r))
		shell_word_newline(r);
}
