/* Bodies of events, from the stored text straight into structs. */
#include <stddef.h>
#include <string.h>

#include "base/hash.h"
#include "wire/event_body.h"
#include "wire/json_scan.h"

/* fields of one struct; more can't be remembered as read */
enum { FIELDS_MAX = 128 };

struct decoding {
	struct json_scan scan;
	struct ev_state *state;
};

/* A list in any struct. */
struct ev_list {
	size_t nr;
	char *item;
};

/* How a value was read. Odd: it is well-formed and skipped, but not of the declared type. */
enum decoded { DECODED, DECODED_ODD, DECODED_BAD };

static enum decoded decode_object(struct decoding *d, const struct event_desc *desc, char *out);

static enum decoded decode_odd(struct decoding *d, const char *from, int depth)
{
	d->scan.p = from;
	d->scan.depth = depth;
	return json_scan_skip(&d->scan) ? DECODED_ODD : DECODED_BAD;
}

static enum decoded decode_json(struct decoding *d, struct ev_text *out)
{
	json_scan_peek(&d->scan);
	const char *from = d->scan.p;
	if (!json_scan_skip(&d->scan))
		return DECODED_BAD;
	*out = (struct ev_text){ from, (size_t)(d->scan.p - from) };
	return DECODED;
}

/* {"b64":"..."} */
static bool decode_b64(struct decoding *d, struct ev_text *out)
{
	const char *name, *text;
	size_t len;
	struct json_scan *s = &d->scan;
	if (!json_scan_take(s, '{') || !json_scan_string(s, &name, &len) || len != 3 ||
	    memcmp(name, "b64", 3) != 0 || !json_scan_take(s, ':') ||
	    !json_scan_string(s, &text, &len) || !json_scan_take(s, '}'))
		return false;
	CLEANUP(buf_release) struct buf bytes = BUF_INIT;
	if (!base64_parse(text, len, &bytes))
		return false;
	out->s = arena_strndup(s->arena, buf_cstr(&bytes), bytes.len);
	out->n = bytes.len;
	return true;
}

static bool decode_text(struct decoding *d, struct ev_text *out)
{
	if (json_scan_peek(&d->scan) == '{')
		return decode_b64(d, out);
	return json_scan_string(&d->scan, &out->s, &out->n);
}

static bool decode_int(struct decoding *d, int64_t *out)
{
	bool is_int;
	return json_scan_number(&d->scan, &is_int, out) && is_int;
}

static bool decode_flag(struct decoding *d, bool *out)
{
	*out = json_scan_peek(&d->scan) == 't';
	return json_scan_word(&d->scan, *out ? "true" : "false");
}

static bool decode_simple(struct decoding *d, const struct event_field *f, void *at)
{
	switch ((enum event_type)f->type) {
	case EVT_INT:
		return decode_int(d, at);
	case EVT_FLAG:
		return decode_flag(d, at);
	case EVT_STR:
	case EVT_BYTES:
		return decode_text(d, at);
	case EVT_JSON:
	case EVT_STRUCT:
		break;
	}
	return false;
}

static size_t value_size(const struct event_field *f)
{
	switch ((enum event_type)f->type) {
	case EVT_INT:
		return sizeof(int64_t);
	case EVT_FLAG:
		return sizeof(bool);
	case EVT_STR:
	case EVT_BYTES:
	case EVT_JSON:
		return sizeof(struct ev_text);
	case EVT_STRUCT:
		return f->sub->size;
	}
	return 0;
}

/* One value of @f's type; an odd one leaves zeros. */
static enum decoded decode_value(struct decoding *d, const struct event_field *f, void *at)
{
	json_scan_peek(&d->scan);
	const char *from = d->scan.p;
	int depth = d->scan.depth;
	if (f->type == EVT_JSON)
		return decode_json(d, at);
	if (!json_scan_enter(&d->scan))
		return DECODED_BAD;
	enum decoded how = DECODED_ODD;
	if (f->type == EVT_STRUCT && from < d->scan.end && *from == '{')
		how = decode_object(d, f->sub, at);
	else if (f->type != EVT_STRUCT && decode_simple(d, f, at))
		how = DECODED;
	json_scan_leave(&d->scan);
	if (how == DECODED && f->type == EVT_STRUCT)
		*(bool *)at = true; /* its first member: there */
	if (how != DECODED_ODD)
		return how;
	memset(at, 0, value_size(f));
	return decode_odd(d, from, depth);
}

/* Of a list that is there and empty. */
static _Alignas(max_align_t) char list_none[1];

static void *list_more(struct decoding *d, struct ev_list *l, size_t *cap, size_t size)
{
	if (l->nr == *cap) {
		size_t more = *cap ? *cap * 2 : 8;
		char *item = arena_alloc(d->scan.arena, more * size);
		if (l->nr)
			memcpy(item, l->item, l->nr * size);
		l->item = item;
		*cap = more;
	}
	return l->item + l->nr++ * size;
}

