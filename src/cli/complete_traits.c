/* Values of options that choose sessions, from the catalog alone: completion opens no session. */
#include <string.h>

#include "catalog/catalog.h"
#include "cli/complete.h"

/* Sessions looked at: a fleet has more, and an answer must come at once. */
enum { COMPLETE_TRAITS_MOST = 1024 };

static void complete_traits_take(json_t *seen, const json_t *traits, const char *key)
{
	size_t i;
	const char *name;
	json_t *one, *list = json_object_get(traits, key);
	if (json_is_array(list))
		json_array_foreach(list, i, one)
			json_object_set_new_nocheck(seen, json_string_value(one), json_null());
	else
		json_object_foreach(list, name, one)
		{
			CLEANUP(buf_release) struct buf text = BUF_INIT;
			buf_printf(&text, "%s%s%s", name, *json_string_value(one) ? "=" : "",
				   json_string_value(one));
			json_object_set_new_nocheck(seen, buf_cstr(&text), json_null());
		}
}

static const char *complete_traits_key(const char *option)
{
	static const char *const keys[][2] = { { "agent", "agents" },
					       { "model", "models" },
					       { "repo", "repos" },
					       { "label", "labels" } };
	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		if (!strcmp(keys[i][0], option))
			return keys[i][1];
	return NULL;
}

void complete_traits(const char *sessions, const struct command *c, const char *option,
		     complete_fn *fn, void *self)
{
	const char *key = complete_traits_key(option), *path, *name;
	json_t *value;
	size_t looked = 0;
	if (!key || !strstr(c->options, "--since TIME"))
		return;
	CLEANUP(json_release) json_t *seen = json_object();
	struct catalog *catalog = catalog_open(sessions);
	for (size_t i = 0; i < catalog_shard_count(catalog); i++) {
		struct shard *s = catalog_shard(catalog, i, &path);
		for (size_t k = shard_count(s); k-- > 0 && looked < COMPLETE_TRAITS_MOST;
		     looked++) {
			CLEANUP(json_release) json_t *details = shard_details(s, k);
			complete_traits_take(seen, json_object_get(details, "traits"), key);
		}
	}
	json_object_foreach(seen, name, value) fn(self, name, "");
	catalog_close(&catalog);
}
