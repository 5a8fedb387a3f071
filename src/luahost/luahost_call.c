#include "luahost/luahost_call.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

static char *hash_hex(const void *bytes, size_t len)
{
	struct hash h;
	struct buf hex = BUF_INIT;
	hash_of(bytes, len, &h);
	hex_append(&hex, h.b, HASH_LEN);
	return buf_take(&hex);
}

/* H of one message as pooled by model.call, in hexadecimal. Returns owned. */
static char *host_call_message(const json_t *message)
{
	CLEANUP(free_ptr) char *text = json_dump_str(message);
	return hash_hex(text, strlen(text));
}

static json_t *luahost_call_is_small(const json_t *v)
{
	const char *key;
	json_t *item, *out;
	size_t i;
	if (json_is_string(v) && json_string_length(v) > CALL_TEXT_MAX) {
		CLEANUP(free_ptr) char *hex = hash_hex(json_string_value(v), json_string_length(v));
		out = json_object();
		json_put_str(out, "hash", hex);
		json_put_int(out, "bytes", (int64_t)json_string_length(v));
		return out;
	}
	if (json_is_array(v)) {
		out = json_array();
		json_array_foreach((json_t *)(uintptr_t)v, i, item)
			json_array_append_new(out, luahost_call_is_small(item));
		return out;
	}
	if (!json_is_object(v))
		return json_incref((json_t *)(uintptr_t)v);
	out = json_object();
	json_object_foreach((json_t *)(uintptr_t)v, key, item)
		json_object_set_new(out, key, luahost_call_is_small(item));
	return out;
}

static json_t *luahost_call_messages_of(const json_t *list)
{
	json_t *out = json_array(), *m;
	size_t i;
	json_array_foreach((json_t *)(uintptr_t)list, i, m)
	{
		CLEANUP(free_ptr) char *hex = host_call_message(m);
		json_array_append_new(out, json_string(hex));
	}
	return out;
}

json_t *luahost_call_small(const json_t *body)
{
	json_t *out = json_object();
	const json_t *args = json_object_get(body, "args");
	json_put_str(out, "op", json_str(body, "op", ""));
	json_put_str(out, "at", json_str(body, "at", NULL));
	json_put(out, "agent", json_incref(json_object_get(body, "agent")));
	json_put(out, "task", json_incref(json_object_get(body, "task")));
	if (strcmp(json_str(body, "op", ""), "model.call")) {
		json_put(out, "args", luahost_call_is_small(args));
		return out;
	}
	CLEANUP(json_release) json_t *rest = json_copy((json_t *)(uintptr_t)args);
	json_object_del(rest, "messages");
	json_object_del(rest, "reply");
	json_t *s = luahost_call_is_small(rest);
	json_put(s, "messages", luahost_call_messages_of(json_object_get(args, "messages")));
	json_put(out, "args", s);
	return out;
}

/* --- comparing -------------------------------------------------------------------------------- */

static bool luahost_call_compare(const json_t *a, const json_t *b, struct buf *path);

static bool differ_under(const char *key, const json_t *a, const json_t *b, struct buf *path)
{
	size_t len = path->len;
	buf_printf(path, "/%s", key);
	if (luahost_call_compare(a, b, path))
		return true;
	path->len = len;
	path->data[len] = 0;
	return false;
}

static bool differ_objects(const json_t *a, const json_t *b, struct buf *path)
{
	const char *key;
	json_t *v;
	json_object_foreach((json_t *)(uintptr_t)a, key,
			    v) if (differ_under(key, v, json_object_get(b, key), path)) return true;
	json_object_foreach((json_t *)(uintptr_t)b, key,
			    v) if (!json_object_get(a, key) &&
				   differ_under(key, NULL, v, path)) return true;
	return false;
}

static bool differ_arrays(const json_t *a, const json_t *b, struct buf *path)
{
	size_t na = json_array_size(a), nb = json_array_size(b);
	for (size_t i = 0; i < na || i < nb; i++) {
		char key[24];
		snprintf(key, sizeof(key), "%zu", i);
		if (differ_under(key, json_array_get(a, i), json_array_get(b, i), path))
			return true;
	}
	return false;
}

static bool luahost_call_compare(const json_t *a, const json_t *b, struct buf *path)
{
	if (json_is_string(a) && strstr(json_string_value(a), "<secret:"))
		return false;
	if (json_is_object(a) && json_is_object(b))
		return differ_objects(a, b, path);
	if (json_is_array(a) && json_is_array(b))
		return differ_arrays(a, b, path);
	if (json_is_null(a) || json_is_null(b))
		return !((!a || json_is_null(a)) && (!b || json_is_null(b)));
	return !json_equal(a, b);
}

char *luahost_call_differ(const json_t *recorded, const json_t *now)
{
	struct buf path = BUF_INIT;
	static const char *const compared[] = { "op", "agent", "args" };
	for (size_t i = 0; i < ARRAY_LEN(compared); i++)
		if (differ_under(compared[i], json_object_get(recorded, compared[i]),
				 json_object_get(now, compared[i]), &path))
			return buf_take(&path);
	buf_release(&path);
	return NULL;
}
