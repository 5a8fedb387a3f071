/* The upper half of the reader: lists and commands. */
#include "action/shell_parse.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum until reader_deeper(struct reader *r, enum until until)
{
	enum until how = UNTIL_END;
	if (++r->depth > SHELL_DEPTH_MAX)
		reader_give_up(r, "nested too deeply");
	else
		how = reader_list(r, until);
	r->depth--;
	return how;
}

static bool word_is(const struct shell_word *w, const char *s)
{
	return !w->dynamic && !w->quoted && w->len == strlen(s) && !memcmp(w->text, s, w->len);
}

static bool action_shell_word_among(const struct shell_word *w, const char *const *list)
{
	for (; *list; list++)
		if (word_is(w, *list))
			return true;
	return false;
}

static void add_redirect(struct shell_part *part, enum shell_redirect_kind kind,
			 const struct shell_word *w)
{
	GROW(part->redirect, part->nr_redirects, part->cap_redirects);
	part->redirect[part->nr_redirects++] = (struct shell_redirect){ kind, *w };
}

static void read_here_tag(struct reader *r, struct shell_part *part, size_t index)
{
	bool strip = reader_at(r, 0) == '-';
	struct shell_word w = { 0 };
	r->p += strip;
	reader_blanks(r);
	const char *from = r->p;
	if (r->nr_here == ARRAY_LEN(r->here) || !reader_word(r, &w)) {
		reader_give_up(r, "a here-document that is not understood");
		return;
	}
	/* the tag is not expanded: `<<$X` ends at a line "$X" */
	bool literal = memchr(from, '\'', (size_t)(r->p - from)) ||
		       memchr(from, '"', (size_t)(r->p - from)) ||
		       memchr(from, '\\', (size_t)(r->p - from));
	if (w.dynamic && literal) {
		reader_give_up(r, "a here-document that is not understood");
		return;
	}
	add_redirect(part, SHELL_HERE, &(struct shell_word){ .text = "" });
	r->here[r->nr_here++] = (struct here){ index, part->nr_redirects - 1, w, strip, literal };
}

/* At an operator of redirection (a number before it is gone already). */
static void read_redirect(struct reader *r, struct shell_part *part, size_t index)
{
	struct shell_word w = { 0 };
	bool in = reader_at(r, 0) == '<', both = reader_at(r, 0) == '&', dup = false;
	r->p += both ? 2 : 1;
	if (in && reader_at(r, 0) == '<' && reader_at(r, 1) != '<') {
		r->p++;
		read_here_tag(r, part, index);
		return;
	}
	bool here_string = in && reader_at(r, 0) == '<' && reader_at(r, 1) == '<';
	bool read_write = in && reader_at(r, 0) == '>';
	if (here_string)
		r->p += 2;
	else if (reader_at(r, 0) == '&') {
		dup = true;
		r->p++;
	} else if (reader_at(r, 0) == '>' || reader_at(r, 0) == '|') {
		r->p++;
	}
	reader_blanks(r);
	if (!reader_word(r, &w)) {
		reader_give_up(r, "a redirection without a target");
		return;
	}
	size_t digits = 0;
	while (digits < w.len && isdigit((unsigned char)w.text[digits]))
		digits++;
	if (dup && !w.dynamic &&
	    (digits == w.len || (digits + 1 == w.len && w.text[digits] == '-')))
		return; /* 2>&1, <&- */
	add_redirect(part, here_string ? SHELL_HERE : in && !read_write ? SHELL_IN : SHELL_OUT, &w);
}

static bool at_redirect(const struct reader *r)
{
	int c = reader_at(r, 0);
	if ((c == '<' || c == '>') && reader_at(r, 1) == '(')
		return false; /* process substitution: a word */
	return c == '<' || c == '>' || (c == '&' && reader_at(r, 1) == '>');
}

/* A number, or a name in braces, directly before < or > belongs to it. */
static bool skip_fd(struct reader *r)
{
	const char *q = r->p;
	if (q < r->end && *q == '{') {
		for (q++; q < r->end && (isalnum((unsigned char)*q) || *q == '_');)
			q++;
		q = q < r->end && *q == '}' ? q + 1 : r->p;
	}
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
	for (reader_blanks(r); skip_fd(r) && !reader_given_up(r); reader_blanks(r))
		read_redirect(r, part, index);
}

/* Part number @out of the raw ones; NULL and opaque when there are too many. */
static struct shell_part *new_raw(struct reader *r, size_t *out)
{
	if (r->nr_raw == SHELL_PARTS_MAX) {
		reader_give_up(r, "too many commands");
		return NULL;
	}
	*out = r->nr_raw++;
	r->raw[*out] = (struct shell_part){ 0 };
	return &r->raw[*out];
}

/* After a subshell, a group or a loop: its redirections are a part without words. */
static void read_trailing_redirects(struct reader *r)
{
	reader_blanks(r);
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
	for (reader_blanks(r); reader_word(r, &w); reader_blanks(r))
		;
}

