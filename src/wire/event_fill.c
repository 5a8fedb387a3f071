/* Values of fields (wire/event_encode.h). */
#include "base/hash.h"
#include "wire/event_encode.h"

#include <string.h>

struct ev_text ev_text_of(const char *s)
{
	return (struct ev_text){ s, s ? strlen(s) : 0 };
}

struct ev_text ev_hex_of(struct arena *a, const void *bytes, size_t len)
{
	CLEANUP(buf_release) struct buf hex = BUF_INIT;
	hex_append(&hex, bytes, len);
	return (struct ev_text){ arena_strndup(a, buf_cstr(&hex), hex.len), hex.len };
}

struct ev_text ev_json_of(struct arena *a, const json_t *v)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	if (!v)
		return (struct ev_text){ NULL, 0 };
	json_dump_buf(v, &text);
	return (struct ev_text){ arena_strndup(a, text.data, text.len), text.len };
}

struct ev_text ev_text_from(struct arena *a, const json_t *v)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	if (json_is_string(v))
		return (struct ev_text){ json_string_value(v), json_string_length(v) };
	if (!json_get_bytes(v, &b))
		return (struct ev_text){ NULL, 0 };
	return (struct ev_text){ arena_strndup(a, buf_cstr(&b), b.len), b.len };
}

struct ev_text *ev_texts_of(struct arena *a, const struct strv *v)
{
	struct ev_text *item = arena_alloc(a, (v->nr + 1) * sizeof(*item));
	for (size_t i = 0; i < v->nr; i++)
		item[i] = (struct ev_text){ v->item[i], v->len[i] };
	return item;
}

struct ev_text *ev_texts_from(struct arena *a, const json_t *list, size_t *nr)
{
	*nr = json_array_size(list);
	if (!json_is_array(list))
		return NULL;
	struct ev_text *item = arena_alloc(a, (*nr + 1) * sizeof(*item));
	for (size_t i = 0; i < *nr; i++)
		item[i] = ev_text_from(a, json_array_get(list, i));
	return item;
}

struct ev_who ev_who_from(struct arena *a, const json_t *who)
{
	const json_t *uid = json_object_get(who, "uid"), *pid = json_object_get(who, "pid");
	return (struct ev_who){ .there = json_is_object(who),
				.uid = json_integer_value(uid),
				.has_uid = json_is_integer(uid),
				.name = ev_text_from(a, json_object_get(who, "name")),
				.pid = json_integer_value(pid),
				.has_pid = json_is_integer(pid),
				.tty = ev_text_from(a, json_object_get(who, "tty")),
				.group = ev_text_from(a, json_object_get(who, "group")) };
}
