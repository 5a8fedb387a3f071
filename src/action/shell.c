#include "action/shell_parse.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* One text being read. Everything is read in one pass; what $( ) holds is read in place, what `...` and sh -c hold is a
 * text of its own. */
struct reader {
	struct shell *s;
	const char *p, *end;
	int depth;
	struct shell_part raw[SHELL_PARTS_MAX];
	size_t nr_raw;
	struct here {
		size_t raw, redirect; /* whose */
		struct shell_word tag;
		bool strip, literal;
	} here[8];
	size_t nr_here;
};

struct piece {
	struct buf text;
	bool dynamic, splits, quoted;
	size_t prefix, since; /* known bytes before the first unknown, and where the last unknown ended */
};

/* What ends a list: the text's end, ")", or inside of case ";;" or esac. */
enum until { UNTIL_END, UNTIL_PAREN, UNTIL_ARM };
static enum until read_list(struct reader *r, enum until until);
static void read_double(struct reader *r, struct piece *w, const char *stop, bool here);

static bool given_up(const struct reader *r)
{
	return r->s->opaque;
}

static int at(const struct reader *r, size_t i)
{
	return (size_t)(r->end - r->p) > i ? (unsigned char)r->p[i] : -1;
}

static void give_up(struct reader *r, const char *why)
{
	shell_opaque(r->s, why);
	r->p = r->end;
}

static bool is_meta(int c)
{
	return c == -1 || c == ' ' || c == '\t' || c == '\n' || c == ';' || c == '&' || c == '|' || c == '<' ||
	       c == '>' || c == '(' || c == ')';
}

/* --- words ---------------------------------------------------------------------------------------------------- */

static void unknown(struct piece *w, const char *from, const char *to, bool splits)
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
		if (*r->p == '\\' && (at(r, 1) == '`' || at(r, 1) == '\\' || at(r, 1) == '$'))
			r->p++;
		if (r->p < r->end)
			buf_putc(&inner, *r->p++);
	}
	if (r->p >= r->end) {
		give_up(r, "unbalanced backtick");
		return;
	}
	r->p++;
	shell_read(r->s, buf_cstr(&inner), inner.len, r->depth + 1);
	if (given_up(r))
		r->p = r->end;
}

