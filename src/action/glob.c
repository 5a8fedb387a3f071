#include "action/glob.h"

#include <ctype.h>
#include <string.h>

#include "action/shell.h"

struct token {
	enum { T_BYTE, T_ONE, T_STAR, T_ANY, T_DIRS } type;
	char byte;
};

struct automaton {
	struct token tok[GLOB_MAX + 1];
	size_t nr;
	bool fold;
	char sep; /* what a star does not cross; 0 = nothing */
	bool on[GLOB_MAX + 2], next[GLOB_MAX + 2];
	bool entered[GLOB_MAX + 2]; /* T_DIRS may be left only where a name begins */
};

static void glob_compile(struct automaton *a, enum glob_kind kind, const char *p)
{
	const char *start = p;
	a->nr = 0;
	a->fold = kind == GLOB_HOST;
	a->sep = kind == GLOB_PATH ? '/' : kind == GLOB_HOST ? '.' : 0;
	if (kind == GLOB_HOST && p[0] == '*' && (p[1] == '.' || !p[1])) {
		a->tok[a->nr++] = (struct token){ T_ONE, 0 };
		a->tok[a->nr++] = (struct token){ T_ANY, 0 };
		p++;
	}
	while (*p && a->nr < GLOB_MAX) {
		struct token t = { T_BYTE, a->fold ? (char)tolower((unsigned char)*p) : *p };
		if (kind == GLOB_PATH && p[0] == '*' && p[1] == '*') {
			bool dirs = p[2] == '/' && (p == start || p[-1] == '/');
			t.type = dirs ? T_DIRS : T_ANY;
			p += dirs ? 3 : 2;
		} else {
			if (*p == '*')
				t.type = a->sep ? T_STAR : T_ANY;
			else if (*p == '?' && kind == GLOB_PATH)
				t.type = T_ONE;
			p++;
		}
		a->tok[a->nr++] = t;
	}
}

/* States that are reached without reading. */
static void glob_close_over(struct automaton *a, bool first)
{
	for (size_t i = 0; i < a->nr; i++)
		if (a->on[i] && (a->tok[i].type == T_STAR || a->tok[i].type == T_ANY ||
				 (a->tok[i].type == T_DIRS && first)))
			a->on[i + 1] = true;
}

static void glob_begin(struct automaton *a)
{
	memset(a->on, 0, sizeof(a->on));
	a->on[0] = true;
	glob_close_over(a, true);
}

static void glob_feed(struct automaton *a, const char *text, size_t len)
{
	for (size_t k = 0; k < len; k++) {
		bool *next = a->next, *entered = a->entered;
		memset(next, 0, a->nr + 1);
		memset(entered, 0, a->nr + 1);
		char c = a->fold ? (char)tolower((unsigned char)text[k]) : text[k];
		for (size_t i = 0; i < a->nr; i++) {
			if (!a->on[i])
				continue;
			switch (a->tok[i].type) {
			case T_BYTE:
				next[i + 1] |= a->tok[i].byte == c;
				entered[i + 1] |= a->tok[i].byte == c;
				break;
			case T_ONE:
				next[i + 1] |= c != a->sep;
				break;
			case T_STAR:
				next[i] |= c != a->sep;
				break;
			case T_ANY:
				next[i] = true;
				break;
			case T_DIRS:
				next[i] = true;
				next[i + 1] |= c == '/';
				entered[i + 1] |= c == '/';
				break;
			}
		}
		memcpy(a->on, next, a->nr + 1);
		for (size_t i = 0; i < a->nr; i++)
			if (a->on[i] && (a->tok[i].type == T_STAR || a->tok[i].type == T_ANY ||
					 (a->tok[i].type == T_DIRS && entered[i])))
				a->on[i + 1] = entered[i + 1] = true;
	}
}