static void read_for(struct reader *r)
{
	struct shell_word w;
	reader_blanks(r);
	if (reader_at(r, 0) == '(' && reader_at(r, 1) == '(') {
		reader_arithmetic(r, 2);
		return;
	}
	if (!reader_word(r, &w)) {
		reader_give_up(r, "a for loop that is not understood");
		return;
	}
	reader_lines(r);
	const char *before = r->p;
	if (reader_word(r, &w) && word_is(&w, "in"))
		skip_words(r);
	else if (!reader_given_up(r))
		r->p = before;
}

/* One `pattern) list ;;` of a case; false after esac or when it is not understood. */
static bool read_arm(struct reader *r)
{
	struct shell_word w;
	reader_lines(r);
	if (reader_at(r, 0) == '(')
		r->p++;
	reader_blanks(r);
	if (!reader_word(r, &w))
		goto strange;
	if (word_is(&w, "esac"))
		return false;
	for (reader_blanks(r); reader_at(r, 0) == '|'; reader_blanks(r)) {
		r->p++;
		reader_blanks(r);
		if (!reader_word(r, &w))
			goto strange;
	}
	if (reader_at(r, 0) != ')')
		goto strange;
	r->p++;
	return reader_deeper(r, UNTIL_ARM) == UNTIL_ARM && !reader_given_up(r);
strange:
	reader_give_up(r, "a case that is not understood");
	return false;
}

static void read_case(struct reader *r)
{
	struct shell_word w;
	reader_blanks(r);
	bool good = reader_word(r, &w);
	reader_lines(r);
	if (!good || !reader_word(r, &w) || !word_is(&w, "in"))
		reader_give_up(r, "a case that is not understood");
	while (!reader_given_up(r) && read_arm(r))
		;
}

/* A part that only asks and denies look at. NULL and opaque when there are too many. */
static struct shell_part *new_looked(struct reader *r, unsigned flags)
{
	size_t index;
	struct shell_part *part = new_raw(r, &index);
	if (part)
		part->flags = SHELL_LOOKED | SHELL_GUESS | flags;
	return part;
}

/* A word of [[ ... ]]. @part: the command that dash sees behind an operator; NULL: none yet. */
static void read_test_word(struct reader *r, struct shell_part *part, const struct shell_word *w)
{
	if (part)
		shell_part_push(part, w);
	if (!shell_holds_command(w))
		return;
	struct shell_word test = shell_word_of("test"); /* [[ -v 'x[$(ls)]' ]] */
	part = new_looked(r, SHELL_LOOSE);
	if (part) {
		shell_part_push(part, &test);
		shell_part_push(part, w);
	}
}

/* [[ ... ]]: only what its words run matters. dash has no [[: there `[[ a || b ]]` runs b. */
static void read_test(struct reader *r)
{
	struct shell_word w;
	struct shell_part *part = NULL;
	while (!reader_given_up(r) && r->p < r->end) {
		reader_blanks(r);
		int c = reader_at(r, 0);
		if (reader_word(r, &w)) {
			if (word_is(&w, "]]"))
				return;
			read_test_word(r, part, &w);
		} else if (r->p < r->end) {
			bool joins = c == '|' || c == '&' || c == ';' || c == '\n';
			if (joins && (!part || part->nr_words))
				part = new_looked(r, 0);
			r->p++; /* an operator of its own language */
		}
	}
	reader_give_up(r, "unbalanced [[");
}

/* function NAME [()]: its body is a list like any other. */
static void read_function(struct reader *r)
{
	struct shell_word w;
	reader_blanks(r);
	if (!reader_word(r, &w))
		reader_give_up(r, "a function that is not understood");
	reader_blanks(r);
	if (reader_at(r, 0) == '(' && reader_at(r, 1) == ')')
		r->p += 2;
	reader_lines(r);
}

/* The reader is after the first word of a command. Keywords that only join lists are skipped: their
 * commands are found all the same, and a text with misplaced keywords runs less, not more. */
static bool read_keyword(struct reader *r, const struct shell_word *w)
{
	static const char *const joins[] = { "if", "then", "elif", "else",   "while", "until",
					     "do", "{",	   "!",	   "coproc", NULL };
	static const char *const ends[] = { "fi", "done", "}", NULL };
	static const char *const strange[] = { "alias", "enable", "autoload", "hash", NULL };
	if (action_shell_word_among(w, joins))
		return true;
	if (action_shell_word_among(w, strange)) {
		reader_give_up(r, word_is(w, "alias") ? "an alias"
						      : "a shell word that is not understood");
		return true;
	}
	if (word_is(w, "function")) {
		read_function(r);
		return true;
	}
	if (word_is(w, "for") || word_is(w, "select"))
		read_for(r);
	else if (word_is(w, "case"))
		read_case(r);
	else if (word_is(w, "[["))
		read_test(r);
	else if (!action_shell_word_among(w, ends))
		return false;
	read_trailing_redirects(r);
	return true;
}

