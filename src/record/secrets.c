#include "record/secrets.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { PAIRS = 1 << 16, NOBODY = -1 };

struct pattern {
	char *bytes;
	size_t len;
	char *instead; /* "<secret:NAME>" */
	int next;      /* with the same pair of bytes at the place that is looked at first */
	bool form;     /* made from a value, not one itself */
	bool bait;
};

/* To look for all patterns at once (Wu and Manber): of the first @window bytes of a possible match
 * the last two are looked at; @away says how far the next match is at least, 0: the patterns of the
 * chain @first may be here. */
struct secrets {
	struct pattern *item;
	size_t nr, cap;
	size_t longest, window;
	uint8_t *away;
	int *first;
	bool begins[256];
	bool bait; /* some of them are */
	secrets_found_fn *found;
	void *found_self;
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
	free((*s)->away);
	free((*s)->first);
	free(*s);
	*s = NULL;
}

static size_t pair_at(const char *p)
{
	return (size_t)(unsigned char)p[0] << 8 | (unsigned char)p[1];
}

static void secrets_build(struct secrets *s)
{
	enum { FAR = 255 };
	s->longest = 0;
	s->window = FAR;
	for (size_t i = 0; i < s->nr; i++) {
		s->longest = s->item[i].len > s->longest ? s->item[i].len : s->longest;
		s->window = s->item[i].len < s->window ? s->item[i].len : s->window;
		s->begins[(unsigned char)s->item[i].bytes[0]] = true;
	}
	if (!s->away) {
		s->away = mem_alloc(PAIRS);
		s->first = mem_calloc(PAIRS, sizeof(*s->first));
	}
	memset(s->away, (int)(s->window - 1), PAIRS);
	for (size_t i = 0; i < PAIRS; i++)
		s->first[i] = NOBODY;
	for (size_t i = 0; i < s->nr; i++) {
		struct pattern *p = &s->item[i];
		for (size_t at = 0; at + 2 <= s->window; at++) {
			size_t pair = pair_at(p->bytes + at), far = s->window - 2 - at;
			if (far < s->away[pair])
				s->away[pair] = (uint8_t)far;
		}
		size_t last = pair_at(p->bytes + s->window - 2);
		p->next = s->first[last];
		s->first[last] = (int)i;
	}
}

/* As @like, of which nothing is taken. */
static void secrets_add_pattern(struct secrets *s, const struct pattern *like, const void *bytes,
				size_t len)
{
	if (len < SECRET_SHORTEST)
		return;
	for (size_t i = 0; i < s->nr; i++)
		if (s->item[i].len == len && !memcmp(s->item[i].bytes, bytes, len))
			return;
	GROW(s->item, s->nr, s->cap);
	s->item[s->nr++] = (struct pattern){ .bytes = mem_dup(bytes, len),
					     .len = len,
					     .instead = mem_strdup(like->instead),
					     .form = like->form,
					     .bait = like->bait };
	s->bait |= like->bait;
}

struct adding {
	struct secrets *s;
	struct pattern like;
};

static void add_form(void *self, const void *bytes, size_t len)
{
	struct adding *a = self;
	secrets_add_pattern(a->s, &a->like, bytes, len);
	a->like.form = true;
}

static int secrets_insert(struct secrets *s, const char *name, const char *value, size_t len,
			  bool bait, struct err *err)
{
	if (len < SECRET_SHORTEST)
		return err_set(
			err, ERR_INVALID,
			"secret '%s' is shorter than %d bytes: masking it would mask ordinary text",
			name, SECRET_SHORTEST);
	if (len > SECRET_LONGEST)
		return err_set(err, ERR_INVALID, "secret '%s' is longer than %d bytes", name,
			       SECRET_LONGEST);
	struct adding a = { s, { .instead = mem_printf("<secret:%s>", name), .bait = bait } };
	/* the replacement stands inside JSON strings: it may hold nothing that would have to be
	 * escaped there */
	for (char *c = a.like.instead + 8; c[1]; c++)
		if (!isalnum((unsigned char)*c) && !strchr("_.-/", *c))
			*c = '_';
	secret_forms(value, len, add_form, &a);
	free(a.like.instead);
	secrets_build(s);
	return 0;
}

