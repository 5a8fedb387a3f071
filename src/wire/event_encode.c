#include "wire/event_encode.h"

#include <string.h>

#include "base/json.h"

/* As event_decode.c has it. */
struct encode_list {
	size_t nr;
	const char *item;
};

static bool encode_there(const struct event_field *f, const char *in)
{
	const void *at = in + f->off;
	if (f->has)
		return *(const bool *)(const void *)(in + f->has);
	if (f->shape == EVS_LIST)
		return ((const struct encode_list *)at)->item;
	if (f->shape != EVS_ONE)
		return ((const struct ev_text *)at)->n > 0;
	switch ((enum event_type)f->type) {
	case EVT_INT:
		return *(const int64_t *)at != 0;
	case EVT_FLAG:
	case EVT_STRUCT: /* its first member: there */
		return *(const bool *)at;
	case EVT_STR:
	case EVT_BYTES:
		return ((const struct ev_text *)at)->s;
	case EVT_JSON:
		return ((const struct ev_text *)at)->n > 0;
	}
	return false;
}

static void encode_text(const struct ev_text *t, struct buf *out)
{
	CLEANUP(json_release) json_t *v = json_bytes(t->s, t->n);
	json_dump_buf(v, out);
}

static size_t encode_size(const struct event_field *f)
{
	switch ((enum event_type)f->type) {
	case EVT_INT:
		return sizeof(int64_t);
	case EVT_FLAG:
		return sizeof(bool);
	case EVT_STRUCT:
		return f->sub->size;
	case EVT_STR:
	case EVT_BYTES:
	case EVT_JSON:
		break;
	}
	return sizeof(struct ev_text);
}

static void encode_value(const struct event_field *f, const void *at, struct buf *out)
{
	const struct ev_text *t = at;
	switch ((enum event_type)f->type) {
	case EVT_INT:
		buf_printf(out, "%lld", (long long)*(const int64_t *)at);
		return;
	case EVT_FLAG:
		buf_puts(out, *(const bool *)at ? "true" : "false");
		return;
	case EVT_STR:
	case EVT_BYTES:
		encode_text(t, out);
		return;
	case EVT_JSON:
		buf_append(out, t->s, t->n);
		return;
	case EVT_STRUCT:
		event_encode(f->sub, at, out);
		return;
	}
}

static void encode_items(const struct event_field *f, const struct encode_list *l, struct buf *out)
{
	buf_putc(out, '[');
	for (size_t i = 0; i < l->nr; i++) {
		if (i)
			buf_putc(out, ',');
		encode_value(f, l->item + i * encode_size(f), out);
	}
	buf_putc(out, ']');
}

void event_encode(const struct event_desc *d, const void *in, struct buf *out)
{
	bool first = true;
	buf_putc(out, '{');
	for (size_t i = 0; i < d->nr; i++) {
		const struct event_field *f = &d->field[i];
		const void *at = (const char *)in + f->off;
		if (!encode_there(f, in))
			continue;
		buf_printf(out, "%s\"%s\":", first ? "" : ",", f->name);
		first = false;
		if (f->shape == EVS_LIST)
			encode_items(f, at, out);
		else if (f->shape == EVS_ONE)
			encode_value(f, at, out);
		else
			buf_append(out, ((const struct ev_text *)at)->s,
				   ((const struct ev_text *)at)->n);
	}
	buf_putc(out, '}');
}
