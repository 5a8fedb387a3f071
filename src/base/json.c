#include "base/json.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

void json_release(json_t **j)
{
	json_decref(*j);
	*j = NULL;
}

json_t *json_parse(const char *text, size_t len, const char *what, struct err *err)
{
	json_error_t e;
	json_t *j = json_loadb(text, len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL | JSON_DECODE_ANY,
			       &e);
	if (!j)
		err_set(err, ERR_PARSE, "%s is not valid JSON: line %d column %d: %s", what, e.line,
			e.column, e.text);
	return j;
}

size_t json_count(const char *text, size_t len, size_t most)
{
	bool quoted = false;
	size_t nr = 1;
	for (size_t i = 0; i < len && nr <= most; i++) {
		if (quoted && text[i] == '\\')
			i++;
		else if (text[i] == '"')
			quoted = !quoted;
		else if (!quoted)
			nr += text[i] == ',' || text[i] == '[' || text[i] == '{';
	}
	return nr;
}

static int dump_to_buf(const char *bytes, size_t len, void *self)
{
	buf_append(self, bytes, len);
	return 0;
}

void json_dump_buf(const json_t *j, struct buf *out)
{
	int rc = json_dump_callback(j, dump_to_buf, out, JSON_COMPACT | JSON_ENCODE_ANY);
	assert(rc == 0);
	(void)rc;
}

char *json_dump_str(const json_t *j)
{
	struct buf b = BUF_INIT;
	json_dump_buf(j, &b);
	return buf_take(&b);
}

json_t *json_bytes(const void *bytes, size_t len)
{
	if (!len)
		return json_string("");
	if (!memchr(bytes, 0, len)) {
		json_t *s = json_stringn(bytes, len); /* NULL unless strict UTF-8 */
		if (s)
			return s;
	}
	struct buf b64 = BUF_INIT;
	base64_append(&b64, bytes, len);
	json_t *o = json_object();
	json_put(o, "b64", json_stringn_nocheck(buf_cstr(&b64), b64.len)); /* it is ASCII */
	buf_release(&b64);
	return o;
}

json_t *json_bytes_z(const char *s)
{
	return s ? json_bytes(s, strlen(s)) : json_null();
}

bool json_get_bytes(const json_t *j, struct buf *out)
{
	if (json_is_string(j)) {
		buf_reset(out);
		buf_append(out, json_string_value(j), json_string_length(j));
		return true;
	}
	const json_t *b64 = json_is_object(j) ? json_object_get(j, "b64") : NULL;
	if (!json_is_string(b64))
		return false;
	buf_reset(out);
	return base64_parse(json_string_value(b64), json_string_length(b64), out);
}

json_t *json_argv(char *const *argv, size_t nr)
{
	json_t *a = json_array();
	for (size_t i = 0; i < nr; i++)
		json_array_append_new(a, json_bytes_z(argv[i]));
	return a;
}

bool json_get_argv(const json_t *arr, struct strv *out)
{
	if (!json_is_array(arr))
		return false;
	struct buf word = BUF_INIT;
	bool good = true;
	for (size_t i = 0; good && i < json_array_size(arr); i++) {
		good = json_get_bytes(json_array_get(arr, i), &word);
		if (good)
			strv_push_bytes(out, buf_cstr(&word), word.len);
	}
	buf_release(&word);
	return good;
}

const char *json_str(const json_t *o, const char *key, const char *def)
{
	const json_t *v = json_object_get(o, key);
	return json_is_string(v) ? json_string_value(v) : def;
}

int64_t json_int(const json_t *o, const char *key, int64_t def)
{
	const json_t *v = json_object_get(o, key);
	return json_is_integer(v) ? json_integer_value(v) : def;
}

bool json_flag(const json_t *o, const char *key, bool def)
{
	const json_t *v = json_object_get(o, key);
	return json_is_boolean(v) ? json_is_true(v) : def;
}

void json_put(json_t *o, const char *key, json_t *value)
{
	if (!value)
		return;
	int rc = json_object_set_new(o, key, value);
	assert(rc == 0);
	(void)rc;
}

void json_put_str(json_t *o, const char *key, const char *s)
{
	if (s)
		json_put(o, key, json_bytes_z(s));
}

void json_put_int(json_t *o, const char *key, int64_t v)
{
	json_put(o, key, json_integer(v));
}

void json_put_flag(json_t *o, const char *key, bool v)
{
	json_put(o, key, json_boolean(v));
}

void json_put_bytes(json_t *o, const char *key, const void *bytes, size_t len)
{
	json_put(o, key, json_bytes(bytes, len));
}