int secrets_add(struct secrets *s, const char *name, const char *value, size_t len, struct err *err)
{
	return secrets_insert(s, name, value, len, false, err);
}

int secrets_add_bait(struct secrets *s, const char *name, const char *value, size_t len,
		     struct err *err)
{
	return secrets_insert(s, name, value, len, true, err);
}

void secrets_watch(struct secrets *s, secrets_found_fn *found, void *self)
{
	s->found = found;
	s->found_self = self;
}

static struct secrets *secrets_copy_of(const struct secrets *s, bool plain, bool bait)
{
	struct secrets *copy = secrets_new();
	for (size_t i = 0; s && i < s->nr; i++)
		if (s->item[i].bait ? bait : plain)
			secrets_add_pattern(copy, &s->item[i], s->item[i].bytes, s->item[i].len);
	if (copy->nr)
		secrets_build(copy);
	return copy;
}

struct secrets *secrets_copy(const struct secrets *s)
{
	return secrets_copy_of(s, true, true);
}

struct secrets *secrets_part(const struct secrets *s, bool bait)
{
	return secrets_copy_of(s, !bait, bait);
}

bool secrets_any_bait(const struct secrets *s)
{
	return s && s->bait;
}

bool secrets_any(const struct secrets *s)
{
	return s && s->nr > 0;
}

static int secrets_by_bytes(const void *a, const void *b)
{
	return memcmp(a, b, HASH_LEN);
}

void secrets_fingerprint(const struct secrets *s, const void *salt, size_t salt_len,
			 struct hash *out)
{
	size_t nr = 0;
	struct hash *each = mem_calloc(s && s->nr ? s->nr : 1, sizeof(*each));
	for (size_t i = 0; s && i < s->nr; i++) {
		if (s->item[i].form)
			continue;
		struct hash_ctx one;
		hash_begin(&one);
		hash_add(&one, salt, salt_len);
		hash_add(&one, s->item[i].bytes, s->item[i].len);
		hash_end(&one, &each[nr++]);
	}
	if (nr)
		/* the order in which they were declared does not matter */
		qsort(each, nr, sizeof(*each), secrets_by_bytes);
	struct hash_ctx all;
	hash_begin(&all);
	hash_add(&all, salt, salt_len);
	hash_add(&all, each, nr * sizeof(*each));
	hash_end(&all, out);
	free(each);
}

/* The first place at or after @from where a value stands; of those that begin there the longest. */
static const struct pattern *secrets_find(const struct secrets *s, const char *text, size_t len,
					  size_t from, size_t *at_out)
{
	for (size_t at = from; s->nr && at + s->window <= len;) {
		size_t pair = pair_at(text + at + s->window - 2);
		if (s->away[pair]) {
			at += s->away[pair];
			continue;
		}
		const struct pattern *best = NULL;
		for (int i = s->first[pair]; i != NOBODY; i = s->item[i].next) {
			const struct pattern *p = &s->item[i];
			if (p->len <= len - at && (!best || p->len > best->len) &&
			    !memcmp(text + at, p->bytes, p->len))
				best = p;
		}
		if (best) {
			*at_out = at;
			return best;
		}
		at++;
	}
	return NULL;
}

/* Cleans <text, len> to the end of @out and returns where the last value ended. */
static size_t clean_to(const struct secrets *s, const char *text, size_t len, struct buf *out)
{
	size_t done = 0, at;
	const struct pattern *p;
	while ((p = secrets_find(s, text, len, done, &at))) {
		buf_append(out, text + done, at - done);
		buf_puts(out, p->instead);
		done = at + p->len;
		if (p->bait && s->found)
			s->found(s->found_self, p->instead);
	}
	return done;
}