bool glob_match(enum glob_kind kind, const char *pattern, const char *text, size_t len)
{
	struct automaton a;
	size_t plen = strlen(pattern), plain = strcspn(pattern, "*?");
	if (plen > GLOB_MAX - 2)
		return false;
	if (kind != GLOB_HOST) { /* most patterns and most texts part at the first byte */
		size_t same = plain < len ? plain : len;
		if (memcmp(pattern, text, same) != 0 || len < plain)
			return false;
		if (plain == plen)
			return len == plen;
	}
	glob_compile(&a, kind, pattern);
	glob_begin(&a);
	glob_feed(&a, text, len);
	return a.on[a.nr];
}

enum glob_answer glob_match_unknown(enum glob_kind kind, const char *pattern, const char *prefix,
				    size_t prefix_len, const char *suffix, size_t suffix_len)
{
	struct automaton a;
	size_t first = 0;
	if (strlen(pattern) > GLOB_MAX - 2)
		return GLOB_MAYBE;
	glob_compile(&a, kind, pattern);
	glob_begin(&a);
	glob_feed(&a, prefix, prefix_len);
	if (a.nr && a.tok[a.nr - 1].type == T_ANY && a.on[a.nr - 1])
		return GLOB_YES;
	while (first <= a.nr && !a.on[first])
		first++;
	if (first > a.nr)
		return GLOB_NO;
	for (size_t i = first; i <= a.nr; i++)
		a.on[i] = true;
	glob_feed(&a, suffix, suffix_len);
	return a.on[a.nr] ? GLOB_MAYBE : GLOB_NO;
}

/* --- words ------------------------------------------------------------------------------------ */

enum { ELEMENTS_MAX = 48 };

struct element {
	char text[GLOB_MAX];
	bool any; /* any words or none */
};

/* Splits the pattern at blanks. 0 if it has too many words. */
static size_t glob_elements(const char *pattern, struct element *e)
{
	size_t nr = 0;
	while (*pattern == ' ')
		pattern++;
	while (*pattern) {
		size_t len = strcspn(pattern, " \t");
		if (nr == ELEMENTS_MAX || len >= GLOB_MAX)
			return 0;
		memcpy(e[nr].text, pattern, len);
		e[nr].text[len] = 0;
		pattern += len;
		pattern += strspn(pattern, " \t");
		e[nr].any =
			!strcmp(e[nr].text, "...") || (nr && !*pattern && !strcmp(e[nr].text, "*"));
		nr++;
	}
	return nr;
}

static enum glob_answer word_match(const char *glob, const struct shell_word *w)
{
	if (!w->dynamic)
		return glob_match(GLOB_WORD, glob, w->text, w->len) ? GLOB_YES : GLOB_NO;
	enum glob_answer a = glob_match_unknown(GLOB_WORD, glob, w->text, w->prefix,
						w->text + w->len - w->suffix, w->suffix);
	return a == GLOB_YES && w->splits ? GLOB_MAYBE : a;
}

static bool system_folder(const char *path, size_t len)
{
	static const char *const folder[] = { "/bin", "/usr/bin", "/usr/local/bin", "/sbin",
					      "/usr/sbin" };
	for (size_t i = 0; i < ARRAY_LEN(folder); i++)
		if (strlen(folder[i]) == len && !memcmp(folder[i], path, len))
			return true;
	return false;
}

/* The name of a command of which only the ends are known: /usr/bin/g?t, /???/???/git, $DIR/git. */
static enum glob_answer unknown_name_match(const char *glob, const struct shell_word *w)
{
	const char *suffix = w->text + w->len - w->suffix;
	const char *slash = memrchr(suffix, '/', w->suffix);
	if (slash) {
		size_t len = w->suffix - (size_t)(slash + 1 - suffix);
		return glob_match(GLOB_WORD, glob, slash + 1, len) ? GLOB_MAYBE : GLOB_NO;
	}
	const char *from = memchr(w->text + w->prefix, '/', w->len - w->suffix - w->prefix)
				   ? NULL
				   : memrchr(w->text, '/', w->prefix);
	size_t prefix = 0;
	if (from)
		prefix = w->prefix - (size_t)(from + 1 - w->text);
	return glob_match_unknown(GLOB_WORD, glob, from ? from + 1 : "", prefix, suffix,
				  w->suffix) == GLOB_NO
		       ? GLOB_NO
		       : GLOB_MAYBE;
}

