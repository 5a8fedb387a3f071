/* Compares a decoded body with jansson's reading of the same text, field by field by the tables. */
#ifndef DECODED_H
#define DECODED_H

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "wire/event_encode.h"

struct decoded_list {
	size_t nr;
	char *item;
};

/* A body encoded again has a text or object in place of an odd one of a list. */
static bool decoded_again;

static bool decoded_same_object(const struct event_desc *d, const char *s, const json_t *o);

static bool decoded_same_text(const struct ev_text *t, const json_t *v)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	bool text = json_is_string(v) || (json_object_size(v) == 1 && json_get_bytes(v, &b));
	if (json_is_string(v))
		json_get_bytes(v, &b);
	if (!text) /* odd, or absent */
		return (decoded_again || !t->s) && !t->n;
	return t->s && t->n == b.len && (!b.len || !memcmp(t->s, b.data, b.len));
}

static bool decoded_same_json(const struct ev_text *t, const json_t *v)
{
	if (!v)
		return !t->s;
	json_t *j = json_loadb(t->s, t->n, JSON_ALLOW_NUL | JSON_DECODE_ANY, NULL);
	bool same = j && json_equal(j, v);
	json_decref(j);
	return same;
}

static bool decoded_same_value(const struct event_field *f, const char *at, const json_t *v)
{
	switch ((enum event_type)f->type) {
	case EVT_INT:
		return *(const int64_t *)(const void *)at ==
		       (json_is_integer(v) ? json_integer_value(v) : 0);
	case EVT_FLAG:
		return *(const bool *)(const void *)at == json_is_true(v);
	case EVT_STR:
	case EVT_BYTES:
		return decoded_same_text((const void *)at, v);
	case EVT_JSON:
		return decoded_same_json((const void *)at, v);
	case EVT_STRUCT:
		return (decoded_again || *(const bool *)(const void *)at == json_is_object(v)) &&
		       decoded_same_object(f->sub, at, v);
	}
	return false;
}

static size_t decoded_size(const struct event_field *f)
{
	return f->type == EVT_INT      ? sizeof(int64_t)
	       : f->type == EVT_FLAG   ? sizeof(bool)
	       : f->type == EVT_STRUCT ? f->sub->size
				       : sizeof(struct ev_text);
}

static bool decoded_same_field(const struct event_field *f, const char *s, const json_t *v)
{
	const struct decoded_list *l = (const void *)(s + f->off);
	if (f->shape == EVS_LISTS || f->shape == EVS_MAP)
		return decoded_same_json((const void *)(s + f->off), v);
	if (f->shape == EVS_ONE)
		return decoded_same_value(f, s + f->off, v);
	if (l->nr != json_array_size(v)) /* 0 if odd */
		return false;
	for (size_t i = 0; i < l->nr; i++)
		if (!decoded_same_value(f, l->item + i * decoded_size(f), json_array_get(v, i)))
			return false;
	return true;
}

static bool decoded_same_object(const struct event_desc *d, const char *s, const json_t *o)
{
	for (size_t i = 0; i < d->nr; i++)
		if (!decoded_same_field(&d->field[i], s, json_object_get(o, d->field[i].name)))
			return false;
	return true;
}

static bool decoded_same_again(const struct event_desc *d, const char *out)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	event_encode(d, out, &text);
	json_t *o = json_loadb(text.data, text.len, JSON_ALLOW_NUL, NULL);
	bool same = o && decoded_same_object(d, out, o);
	json_decref(o);
	return same;
}

/* NULL: both readers agree, also about the struct encoded again; else what differs. */
__attribute__((unused)) static const char *decoded_differs(uint16_t kind, const char *body,
							   size_t len)
{
	const struct event_desc *d = event_desc_of(kind);
	CLEANUP(arena_release) struct arena a = ARENA_INIT;
	CLEANUP(free_ptr) char *out = calloc(1, d->size);
	struct event ev = { .kind = kind, .body = body, .len = len };
	event_decode(d, &ev, &a, out);
	const struct ev_state *state = (const void *)out;
	json_t *loose = json_loadb(body, len, JSON_ALLOW_NUL | JSON_DECODE_ANY, NULL);
	json_t *strict = json_loadb(
		body, len, JSON_ALLOW_NUL | JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, NULL);
	const char *why = NULL;
	if ((state->reading != BODY_MALFORMED) != json_is_object(loose))
		why = "one reader takes it for JSON, the other does not";
	else if (state->reading == BODY_DUPLICATE && strict)
		why = "jansson finds no duplicate";
	else if (state->reading == BODY_READ && strict && !decoded_same_object(d, out, strict))
		why = "a field differs";
	else if (state->reading != BODY_READ && !decoded_same_object(d, out, NULL))
		why = "a body that can't be read leaves fields";
	decoded_again = true;
	if (!why && !decoded_same_again(d, out))
		why = "encoded again, it differs";
	decoded_again = false;
	json_decref(loose);
	json_decref(strict);
	return why;
}

#endif
