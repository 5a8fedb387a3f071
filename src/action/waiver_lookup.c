#include "action/waiver_lookup.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "action/policy_priv.h"
#include "base/mem.h"

/* Literal words that a key has at most, besides the keys of whole commands. */
enum { LEADING_WORDS = 3 };

struct numbers {
	uint32_t *item;
	size_t nr, cap;
};
struct waiver_lookup {
	json_t *at; /* key -> place in list */
	struct numbers *list;
	size_t nr, cap;
};

struct waiver_lookup *waiver_lookup_new(void)
{
	struct waiver_lookup *l = NEW(struct waiver_lookup);
	l->at = json_object();
	return l;
}

void waiver_lookup_free(struct waiver_lookup **lp)
{
	struct waiver_lookup *l = *lp;
	*lp = NULL;
	if (!l)
		return;
	for (size_t i = 0; i < l->nr; i++)
		free(l->list[i].item);
	free(l->list);
	json_decref(l->at);
	free(l);
}

/* Keys are "KIND SPACE TEXT": how texts of different spaces are kept apart. Every subject has the
 * key of its kind alone, for patterns that lead nowhere else. */
static void lookup_put(struct waiver_lookup *l, enum action_kind kind, char space, const char *text,
		       size_t len, uint32_t number)
{
	CLEANUP(free_ptr) char *key = mem_printf("%d%c%.*s", (int)kind, space, (int)len, text);
	const json_t *at = json_object_get(l->at, key);
	if (!at) {
		GROW(l->list, l->nr, l->cap);
		l->list[l->nr] = (struct numbers){ 0 };
		json_object_set_new_nocheck(l->at, key, json_integer((json_int_t)l->nr++));
		at = json_object_get(l->at, key);
	}
	struct numbers *n = &l->list[json_integer_value(at)];
	if (n->nr && n->item[n->nr - 1] == number)
		return;
	GROW(n->item, n->nr, n->cap);
	n->item[n->nr++] = number;
}

/* The text of @part as a pattern would be written, as far as it is known: under its first words,
 * all of them, and all up to each slash of the last one. */
static void lookup_put_words(struct waiver_lookup *l, enum action_kind kind,
			     const struct shell_part *part, const char *name, size_t name_len,
			     uint32_t number)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	size_t last = 0;
	buf_append(&text, name, name_len);
	bool known = true;
	for (size_t i = 0; i < part->nr_words && known; i++) {
		const struct shell_word *w = &part->word[i];
		known = !i || !w->dynamic;
		if (i) {
			buf_putc(&text, ' ');
			last = text.len;
			buf_append(&text, w->text, known ? w->len : w->prefix);
		}
		if (i < LEADING_WORDS && known)
			lookup_put(l, kind, 'w', buf_cstr(&text), text.len, number);
	}
	if (known)
		lookup_put(l, kind, 'a', buf_cstr(&text), text.len, number);
	for (size_t i = last; i < text.len; i++)
		if (text.data[i] == '/')
			lookup_put(l, kind, 's', text.data, i, number);
}

static void lookup_put_command(struct waiver_lookup *l, const struct policy_subject *subject,
			       uint32_t number)
{
	enum action_kind kind = subject->spec->kind;
	struct shell *sh = spec_split(subject->spec);
	for (size_t i = 0; sh && i < sh->nr; i++) {
		const struct shell_part *p = &sh->part[i];
		if (!p->nr_words || p->word[0].dynamic)
			continue;
		const struct shell_word *w = &p->word[0];
		const char *slash = memrchr(w->text, '/', w->len);
		lookup_put_words(l, kind, p, w->text, w->len, number);
		if (slash)
			lookup_put_words(l, kind, p, slash + 1,
					 w->len - (size_t)(slash + 1 - w->text), number);
	}
	shell_free(&sh);
}

/* The path and every directory above it. */
static void lookup_put_path(struct waiver_lookup *l, const struct action_spec *s, uint32_t number)
{
	bool host = s->kind == ACT_PUT || s->kind == ACT_GET;
	const char *path = host ? s->host_path : s->path, *home = getenv("HOME");
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	if (!path)
		return;
	path_resolve(host ? "/" : s->cwd, path, !host ? BOX_HOME : home ? home : "/", &b);
	for (size_t i = 1; i <= b.len; i++)
		if (i == b.len || b.data[i] == '/')
			lookup_put(l, s->kind, 'p', b.data, i, number);
}