/* A command's name: /usr/bin/git is git; ./git is git only to those who want to stop it. */
static enum glob_answer name_match(const char *glob, const struct shell_word *w, bool certain)
{
	enum glob_answer a = word_match(glob, w);
	if (w->dynamic && !certain && !strchr(glob, '/') && a == GLOB_NO)
		return unknown_name_match(glob, w);
	const char *slash = w->dynamic || strchr(glob, '/') ? NULL : memrchr(w->text, '/', w->len);
	if (a == GLOB_YES || !slash ||
	    (certain && !system_folder(w->text, (size_t)(slash - w->text))))
		return a;
	return glob_match(GLOB_WORD, glob, slash + 1, w->len - (size_t)(slash + 1 - w->text))
		       ? GLOB_YES
		       : a;
}

/* The last element of a pattern like "git push*": it ends in a star, so that words may follow for
 * those who want to stop it. */
static bool ends_open(const struct element *e, size_t nr)
{
	size_t len = nr ? strlen(e[nr - 1].text) : 0;
	return len > 1 && e[nr - 1].text[len - 1] == '*' && !e[nr - 1].any;
}

static void raise_to(unsigned char *to, enum glob_answer a)
{
	if (*to < (unsigned char)a)
		*to = (unsigned char)a;
}

static void skip_any(const struct element *e, size_t nr, unsigned char *state)
{
	for (size_t i = 0; i < nr; i++)
		if (e[i].any)
			raise_to(&state[i + 1], (enum glob_answer)state[i]);
}

enum glob_answer words_match(const char *pattern, const struct shell_part *part, bool certain)
{
	struct element e[ELEMENTS_MAX];
	unsigned char state[ELEMENTS_MAX + 1] = { GLOB_YES };
	size_t nr = glob_elements(pattern, e);
	if (!nr || !part->nr_words)
		return GLOB_NO;
	bool open = false;
	for (size_t i = 0; !certain && i < nr; i++)
		open |= !strcmp(e[i].text, "...");
	open |= !certain && ends_open(e, nr);
	skip_any(e, nr, state);
	for (size_t j = 0; j < part->nr_words; j++) {
		const struct shell_word *w = &part->word[j];
		unsigned char next[ELEMENTS_MAX + 1] = { 0 };
		for (size_t i = 0; i <= nr; i++) {
			if (!state[i])
				continue;
			if (w->splits && !w->prefix && !w->suffix)
				raise_to(&next[i], GLOB_MAYBE); /* it may become nothing */
			if (i == nr) {
				if (open)
					raise_to(&next[i], (enum glob_answer)state[i]);
				continue;
			}
			if (e[i].any) {
				raise_to(&next[i], (enum glob_answer)state[i]);
				continue;
			}
			enum glob_answer a =
				j ? word_match(e[i].text, w) : name_match(e[i].text, w, certain);
			raise_to(&next[i + 1], a < state[i] ? a : (enum glob_answer)state[i]);
			if (w->splits && glob_match_unknown(GLOB_WORD, e[i].text, w->text,
							    w->prefix, "", 0) != GLOB_NO)
				for (size_t k = i + 2; k <= nr; k++)
					raise_to(&next[k], GLOB_MAYBE); /* it may become several */
		}
		memcpy(state, next, sizeof(state));
		skip_any(e, nr, state);
	}
	return (enum glob_answer)state[nr];
}

/* --- words in order --------------------------------------------------------------------------- */

struct in_order {
	const struct element *e;
	/* elements, how many have been found, and how many of these for certain */
	size_t nr, at, literal;
};