static enum decoded decode_items(struct decoding *d, const struct event_field *f, struct ev_list *l)
{
	size_t cap = 0, size = value_size(f);
	l->item = list_none;
	if (json_scan_take(&d->scan, ']'))
		return DECODED;
	for (;;) {
		enum decoded how = decode_value(d, f, list_more(d, l, &cap, size));
		if (how == DECODED_BAD)
			return how;
		if (how == DECODED_ODD)
			d->state->odd++;
		if (json_scan_take(&d->scan, ']'))
			return DECODED;
		if (!json_scan_take(&d->scan, ','))
			return DECODED_BAD;
	}
}

static enum decoded decode_list(struct decoding *d, const struct event_field *f, struct ev_list *l)
{
	json_scan_peek(&d->scan);
	const char *from = d->scan.p;
	int depth = d->scan.depth;
	if (!json_scan_enter(&d->scan))
		return DECODED_BAD;
	enum decoded how = DECODED_ODD;
	if (json_scan_take(&d->scan, '['))
		how = decode_items(d, f, l);
	else if (json_scan_take(&d->scan, '{') && json_scan_take(&d->scan, '}')) {
		l->item = list_none; /* Lua's empty table */
		how = DECODED;
	}
	json_scan_leave(&d->scan);
	return how == DECODED_ODD ? decode_odd(d, from, depth) : how;
}

static enum decoded decode_field(struct decoding *d, const struct event_field *f, char *out)
{
	void *at = out + f->off;
	switch ((enum event_shape)f->shape) {
	case EVS_LIST:
		return decode_list(d, f, at);
	case EVS_LISTS:
	case EVS_MAP:
		return decode_json(d, at);
	case EVS_ONE:
		break;
	}
	enum decoded how = decode_value(d, f, at);
	if (how == DECODED && f->has)
		*(bool *)(void *)(out + f->has) = true;
	return how;
}

/* One name and its value. @next: fields mostly come in their declared order. */
static enum decoded decode_member(struct decoding *d, const struct event_desc *desc, char *out,
				  uint64_t *seen, size_t *next)
{
	const char *name;
	size_t len;
	if (!json_scan_string(&d->scan, &name, &len) || memchr(name, 0, len) ||
	    !json_scan_take(&d->scan, ':'))
		return DECODED_BAD;
	const struct event_field *f = *next < desc->nr ? &desc->field[*next] : NULL;
	if (!f || f->len != len || memcmp(f->name, name, len) != 0)
		f = event_desc_field(desc, name, len);
	if (!f) {
		d->state->unknown++;
		return json_scan_skip(&d->scan) ? DECODED : DECODED_BAD;
	}
	size_t nr = (size_t)(f - desc->field);
	*next = nr + 1;
	if (seen[nr / 64] >> nr % 64 & 1)
		d->state->reading = BODY_DUPLICATE;
	seen[nr / 64] |= (uint64_t)1 << nr % 64;
	return decode_field(d, f, out);
}

/* The object at the scan's place, which is its brace. */
static enum decoded decode_object(struct decoding *d, const struct event_desc *desc, char *out)
{
	uint64_t seen[FIELDS_MAX / 64] = { 0 };
	size_t next = 0;
	assert(desc->nr <= FIELDS_MAX);
	if (!json_scan_take(&d->scan, '{'))
		return DECODED_BAD;
	if (json_scan_take(&d->scan, '}'))
		return DECODED;
	for (;;) {
		enum decoded how = decode_member(d, desc, out, seen, &next);
		if (how == DECODED_BAD)
			return how;
		if (how == DECODED_ODD)
			d->state->odd++;
		if (json_scan_take(&d->scan, '}'))
			return DECODED;
		if (!json_scan_take(&d->scan, ','))
			return DECODED_BAD;
	}
}

void event_decode(const struct event_desc *desc, const struct event *ev, struct arena *a, void *out)
{
	struct ev_state *state = out; /* the first member */
	memset(out, 0, desc->size);
	state->reading = BODY_REDACTED;
	if (!ev->body)
		return;
	struct decoding d = { .scan = { ev->body, ev->body + ev->len, a, 1 }, .state = state };
	state->reading = BODY_READ;
	json_scan_peek(&d.scan);
	bool good = decode_object(&d, desc, out) == DECODED;
	json_scan_peek(&d.scan);
	if (!good || d.scan.p != d.scan.end)
		state->reading = BODY_MALFORMED;
	struct ev_state end = *state;
	if (end.reading == BODY_READ)
		return;
	memset(out, 0, desc->size);
	*state = end;
}