static void lookup_lower(const char *host, size_t len, struct buf *out)
{
	while (len > 1 && host[len - 1] == '.')
		len--;
	for (size_t i = 0; i < len; i++)
		buf_putc(out, (char)tolower((unsigned char)host[i]));
}

/* The name and every zone that it is in. */
static void lookup_put_host(struct waiver_lookup *l, const struct action_spec *s, uint32_t number)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	if (!s->host)
		return;
	lookup_lower(s->host, strlen(s->host), &b);
	for (size_t i = 0; i < b.len; i++)
		if (!i || b.data[i - 1] == '.')
			lookup_put(l, s->kind, 'h', b.data + i, b.len - i, number);
}

void waiver_lookup_add(struct waiver_lookup *l, const struct policy_subject *subject,
		       uint32_t number)
{
	const struct action_spec *s = subject->spec;
	const char *by = waiver_key(s->kind);
	lookup_put(l, s->kind, ' ', "", 0, number);
	if (!strcmp(by, "cmd"))
		lookup_put_command(l, subject, number);
	else if (!strcmp(by, "path"))
		lookup_put_path(l, s, number);
	else if (!strcmp(by, "host"))
		lookup_put_host(l, s, number);
	else if (s->tool)
		lookup_put(l, s->kind, 't', s->tool, strlen(s->tool), number);
}

/* --- the key of a pattern ------------------------------------------------------------------------
 * Each returns its space, ' ' when the pattern leads nowhere. */

static char lookup_words_key(const char *pattern, struct buf *out)
{
	size_t len = strlen(pattern), star = strcspn(pattern, "*"), words = 0, end = 0;
	if (strstr(pattern, "...") || strstr(pattern, "  ") || strpbrk(pattern, "\t\n"))
		return ' ';
	if (star == len) {
		buf_append(out, pattern, len);
		return 'a';
	}
	if (star + 1 == len && star > 1 && pattern[star - 1] == '/' && memchr(pattern, ' ', star)) {
		buf_append(out, pattern, star - 1);
		return 's';
	}
	for (size_t i = 0; i < star && words < LEADING_WORDS; i++)
		if (pattern[i] == ' ' && ++words)
			end = i;
	buf_append(out, pattern, end);
	return end ? 'w' : ' ';
}

static char lookup_path_key(const char *pattern, struct buf *out)
{
	size_t len = strlen(pattern);
	if (len > 3 && !strcmp(pattern + len - 3, "/**"))
		len -= 3;
	if (!len || memchr(pattern, '*', len) || memchr(pattern, '?', len) || pattern[0] == '~' ||
	    pattern[0] == '.')
		return ' ';
	if (pattern[0] != '/')
		buf_puts(out, BOX_CWD "/");
	buf_append(out, pattern, len);
	return 'p';
}

static char lookup_host_key(const char *pattern, struct buf *out)
{
	const char *colon = strchr(pattern, ':');
	size_t len = colon ? (size_t)(colon - pattern) : strlen(pattern);
	if ((colon && strchr(colon + 1, ':')) || pattern[0] == '[')
		return ' ';
	if (len > 2 && pattern[0] == '*' && pattern[1] == '.') {
		pattern += 2;
		len -= 2;
	}
	if (memchr(pattern, '*', len))
		return ' ';
	lookup_lower(pattern, len, out);
	return 'h';
}

static char lookup_key(const struct waiver *w, struct buf *out)
{
	const char *by = waiver_key(w->kind);
	if (!strcmp(by, "cmd"))
		return lookup_words_key(w->pattern, out);
	if (!strcmp(by, "path"))
		return lookup_path_key(w->pattern, out);
	if (!strcmp(by, "host"))
		return lookup_host_key(w->pattern, out);
	if (strpbrk(w->pattern, "*?"))
		return ' ';
	buf_puts(out, w->pattern);
	return 't';
}

const uint32_t *waiver_lookup_find(const struct waiver_lookup *l, const struct waiver *w,
				   size_t *nr_out)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	char space = lookup_key(w, &text);
	if (space == ' ')
		buf_reset(&text);
	CLEANUP(free_ptr) char *key = mem_printf("%d%c%s", (int)w->kind, space, buf_cstr(&text));
	const json_t *at = json_object_get(l->at, key);
	const struct numbers *n = at ? &l->list[json_integer_value(at)] : NULL;
	*nr_out = n ? n->nr : 0;
	return n ? n->item : NULL;
}
