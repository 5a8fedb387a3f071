#include "catalog/deeds.h"

#include <string.h>

static void deeds_copy(json_t *to, const json_t *from, const char *const *keys, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		json_t *v = json_object_get(from, keys[i]);
		if (v)
			json_object_set(to, keys[i], v);
	}
}

static json_t *deeds_asked(const json_t *requested)
{
	static const char *const keys[] = { "kind", "argv",	 "cmd",	       "tool",
					    "cwd",  "path",	 "host",       "port",
					    "env",  "host_path", "leaves_box", "tainted" };
	static const char *const of_args[] = { "url", "method", "review" };
	json_t *o = json_object(), *args = json_object();
	deeds_copy(o, requested, keys, ARRAY_LEN(keys));
	deeds_copy(args, json_object_get(requested, "args"), of_args, ARRAY_LEN(of_args));
	if (json_object_size(args))
		json_object_set(o, "args", args);
	json_decref(args);
	return o;
}

/* Times and figures differ from one equal action to the next: of these, only whether they are
 * there. */
static json_t *deeds_row(const json_t *row)
{
	static const char *const keys[] = { "kind", "cmd",     "path",	"url", "host",
					    "tool", "profile", "agent", "box", "held" };
	json_t *o = json_object();
	deeds_copy(o, row, keys, ARRAY_LEN(keys));
	if (json_object_get(row, "verdict"))
		json_put_str(o, "verdict", "");
	else if (json_object_get(row, "exit"))
		json_put_int(o, "exit", 0);
	if (json_object_get(row, "started_us"))
		json_put_int(o, "started_us", 1);
	if (!strcmp(json_str(row, "end", ""), "ok"))
		json_put_str(o, "end", "ok");
	if (!strcmp(json_str(row, "by", ""), "human"))
		json_put_str(o, "by", "human");
	return o;
}

char *deed_of_action(const struct past_action *a)
{
	if (!a->requested)
		return NULL;
	CLEANUP(json_release) json_t *o = json_object();
	json_put(o, "asked", deeds_asked(a->requested));
	json_put(o, "row", deeds_row(a->row));
	if (a->suite)
		json_put_flag(o, "suite", true);
	return json_dump_str(o);
}

bool deed_parse(const char *text, size_t len, json_t **hold, struct past_action *out)
{
	struct err none = ERR_INIT;
	*hold = json_parse(text, len, "deed", &none);
	*out = (struct past_action){ .requested = json_object_get(*hold, "asked"),
				     .row = json_object_get(*hold, "row"),
				     .suite = json_flag(*hold, "suite", false) };
	return out->requested && out->row;
}
