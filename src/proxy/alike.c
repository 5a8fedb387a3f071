#include "proxy/alike.h"

#include <string.h>

#include "base/text/utf8.h"

enum { DIGITS_MAX = 15, EVENT_MAX = 4096 };

void alike_release(struct alike *k)
{
	buf_release(&k->event);
}

void alike_forget(struct alike *k)
{
	buf_reset(&k->event);
	k->nr = 0;
}

static size_t string_len(const char *p, const char *end)
{
	const char *at = p;
	while (at < end && *at != '"' && *at != '\\' && (unsigned char)*at >= ' ')
		at++;
	return (size_t)(at - p);
}

/* Of a number as JSON writes it, that surely is an integer of ours; 0: it is none. */
static size_t number_len(const char *p, const char *end)
{
	size_t n = 0;
	while (p + n < end && p[n] >= '0' && p[n] <= '9')
		n++;
	return n > DIGITS_MAX || (n > 1 && *p == '0') ? 0 : n;
}

static void add_hole(struct alike *k, size_t at, size_t len, bool words)
{
	size_t i = k->nr++;
	for (; i && k->hole[i - 1].at > at; i--)
		k->hole[i] = k->hole[i - 1];
	k->hole[i] = (struct alike_hole){ .at = at, .len = len, .words = words };
}

/* The value of @key, a name in quotes, where it stands first. */
static void free_value(struct alike *k, const char *key)
{
	const char *p = k->event.data, *end = p + k->event.len, *at = memmem(p, k->event.len, key, strlen(key));
	if (!at)
		return;
	for (at += strlen(key); at < end && (*at == ':' || *at == ' '); at++)
		;
	size_t n = at < end && *at == '"' ? string_len(at + 1, end) : number_len(at, end);
	if (at < end && *at == '"')
		add_hole(k, (size_t)(at + 1 - p), n, false);
	else if (n)
		add_hole(k, (size_t)(at - p), n, false);
}

void alike_learn(struct alike *k, const char *raw, size_t len, const char *words, size_t nr_words)
{
	alike_forget(k);
	if (!nr_words || len > EVENT_MAX || memchr(raw, '\\', len) || string_len(words, words + nr_words) != nr_words)
		return;
	CLEANUP(buf_release) struct buf quoted = BUF_INIT;
	buf_putc(&quoted, '"');
	buf_append(&quoted, words, nr_words);
	buf_putc(&quoted, '"');
	const char *at = memmem(raw, len, quoted.data, quoted.len);
	if (!at || memmem(at + 1, len - (size_t)(at + 1 - raw), quoted.data, quoted.len))
		return;
	buf_append(&k->event, raw, len);
	add_hole(k, (size_t)(at + 1 - raw), nr_words, true);
	free_value(k, "\"sequence_number\"");
	free_value(k, "\"obfuscation\"");
}

bool alike_words(const struct alike *k, const char *raw, size_t len, const char **words, size_t *nr_words)
{
	const char *p = k->event.data, *end = raw + len;
	size_t from = 0;
	for (size_t i = 0; i < k->nr; i++) {
		const struct alike_hole *h = &k->hole[i];
		size_t same = h->at - from;
		if ((size_t)(end - raw) < same || memcmp(p + from, raw, same) != 0)
			return false;
		raw += same;
		bool string = p[h->at - 1] == '"';
		size_t n = string ? string_len(raw, end) : number_len(raw, end);
		if ((!string && !n) || (string && !utf8_valid(raw, n)))
			return false;
		if (h->words) {
			*words = raw;
			*nr_words = n;
		}
		raw += n;
		from = h->at + h->len;
	}
	size_t rest = k->event.len - from;
	return k->nr && (size_t)(end - raw) == rest && !memcmp(p + from, raw, rest);
}
