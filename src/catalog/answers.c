#include "catalog/answers.h"

#include <string.h>

/* All that a pattern is held against, and nothing that differs from one request to the next. */
static json_t *answers_wanted(const json_t *requested)
{
	static const char *const keys[] = { "kind", "argv", "cmd",  "tool", "cwd",
					    "path", "host", "port", "env",  "host_path" };
	json_t *o = json_object();
	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		json_t *v = json_object_get(requested, keys[i]);
		if (v)
			json_object_set(o, keys[i], v);
	}
	return o;
}

json_t *human_answer(const struct past_action *a)
{
	if (a->suite || strcmp(json_str(a->row, "by", ""), "human") != 0)
		return NULL;
	json_t *o = json_object();
	json_put_int(o, "id", (int64_t)a->id);
	json_put_str(o, "decision", json_str(a->row, "decision", ""));
	if (a->requested)
		json_put(o, "wanted", answers_wanted(a->requested));
	return o;
}