/* ${...} and the text of $((...)): only what they run matters. */
static void read_until(struct reader *r, int open, int close)
{
	struct piece skipped = { 0 };
	int level = 1;
	if (++r->depth > SHELL_DEPTH_MAX)
		give_up(r, "nested too deeply");
	while (level && r->p < r->end) {
		int c = at(r, 0);
		if (c == '\\') {
			r->p += at(r, 1) >= 0 ? 2 : 1;
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
		give_up(r, "unbalanced bracket");
}

static void read_arithmetic(struct reader *r)
{
	r->p += 3;
	read_until(r, '(', ')');
	if (given_up(r))
		return;
	if (at(r, 0) == ')')
		r->p++;
	else
		give_up(r, "a subshell directly inside $( )");
}

static enum until deeper(struct reader *r, enum until until)
{
	enum until how = UNTIL_END;
	if (++r->depth > SHELL_DEPTH_MAX)
		give_up(r, "nested too deeply");
	else
		how = read_list(r, until);
	r->depth--;
	return how;
}

/* At a '$'. @quoted: between double quotes, where nothing splits ("$@" does all the same). */
static void read_dollar(struct reader *r, struct piece *w, bool quoted)
{
	const char *from = r->p;
	int c = at(r, 1);
	bool splits = !quoted;
	if (c == '(' && at(r, 2) == '(') {
		read_arithmetic(r);
	} else if (c == '(') {
		r->p += 2;
		size_t heres = r->nr_here;
		deeper(r, UNTIL_PAREN);
		if (r->nr_here != heres)
			give_up(r, "a here-document that goes on after its $( )");
	} else if (c == '{') {
		splits |= at(r, 2) == '@' || memchr(r->p, '@', (size_t)(r->end - r->p) < 64 ? (size_t)(r->end - r->p) : 64);
		r->p += 2;
		read_until(r, '{', '}');
	} else if (c == '\'' && !quoted) {
		/* bash decodes escapes here, dash does not: either way it is one word that we do not know */
		for (r->p += 2; r->p < r->end && *r->p != '\''; r->p++)
			if (*r->p == '\\' && at(r, 1) >= 0)
				r->p++;
		splits = false;
		w->quoted = true;
		if (r->p >= r->end)
			give_up(r, "unbalanced quote");
		else
			r->p++;
	} else if (c == '"' && !quoted) {
		r->p++; /* a translated string: as if the dollar were not there, or were one more byte */
		splits = false;
	} else if (isalpha(c) || c == '_') {
		for (r->p += 2; isalnum(at(r, 0)) || at(r, 0) == '_';)
			r->p++;
	} else if (c > 0 && (isdigit(c) || strchr("@*#?-$!", c))) {
		splits |= c == '@';
		r->p += 2;
	} else {
		buf_putc(&w->text, '$');
		r->p++;
		return;
	}
	if (!given_up(r))
		unknown(w, from, r->p, splits);
}

/* Text in which $ and ` live but words do not end. @stop: the bytes that end it (consumed); NULL = one expansion only.
 * @here: a here-document's text, which ends with the reader. */
static void read_double(struct reader *r, struct piece *w, const char *stop, bool here)
{
	while (r->p < r->end) {
		int c = at(r, 0);
		if (stop && !here && c == *stop) {
			r->p++;
			return;
		}
		if (c == '$') {
			read_dollar(r, w, true);
		} else if (c == '`') {
			const char *from = r->p;
			read_backtick(r);
			if (!given_up(r))
				unknown(w, from, r->p, false);
		} else if (c == '\\' && at(r, 1) >= 0) {
			int d = at(r, 1);
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
		give_up(r, "unbalanced quote");
}

/* {a,b} or {1..9} starting here? "{}" and "{x}" stay as they are. */
static bool brace_expands(const struct reader *r)
{
	int level = 0;
	for (const char *q = r->p; q < r->end && !is_meta((unsigned char)*q); q++) {
		level += *q == '{' ? 1 : *q == '}' ? -1 : 0;
		if (level == 0)
			return false;
		if (*q == ',' || (*q == '.' && q + 1 < r->end && q[1] == '.') || *q == '"' || *q == '\'' || *q == '\\')
			return true;
	}
	return false;
}

/* [ab] is a pattern; "[" and "[[" are commands. */
static bool bracket_closes(const struct reader *r)
{
	for (const char *q = r->p + 1; q < r->end && !is_meta((unsigned char)*q); q++)
		if (*q == ']')
			return true;
	return false;
}

/* One word into @out. false if there is none here. */
static bool read_word(struct reader *r, struct shell_word *out)
{
	struct piece w = { 0 };
	const char *start = r->p;
	while (r->p < r->end && !is_meta(at(r, 0))) {
		int c = at(r, 0);
		if (c == '\'') {
			const char *q = memchr(r->p + 1, '\'', (size_t)(r->end - r->p - 1));
			if (!q) {
				give_up(r, "unbalanced quote");
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
			if (at(r, 1) >= 0 && at(r, 1) != '\n')
				buf_putc(&w.text, r->p[1]);
			w.quoted |= at(r, 1) != '\n';
			r->p += at(r, 1) >= 0 ? 2 : 1;
		} else if (c == '$') {
			read_dollar(r, &w, false);
		} else if (c == '`') {
			const char *from = r->p;
			read_backtick(r);
			if (!given_up(r))
				unknown(&w, from, r->p, true);
		} else if (c == '*' || c == '?' || (c == '[' && bracket_closes(r)) || (c == '{' && brace_expands(r))) {
			unknown(&w, r->p, r->p + 1, true);
			r->p++;
		} else {
			buf_putc(&w.text, (char)c);
			r->p++;
		}
	}
	bool any = r->p > start && !given_up(r);
	if (any && w.text.len == 0 && !w.quoted && !w.dynamic)
		any = false; /* nothing but a continued line */
	if (any)
		*out = (struct shell_word){ arena_strndup(&r->s->arena, buf_cstr(&w.text), w.text.len), w.text.len,
					    w.dynamic, w.splits, w.quoted, w.dynamic ? w.prefix : w.text.len,
					    w.dynamic ? w.text.len - w.since : w.text.len };
	buf_release(&w.text);
	return any;
}

/* --- blanks, here-documents --------------------------------------------------------------------------------------- */

static void skip_blanks(struct reader *r)
{
	for (;;) {
		int c = at(r, 0);
		if (c == ' ' || c == '\t')
			r->p++;
		else if (c == '\\' && at(r, 1) == '\n')
			r->p += 2;
		else if (c == '#')
			while (at(r, 0) >= 0 && at(r, 0) != '\n')
				r->p++;
		else
			return;
	}
}

static const char *line_end(const char *p, const char *end)
{
	const char *nl = memchr(p, '\n', (size_t)(end - p));
	return nl ? nl : end;
}

/* The body of one here-document; the reader stands at its first line. */
static void read_here(struct reader *r, const struct here *h)
{
	const char *from = r->p, *to = r->end;
	while (r->p < r->end) {
		const char *nl = line_end(r->p, r->end), *line = r->p;
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
		if (!given_up(r))
			r->p = next;
		r->end = end;
		if (given_up(r))
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

static void newline(struct reader *r)
{
	r->p++;
	size_t nr = r->nr_here;
	r->nr_here = 0;
	for (size_t i = 0; i < nr && !given_up(r); i++)
		read_here(r, &r->here[i]);
}

static void skip_lines(struct reader *r)
{
	for (skip_blanks(r); at(r, 0) == '\n'; skip_blanks(r))
		newline(r);
}

/* --- commands --------------------------------------------------------------------------------------------------- */

static bool word_is(const struct shell_word *w, const char *s)
{
	return !w->dynamic && !w->quoted && w->len == strlen(s) && !memcmp(w->text, s, w->len);
}

static bool word_among(const struct shell_word *w, const char *const *list)
{
	for (; *list; list++)
		if (word_is(w, *list))
			return true;
	return false;
}

static void add_redirect(struct shell_part *part, enum shell_redirect_kind kind, const struct shell_word *w)
{
	GROW(part->redirect, part->nr_redirects, part->cap_redirects);
	part->redirect[part->nr_redirects++] = (struct shell_redirect){ kind, *w };
}

static void read_here_tag(struct reader *r, struct shell_part *part, size_t index)
{
	bool strip = at(r, 0) == '-';
	struct shell_word w = { 0 };
	r->p += strip;
	skip_blanks(r);
	const char *from = r->p;
	if (r->nr_here == ARRAY_LEN(r->here) || !read_word(r, &w)) {
		give_up(r, "a here-document that is not understood");
		return;
	}
	/* the tag is not expanded: `<<$X` ends at a line "$X" */
	bool literal = memchr(from, '\'', (size_t)(r->p - from)) || memchr(from, '"', (size_t)(r->p - from)) ||
		       memchr(from, '\\', (size_t)(r->p - from));
	if (w.dynamic && literal) {
		give_up(r, "a here-document that is not understood");
		return;
	}
	add_redirect(part, SHELL_HERE, &(struct shell_word){ .text = "" });
	r->here[r->nr_here++] = (struct here){ index, part->nr_redirects - 1, w, strip, literal };
}

/* At an operator of redirection (a number before it is gone already). */
static void read_redirect(struct reader *r, struct shell_part *part, size_t index)
{
	struct shell_word w = { 0 };
	bool in = at(r, 0) == '<', both = at(r, 0) == '&', dup = false;
	r->p += both ? 2 : 1;
	if (in && at(r, 0) == '<' && at(r, 1) != '<') {
		r->p++;
		read_here_tag(r, part, index);
		return;
	}
	bool here_string = in && at(r, 0) == '<' && at(r, 1) == '<';
	bool read_write = in && at(r, 0) == '>';
	if (here_string)
		r->p += 2;
	else if (at(r, 0) == '(') {
		give_up(r, "process substitution");
		return;
	} else if (at(r, 0) == '&') {
		dup = true;
		r->p++;
	} else if (at(r, 0) == '>' || at(r, 0) == '|') {
		r->p++;
	}
	skip_blanks(r);
	if (at(r, 0) == '<' || at(r, 0) == '>') {
		give_up(r, "process substitution");
		return;
	}
	if (!read_word(r, &w)) {
		give_up(r, "a redirection without a target");
		return;
	}
	size_t digits = 0;
	while (digits < w.len && isdigit((unsigned char)w.text[digits]))
		digits++;
	if (dup && !w.dynamic && (digits == w.len || (digits + 1 == w.len && w.text[digits] == '-')))
		return; /* 2>&1, <&- */
	add_redirect(part, here_string ? SHELL_HERE : in && !read_write ? SHELL_IN : SHELL_OUT, &w);
}

static bool at_redirect(const struct reader *r)
{
	int c = at(r, 0);
	return c == '<' || c == '>' || (c == '&' && at(r, 1) == '>');
}

/* A number directly before < or > belongs to it. */
static bool skip_fd(struct reader *r)
{
	const char *q = r->p;
	while (q < r->end && isdigit((unsigned char)*q))
		q++;
	if (q > r->p && q < r->end && (*q == '<' || *q == '>')) {
		r->p = q;
		return true;
	}
	return at_redirect(r);
}

static void read_redirects(struct reader *r, struct shell_part *part, size_t index)
{
	for (skip_blanks(r); skip_fd(r) && !given_up(r); skip_blanks(r))
		read_redirect(r, part, index);
}

/* Part number @out of the raw ones; NULL and opaque when there are too many. */
static struct shell_part *new_raw(struct reader *r, size_t *out)
{
	if (r->nr_raw == SHELL_PARTS_MAX) {
		give_up(r, "too many commands");
		return NULL;
	}
	*out = r->nr_raw++;
	r->raw[*out] = (struct shell_part){ 0 };
	return &r->raw[*out];
}

/* After a subshell, a group or a loop: its redirections are a part without words. */
static void read_trailing_redirects(struct reader *r)
{
	skip_blanks(r);
	if (!skip_fd(r))
		return;
	size_t index;
	struct shell_part *part = new_raw(r, &index);
	if (part)
		read_redirects(r, part, index);
}

static void skip_words(struct reader *r)
{
	struct shell_word w;
	for (skip_blanks(r); read_word(r, &w); skip_blanks(r))
		;
}

static void read_for(struct reader *r)
{
	struct shell_word w;
	skip_blanks(r);
	if (at(r, 0) == '(' || !read_word(r, &w)) {
		give_up(r, "an arithmetic for loop");
		return;
	}
	skip_lines(r);
	const char *before = r->p;
	if (read_word(r, &w) && word_is(&w, "in"))
		skip_words(r);
	else if (!given_up(r))
		r->p = before;
}

/* One `pattern) list ;;` of a case; false after esac or when it is not understood. */
static bool read_arm(struct reader *r)
{
	struct shell_word w;
	skip_lines(r);
	if (at(r, 0) == '(')
		r->p++;
	skip_blanks(r);
	if (!read_word(r, &w))
		goto strange;
	if (word_is(&w, "esac"))
		return false;
	for (skip_blanks(r); at(r, 0) == '|'; skip_blanks(r)) {
		r->p++;
		skip_blanks(r);
		if (!read_word(r, &w))
			goto strange;
	}
	if (at(r, 0) != ')')
		goto strange;
	r->p++;
	return deeper(r, UNTIL_ARM) == UNTIL_ARM && !given_up(r);
strange:
	give_up(r, "a case that is not understood");
	return false;
}

static void read_case(struct reader *r)
{
	struct shell_word w;
	skip_blanks(r);
	bool good = read_word(r, &w);
	skip_lines(r);
	if (!good || !read_word(r, &w) || !word_is(&w, "in"))
		give_up(r, "a case that is not understood");
	while (!given_up(r) && read_arm(r))
		;
}

/* [[ ... ]]: only what its words run matters. */
static void read_test(struct reader *r)
{
	struct shell_word w;
	while (!given_up(r) && r->p < r->end) {
		skip_blanks(r);
		if (read_word(r, &w)) {
			if (word_is(&w, "]]"))
				return;
		} else if (r->p < r->end) {
			r->p++; /* an operator of its own language */
		}
	}
	give_up(r, "unbalanced [[");
}

/* The reader stands behind the first word of a command. Keywords that only join lists are stepped over: what they join
 * is found all the same, and a text in which they are misplaced runs less, not more. */
static bool read_keyword(struct reader *r, const struct shell_word *w)
{
	static const char *const joins[] = { "if", "then", "elif", "else", "while", "until", "do", "{", "!", NULL };
	static const char *const ends[] = { "fi", "done", "}", NULL };
	static const char *const strange[] = { "coproc", "select", "function", "alias", "enable", "autoload", "hash", NULL };
	if (word_among(w, joins))
		return true;
	if (word_among(w, strange)) {
		give_up(r, word_is(w, "alias") ? "an alias" : "a shell word that is not understood");
		return true;
	}
	if (word_is(w, "for"))
		read_for(r);
	else if (word_is(w, "case"))
		read_case(r);
	else if (word_is(w, "[["))
		read_test(r);
	else if (!word_among(w, ends))
		return false;
	read_trailing_redirects(r);
	return true;
}

/* name=(a b c) */
static void read_array(struct reader *r)
{
	r->p++;
	for (skip_lines(r); r->p < r->end && at(r, 0) != ')' && !given_up(r); skip_lines(r)) {
		struct shell_word w;
		if (!read_word(r, &w))
			break;
	}
	if (at(r, 0) == ')')
		r->p++;
	else
		give_up(r, "an array that is not understood");
}

size_t shell_assignment(const char *text, size_t len)
{
	size_t i = 0;
	while (i < len && (isalnum((unsigned char)text[i]) || text[i] == '_'))
		i++;
	if (!i || isdigit((unsigned char)text[0]))
		return 0;
	size_t name = i;
	if (i < len && text[i] == '[') {
		const char *close = memchr(text + i, ']', len - i);
		i = close ? (size_t)(close - text) + 1 : len;
	}
	if (i < len && text[i] == '+')
		i++;
	return i < len && text[i] == '=' ? name : 0;
}

/* A simple command, of which @first (may be NULL: a redirection comes first) has been read. */
static void read_simple(struct reader *r, const struct shell_word *first)
{
	size_t index;
	struct shell_part *part = new_raw(r, &index);
	struct shell_word w;
	bool have = first != NULL;
	if (!part)
		return;
	if (have)
		w = *first;
	for (; !given_up(r); skip_blanks(r)) {
		bool literal_name = have && shell_assignment(w.text, w.dynamic ? w.prefix : w.len);
		if (have && !part->nr_words && literal_name) {
			strv_push_bytes(&part->env, w.text, w.len);
			if (at(r, 0) == '(')
				read_array(r);
		} else if (have) {
			shell_part_push(part, &w);
		}
		skip_blanks(r);
		if (skip_fd(r)) {
			read_redirect(r, part, index);
			have = false;
		} else if (at(r, 0) == '(') {
			/* name() body: the body is read as a list of its own, which it is */
			r->p++;
			skip_blanks(r);
			if (at(r, 0) != ')' || part->nr_words != 1 || part->nr_redirects) {
				give_up(r, "brackets that are not understood");
				return;
			}
			r->p++;
			shell_part_release(part);
			*part = (struct shell_part){ 0 };
			return;
		} else {
			have = read_word(r, &w);
			if (!have)
				return;
		}
	}
}

static void read_command(struct reader *r)
{
	struct shell_word w;
	for (;;) {
		skip_blanks(r);
		if (at(r, 0) == '(') {
			r->p++;
			if (at(r, 0) == '(') {
				give_up(r, "arithmetic as a command");
				return;
			}
			if (deeper(r, UNTIL_PAREN) != UNTIL_PAREN)
				give_up(r, "unbalanced (");
			read_trailing_redirects(r);
			return;
		}
		if (skip_fd(r)) {
			read_simple(r, NULL);
			return;
		}
		if (!read_word(r, &w))
			return;
		if (!read_keyword(r, &w)) {
			read_simple(r, &w);
			return;
		}
	}
}

/* Reads commands until what @until says is consumed, or the text ends. */
static enum until read_list(struct reader *r, enum until until)
{
	while (!given_up(r)) {
		skip_lines(r);
		const char *before = r->p;
		if (until == UNTIL_ARM && r->end - r->p >= 4 && !memcmp(r->p, "esac", 4) && is_meta(at(r, 4))) {
			r->p += 4;
			return UNTIL_END;
		}
		int c = at(r, 0);
		if (c < 0)
			break;
		if (c == ')') {
			if (until != UNTIL_PAREN)
				give_up(r, "unbalanced )");
			r->p += r->p < r->end;
			return UNTIL_PAREN;
		}
		if (c == ';' && (at(r, 1) == ';' || at(r, 1) == '&')) {
			if (until != UNTIL_ARM)
				give_up(r, "a case that is not understood");
			else
				r->p += at(r, 1) == ';' && at(r, 2) == '&' ? 3 : 2;
			return UNTIL_ARM;
		}
		if (c == ';' || c == '|' || (c == '&' && at(r, 1) != '>')) {
			r->p++; /* what joins two commands does not matter here */
			continue;
		}
		read_command(r);
		if (r->p == before && !given_up(r))
			give_up(r, "a sign that is not understood");
	}
	if (until != UNTIL_END && !given_up(r))
		give_up(r, "unbalanced brackets");
	return UNTIL_END;
}

void shell_read(struct shell *s, const char *text, size_t len, int depth)
{
	if (s->opaque)
		return;
	if (depth > SHELL_DEPTH_MAX) {
		shell_opaque(s, "nested too deeply");
		return;
	}
	if (memchr(text, 0, len)) {
		shell_opaque(s, "a NUL byte");
		return;
	}
	struct reader *r = NEW(struct reader);
	r->s = s;
	r->p = text;
	r->end = text + len;
	r->depth = depth;
	read_list(r, UNTIL_END);
	for (size_t i = 0; i < r->nr_raw; i++)
		shell_look(s, &r->raw[i], depth);
	free(r);
}