/* name=(a b c) */
static void read_array(struct reader *r)
{
	r->p++;
	for (reader_lines(r); r->p < r->end && reader_at(r, 0) != ')' && !reader_given_up(r);
	     reader_lines(r)) {
		struct shell_word w;
		if (!reader_word(r, &w))
			break;
	}
	if (reader_at(r, 0) == ')')
		r->p++;
	else
		reader_give_up(r, "an array that is not understood");
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
	for (; !reader_given_up(r); reader_blanks(r)) {
		bool literal_name = have && shell_assignment(w.text, w.dynamic ? w.prefix : w.len);
		if (have && !part->nr_words && literal_name) {
			strv_push_bytes(&part->env, w.text, w.len);
			part->flags |= shell_holds_command(&w) ? SHELL_SETS : 0;
			if (reader_at(r, 0) == '(')
				read_array(r);
		} else if (have) {
			shell_part_push(part, &w);
		}
		reader_blanks(r);
		if (skip_fd(r)) {
			read_redirect(r, part, index);
			have = false;
		} else if (reader_at(r, 0) == '(') {
			/* name() body: the body is read as a list of its own, which it is */
			r->p++;
			reader_blanks(r);
			if (reader_at(r, 0) != ')' || part->nr_words != 1 || part->nr_redirects) {
				reader_give_up(r, "brackets that are not understood");
				return;
			}
			r->p++;
			shell_part_release(part);
			*part = (struct shell_part){ 0 };
			return;
		} else {
			have = reader_word(r, &w);
			if (!have)
				return;
		}
	}
}

/* ((...)): does it end with two brackets, as arithmetic does? `((a); b)` is not understood. */
static bool arithmetic_ahead(const struct reader *r)
{
	int level = 0;
	for (const char *q = r->p; q < r->end && *q != '\n'; q++) {
		level += *q == '(' ? 1 : *q == ')' ? -1 : 0;
		if (level == 0)
			return q + 1 < r->end && q[1] == ')';
	}
	return false;
}

/* dash has no ((...)): there it is a subshell in a subshell. */
static void add_arithmetic(struct reader *r, const char *from)
{
	struct shell_part *part = reader_given_up(r) ? NULL : new_looked(r, SHELL_LOOSE);
	struct shell_word name = shell_word_of("((");
	if (!part)
		return;
	shell_part_push(part, &name);
	name = shell_word_of(arena_strndup(&r->s->arena, from, (size_t)(r->p - from)));
	shell_part_push(part, &name);
}

static void read_command(struct reader *r)
{
	struct shell_word w;
	for (;;) {
		reader_blanks(r);
		if (reader_at(r, 0) == '(') {
			r->p++;
			if (reader_at(r, 0) == '(' && arithmetic_ahead(r)) {
				const char *from = r->p;
				reader_arithmetic(r, 1);
				add_arithmetic(r, from);
				read_trailing_redirects(r);
				return;
			}
			if (reader_at(r, 0) == '(') {
				reader_give_up(r, "arithmetic as a command");
				return;
			}
			if (reader_deeper(r, UNTIL_PAREN) != UNTIL_PAREN)
				reader_give_up(r, "unbalanced (");
			read_trailing_redirects(r);
			return;
		}
		if (skip_fd(r)) {
			read_simple(r, NULL);
			return;
		}
		if (!reader_word(r, &w))
			return;
		if (!read_keyword(r, &w)) {
			read_simple(r, &w);
			return;
		}
	}
}

/* Reads commands until what @until says is consumed, or the text ends. */
enum until reader_list(struct reader *r, enum until until)
{
	while (!reader_given_up(r)) {
		reader_lines(r);
		const char *before = r->p;
		if (until == UNTIL_ARM && r->end - r->p >= 4 && !memcmp(r->p, "esac", 4) &&
		    reader_meta(reader_at(r, 4))) {
			r->p += 4;
			return UNTIL_END;
		}
		int c = reader_at(r, 0);
		if (c < 0)
			break;
		if (c == ')') {
			if (until != UNTIL_PAREN)
				reader_give_up(r, "unbalanced )");
			r->p += r->p < r->end;
			return UNTIL_PAREN;
		}
		if (c == ';' && (reader_at(r, 1) == ';' || reader_at(r, 1) == '&')) {
			if (until != UNTIL_ARM)
				reader_give_up(r, "a case that is not understood");
			else
				r->p += reader_at(r, 1) == ';' && reader_at(r, 2) == '&' ? 3 : 2;
			return UNTIL_ARM;
		}
		if (c == ';' || c == '|' || (c == '&' && reader_at(r, 1) != '>')) {
			r->p++; /* what joins two commands does not matter here */
			continue;
		}
		read_command(r);
		if (r->p == before && !reader_given_up(r))
			reader_give_up(r, "a sign that is not understood");
	}
	if (until != UNTIL_END && !reader_given_up(r))
		reader_give_up(r, "unbalanced brackets");
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
	reader_list(r, UNTIL_END);
	for (size_t i = 0; i < r->nr_raw; i++)
		shell_look(s, &r->raw[i], depth);
	free(r);
}
