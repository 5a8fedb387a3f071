#include "record/secrets.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

enum { SHORTEST = 6 };

struct pattern {
	char *bytes;
	size_t len;
	char *instead; /* "<secret:NAME>" */
};

struct secrets {
	struct pattern *item;
	size_t nr, cap;
	size_t longest;
};

struct secrets *secrets_new(void)
{
	return NEW(struct secrets);
}

void secrets_free(struct secrets **s)
{
	if (!*s)
		return;
	for (size_t i = 0; i < (*s)->nr; i++) {
		secret_wipe((*s)->item[i].bytes, (*s)->item[i].len);
		free((*s)->item[i].bytes);
		free((*s)->item[i].instead);
	}
	free((*s)->item);
	free(*s);
	*s = NULL;
}

static void add_pattern(struct secrets *s, const char *name, const void *bytes, size_t len)
{
	for (size_t i = 0; i < s->nr; i++)
		if (s->item[i].len == len && !memcmp(s->item[i].bytes, bytes, len))
			return;
	GROW(s->item, s->nr, s->cap);
	struct pattern *p = &s->item[s->nr++];
	p->bytes = xmemdup(bytes, len);
	p->len = len;
	p->instead = xasprintf("<secret:%s>", name);
	/* the replacement stands inside JSON strings: it may hold nothing that would have to be escaped there */
	for (char *c = p->instead + 8; c[1]; c++)
		if (!isalnum((unsigned char)*c) && !strchr("_.-/", *c))
			*c = '_';
	if (len > s->longest)
		s->longest = len;
}

int secrets_add(struct secrets *s, const char *name, const char *value, size_t len, struct err *err)
{
	if (len < SHORTEST)
		return err_set(err, ERR_INVALID,
			       "secret '%s' is shorter than %d bytes: hiding it would hide ordinary text", name, SHORTEST);
	add_pattern(s, name, value, len);
	json_t *text = json_stringn(value, len);
	if (!text)
		return 0; /* not UTF-8: in JSON it can stand as base64 only */
	char *quoted = json_dumps(text, JSON_ENCODE_ANY | JSON_COMPACT);
	json_decref(text);
	assert(quoted);
	add_pattern(s, name, quoted + 1, strlen(quoted) - 2);
	secret_wipe(quoted, strlen(quoted));
	free(quoted);
	return 0;
}

bool secrets_any(const struct secrets *s)
{
	return s->nr > 0;
}

/* The first place at or after @from where a value stands; of two that begin there the longer. */
static const struct pattern *find(const struct secrets *s, const char *text, size_t len, size_t from, size_t *at_out)
{
	const struct pattern *best = NULL;
	size_t best_at = len;
	for (size_t i = 0; i < s->nr; i++) {
		const struct pattern *p = &s->item[i];
		size_t until = best ? best_at + p->len : len;
		if (until > len)
			until = len;
		if (until < from + p->len)
			continue;
		const char *hit = memmem(text + from, until - from, p->bytes, p->len);
		if (!hit)
			continue;
		size_t at = (size_t)(hit - text);
		if (!best || at < best_at || p->len > best->len) {
			best = p;
			best_at = at;
		}
	}
	*at_out = best_at;
	return best;
}

/* Cleans <text, len> to the end of @out and returns where the last value ended. */
static size_t clean_to(const struct secrets *s, const char *text, size_t len, struct buf *out)
{
	size_t done = 0, at;
	const struct pattern *p;
	while ((p = find(s, text, len, done, &at))) {
		buf_append(out, text + done, at - done);
		buf_puts(out, p->instead);
		done = at + p->len;
	}
	return done;
}

bool secrets_clean(const struct secrets *s, const void *bytes, size_t len, struct buf *out)
{
	const char *text = bytes;
	size_t at;
	if (!s->nr || !find(s, text, len, 0, &at))
		return false;
	buf_reset(out);
	size_t done = clean_to(s, text, len, out);
	buf_append(out, text + done, len - done);
	return true;
}

/* Cleans what base64 hides. True if something changed. */
static bool clean_b64(const struct secrets *s, json_t *j)
{
	bool changed = false;
	if (json_is_array(j)) {
		for (size_t i = 0; i < json_array_size(j); i++)
			changed |= clean_b64(s, json_array_get(j, i));
		return changed;
	}
	if (!json_is_object(j))
		return false;
	const char *key;
	json_t *value;
	json_object_foreach(j, key, value)
		changed |= clean_b64(s, value);
	json_t *b64 = json_object_get(j, "b64");
	if (!json_is_string(b64) || json_object_size(j) != 1)
		return changed;
	CLEANUP(buf_release) struct buf plain = BUF_INIT;
	CLEANUP(buf_release) struct buf clean = BUF_INIT;
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	if (!base64_parse(json_string_value(b64), json_string_length(b64), &plain) ||
	    !secrets_clean(s, plain.data, plain.len, &clean))
		return changed;
	base64_append(&text, clean.data, clean.len);
	json_string_setn(b64, text.data, text.len);
	return true;
}

bool secrets_clean_body(const struct secrets *s, const char *body, size_t len, struct buf *out)
{
	if (!s->nr)
		return false;
	CLEANUP(buf_release) struct buf opened = BUF_INIT;
	if (memmem(body, len, "\"b64\"", 5)) {
		struct err err;
		CLEANUP(json_release) json_t *j = json_parse(body, len, "event body", &err);
		if (j && clean_b64(s, j)) {
			json_dump_buf(j, &opened);
			if (!secrets_clean(s, opened.data, opened.len, out)) {
				buf_reset(out);
				buf_append(out, opened.data, opened.len);
			}
			return true;
		}
	}
	return secrets_clean(s, body, len, out);
}

/* How many of the last bytes could be the beginning of a value. */
static size_t could_begin(const struct secrets *s, const char *text, size_t len)
{
	size_t most = s->longest ? s->longest - 1 : 0;
	for (size_t n = len < most ? len : most; n; n--)
		for (size_t i = 0; i < s->nr; i++)
			if (s->item[i].len > n && !memcmp(s->item[i].bytes, text + len - n, n))
				return n;
	return 0;
}

void secrets_stream(const struct secrets *s, struct buf *held, const void *bytes, size_t len, bool end, struct buf *out)
{
	if (!s->nr && !held->len) {
		buf_append(out, bytes, len);
		return;
	}
	const char *text = bytes;
	if (held->len) {
		buf_append(held, bytes, len);
		text = held->data;
		len = held->len;
	}
	size_t done = clean_to(s, text, len, out);
	size_t keep = end ? 0 : could_begin(s, text + done, len - done);
	buf_append(out, text + done, len - done - keep);
	if (text == held->data) {
		buf_drop(held, len - keep);
	} else {
		buf_append(held, text + len - keep, keep);
	}
}
