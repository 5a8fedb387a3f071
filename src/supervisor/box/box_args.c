/* Of box_ops.h: arguments of a call in the form that a sandbox takes. */
#include <string.h>

#include "supervisor/box/box_ops.h"

void op_env(const json_t *env, struct strv *out)
{
	const char *key;
	json_t *value;
	struct buf v = BUF_INIT, word = BUF_INIT;
	json_object_foreach((json_t *)(uintptr_t)env, key, value)
	{
		const char *secret = json_str(value, "$secret", NULL);
		if (secret) {
			buf_reset(&v);
			buf_printf(&v, "<secret:%s>", secret);
		} else if (!json_get_bytes(value, &v)) {
			continue;
		}
		buf_reset(&word);
		buf_printf(&word, "%s=", key);
		buf_append(&word, v.data, v.len);
		strv_push_bytes(out, buf_cstr(&word), word.len);
	}
	buf_release(&v);
	buf_release(&word);
}

char *op_plain_name(const char *name, const char *fallback)
{
	struct buf b = BUF_INIT;
	for (const char *p = name; *p && b.len < 40; p++)
		if ((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
		    (*p >= '0' && *p <= '9') || strchr("-_.", *p))
			buf_putc(&b, *p);
	if (!b.len || b.data[0] == '.' || b.data[0] == '-') {
		buf_reset(&b);
		buf_puts(&b, fallback);
	}
	return buf_take(&b);
}