static void skip_free(struct in_order *o)
{
	while (o->at < o->nr && o->e[o->at].any)
		o->at++;
}

static void see_token(struct in_order *o, const char *text, size_t len)
{
	static const char before[] = "!-+@#";
	while (len && o->at == 0 && strchr(before, *text)) { /* alias.x=!git, ["git"] */
		text++;
		len--;
	}
	skip_free(o);
	if (!len || o->at == o->nr)
		return;
	struct shell_word w = { .text = text, .len = len, .prefix = len, .suffix = len };
	const char *slash = o->at == 0 ? memrchr(text, '/', len) : NULL;
	bool found = word_match(o->e[o->at].text, &w) == GLOB_YES;
	if (!found && slash)
		found = glob_match(GLOB_WORD, o->e[o->at].text, slash + 1,
				   len - (size_t)(slash + 1 - text));
	o->at += found;
	o->literal += found;
	skip_free(o);
}

/* -ae'git push': the value of a short option in its own word. */
static void see_option_value(struct in_order *o, const char *text, size_t len)
{
	size_t was = o->at;
	if (was || len < 3 || text[0] != '-' || text[1] == '-')
		return;
	for (size_t k = 2; o->at == was && k < len; k++)
		see_token(o, text + k, len - k);
}

static void see_text(struct in_order *o, const char *text, size_t len)
{
	static const char blanks[] = " \t\n\r\"'`;|&()", between[] = "[]{}<>,=\\$:";
	for (size_t i = 0, n; i < len; i += n + 1) {
		for (n = 0; i + n < len && !strchr(blanks, text[i + n]);)
			n++;
		size_t was = o->at;
		see_token(o, text + i, n);
		see_option_value(o, text + i, n);
		for (size_t k = 0, m; o->at == was && k < n; k += m + 1) {
			for (m = 0; k + m < n && !strchr(between, text[i + k + m]);)
				m++;
			if (m < n)
				see_token(o, text + i + k, m);
			was = o->at;
		}
	}
}

static void see_word(struct in_order *o, const struct shell_word *w)
{
	size_t was = o->at;
	see_text(o, w->text, w->len);
	if (!w->dynamic || o->at != was || o->at == o->nr)
		return;
	if (word_match(o->e[o->at].text, w) != GLOB_NO ||
	    (o->at == 0 && unknown_name_match(o->e[0].text, w) != GLOB_NO)) {
		o->at++;
		skip_free(o);
	}
}

bool words_in_order(const char *pattern, const struct shell_part *part, const struct strv *assigned)
{
	struct element e[ELEMENTS_MAX];
	struct in_order o = { .e = e, .nr = glob_elements(pattern, e) };
	bool loose = part->flags & SHELL_LOOSE, dynamic = false;
	if (!o.nr || !(part->flags & (SHELL_LOOSE | SHELL_SETS)))
		return false;
	for (size_t i = 0; i < part->nr_words; i++)
		dynamic |= part->word[i].dynamic;
	for (size_t i = 0; part->flags & SHELL_SETS && i < part->env.nr; i++)
		see_text(&o, part->env.item[i], part->env.len[i]);
	for (size_t i = 0; loose && dynamic && i < assigned->nr; i++)
		see_text(&o, assigned->item[i], assigned->len[i]);
	for (size_t i = 0; loose && i < part->nr_words; i++)
		see_word(&o, &part->word[i]);
	for (size_t i = 0; loose && i < part->nr_redirects; i++)
		if (part->redirect[i].kind == SHELL_HERE)
			see_text(&o, part->redirect[i].target.text, part->redirect[i].target.len);
	return o.at == o.nr && o.literal > 0;
}

bool words_in_text(const char *pattern, const char *text, size_t len)
{
	struct element e[ELEMENTS_MAX];
	struct in_order o = { .e = e, .nr = glob_elements(pattern, e) };
	if (o.nr)
		see_text(&o, text, len);
	return o.nr && o.at == o.nr && o.literal > 0;
}
