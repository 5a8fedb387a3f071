#include "proxy/sse_template.h"

#include <string.h>

#include "base/text/utf8.h"

enum { DIGITS_MAX = 15, EVENT_MAX = 4096 };

void sse_template_release(struct alike *k)
{
	buf_release(&k->event);
	buf_release(&k->plain);
}

void sse_template_forget(struct alike *k)
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

/* With escapes; *@escaped if there are any. */
static size_t words_len(const char *p, const char *end, bool *escaped)
{
	const char *at = p + string_len(p, end);
	*escaped = at < end && *at == '\\';
	while (at < end && *at == '\\') {
		at += end - at < 2 ? 1 : 2;
		at += string_len(at, end);
	}
	return (size_t)(at - p);
}

/* false: an escape of another kind. */
static bool without_escapes(const char *p, size_t len, struct buf *out)
{
	static const char letter[] = "\"\\/bfnrt", means[] = "\"\\/\b\f\n\r\t";
	const char *end = p + len;
	buf_reset(out);
	while (p < end) {
		size_t n = string_len(p, end);
		buf_append(out, p, n);
		p += n;
		if (p == end)
			break;
		const char *at = end - p < 2 || !p[1] ? NULL : strchr(letter, p[1]);
		if (!at)
			return false;
		buf_putc(out, means[at - letter]);
		p += 2;
	}
	return true;
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
	const char *p = k->event.data, *end = p + k->event.len,
		   *at = memmem(p, k->event.len, key, strlen(key));
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

void sse_template_learn(struct alike *k, const char *raw, size_t len, const char *words,
			size_t nr_words)
{
	sse_template_forget(k);
	if (!nr_words || len > EVENT_MAX || memchr(raw, '\\', len) ||
	    string_len(words, words + nr_words) != nr_words)
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

bool sse_template_words(struct alike *k, const char *raw, size_t len, const char **words,
			size_t *nr_words)
{
	const char *p = k->event.data, *end = raw + len;
	size_t from = 0;
	bool needs = false;
	for (size_t i = 0; i < k->nr; i++) {
		const struct alike_hole *h = &k->hole[i];
		size_t same = h->at - from;
		if ((size_t)(end - raw) < same || memcmp(p + from, raw, same) != 0)
			return false;
		raw += same;
		bool string = p[h->at - 1] == '"', escaped = false;
		size_t n = h->words ? words_len(raw, end, &escaped)
			   : string ? string_len(raw, end)
				    : number_len(raw, end);
		if ((!string && !n) || (string && !utf8_valid(raw, n)))
			return false;
		if (h->words) {
			*words = raw;
			*nr_words = n;
			needs = escaped;
		}
		raw += n;
		from = h->at + h->len;
	}
	size_t rest = k->event.len - from;
	if (!k->nr || (size_t)(end - raw) != rest || memcmp(p + from, raw, rest) != 0)
		return false;
	if (!needs)
		return true;
	if (!without_escapes(*words, *nr_words, &k->plain))
		return false;
	*words = buf_cstr(&k->plain);
	*nr_words = k->plain.len;
	return true;
}
