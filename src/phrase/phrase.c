#include "phrase/phrase.h"

#include <string.h>

enum { TEXT_MAX = 300 };

bool phrase_from(const struct phrase *table, size_t nr, const struct event *ev, struct buf *out)
{
	CLEANUP(arena_release) struct arena a = ARENA_INIT;
	for (size_t i = 0; i < nr; i++)
		if (table[i].kind == ev->kind) {
			table[i].put(ev, &a, out);
			return true;
		}
	return false;
}

bool phrase_text(struct buf *out, const char *before, struct ev_text t)
{
	if (!t.n)
		return false;
	buf_puts(out, before);
	return ev_text_put(out, t, TEXT_MAX);
}

bool phrase_number(struct buf *out, const char *before, bool has, int64_t v)
{
	if (has)
		buf_printf(out, "%s%lld", before, (long long)v);
	return has;
}

void phrase_who(struct buf *out, const struct ev_who *w, struct ev_text by)
{
	if (!w->there)
		phrase_text(out, " by ", by);
	else if (!phrase_text(out, " by ", w->name))
		phrase_number(out, " by uid ", w->has_uid, w->uid);
}

static bool phrase_plain(struct ev_text word)
{
	static const char fine[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=,+@%^";
	for (size_t i = 0; i < word.n; i++)
		if (!strchr(fine, word.s[i]) || !word.s[i])
			return false;
	return word.n > 0;
}

void phrase_word(struct buf *out, struct ev_text word)
{
	if (phrase_plain(word)) {
		buf_append(out, word.s, word.n);
		return;
	}
	buf_putc(out, '\'');
	for (size_t i = 0; i < word.n; i++)
		if (word.s[i] == '\'')
			buf_puts(out, "'\\''");
		else
			buf_putc(out, word.s[i]);
	buf_putc(out, '\'');
}

void phrase_list(struct buf *out, const char *before, const struct ev_text *item, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		buf_puts(out, i ? ", " : before);
		ev_text_put(out, item[i], TEXT_MAX);
	}
}