const char *secrets_within(const struct secrets *s, const void *bytes, size_t len)
{
	size_t at;
	const struct pattern *p = s ? secrets_find(s, bytes, len, 0, &at) : NULL;
	return p ? p->instead : NULL;
}

bool secrets_clean(const struct secrets *s, const void *bytes, size_t len, struct buf *out)
{
	if (!secrets_within(s, bytes, len))
		return false;
	buf_reset(out);
	size_t done = clean_to(s, bytes, len, out);
	buf_append(out, (const char *)bytes + done, len - done);
	return true;
}

/* --- JSON ------------------------------------------------------------------------------------- */

static bool clean_b64(const struct secrets *s, json_t *b64)
{
	CLEANUP(buf_release) struct buf plain = BUF_INIT;
	CLEANUP(buf_release) struct buf clean = BUF_INIT;
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	if (!base64_parse(json_string_value(b64), json_string_length(b64), &plain) ||
	    !secrets_clean(s, plain.data, plain.len, &clean))
		return false;
	base64_append(&text, clean.data, clean.len);
	json_string_setn(b64, text.data, text.len);
	return true;
}

static bool clean_value(const struct secrets *s, json_t *j);

static bool clean_object(const struct secrets *s, json_t *j)
{
	CLEANUP(buf_release) struct buf name = BUF_INIT;
	bool changed = false;
	const char *key;
	json_t *value, *b64 = json_object_get(j, "b64");
	void *next;
	if (json_is_string(b64) && json_object_size(j) == 1)
		return clean_b64(s, b64);
	json_object_foreach_safe(j, next, key, value)
	{
		changed |= clean_value(s, value);
		if (!secrets_clean(s, key, strlen(key), &name))
			continue;
		json_t *kept = json_incref(value);
		json_object_del(j, key);
		json_put(j, buf_cstr(&name), kept);
		changed = true;
	}
	return changed;
}

static bool clean_value(const struct secrets *s, json_t *j)
{
	bool changed = false;
	if (json_is_object(j))
		return clean_object(s, j);
	if (json_is_array(j)) {
		for (size_t i = 0; i < json_array_size(j); i++)
			changed |= clean_value(s, json_array_get(j, i));
		return changed;
	}
	CLEANUP(buf_release) struct buf clean = BUF_INIT;
	if (!json_is_string(j) ||
	    !secrets_clean(s, json_string_value(j), json_string_length(j), &clean))
		return false;
	/* the value was half a character */
	if (json_string_setn(j, buf_cstr(&clean), clean.len) < 0)
		json_string_set(j, "<secret>");
	return true;
}

bool secrets_clean_value(const struct secrets *s, json_t *body)
{
	return secrets_any(s) && clean_value(s, body);
}

bool secrets_clean_body(const struct secrets *s, const char *body, size_t len, struct buf *out)
{
	struct err err;
	if (!secrets_any(s) || (!memmem(body, len, "\"b64\"", 5) && !secrets_within(s, body, len)))
		return false;
	CLEANUP(json_release) json_t *j = json_parse(body, len, "event body", &err);
	if (!j)
		return secrets_clean(s, body, len, out);
	if (!clean_value(s, j))
		return false;
	buf_reset(out);
	json_dump_buf(j, out);
	return true;
}

/* --- streams ---------------------------------------------------------------------------------- */

/* How many of the last bytes could be the beginning of a value. */
static size_t could_begin(const struct secrets *s, const char *text, size_t len)
{
	size_t most = s->longest ? s->longest - 1 : 0;
	for (size_t n = len < most ? len : most; n; n--) {
		if (!s->begins[(unsigned char)text[len - n]])
			continue;
		for (size_t i = 0; i < s->nr; i++)
			if (s->item[i].len > n && !memcmp(s->item[i].bytes, text + len - n, n))
				return n;
	}
	return 0;
}

void secrets_stream(const struct secrets *s, struct buf *held, const void *bytes, size_t len,
		    bool end, struct buf *out)
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
