#include "check/check.h"

#include <string.h>

#include "check/log_ops.h"
#include "luahost/lua_file.h"
#include "base/mem.h"

enum { LIMIT_MS = 60000 };

static int check_run(struct session *s, const char *path, const char *text, json_t *args,
		     json_t **results_out, struct err *err)
{
	const struct lua_file_run r = { .mode = "checks",
					.path = path,
					.text = text,
					.args = args,
					.call = log_call,
					.self = s,
					.limit_ms = LIMIT_MS };
	json_t *data;
	if (lua_file_run(&r, &data, err) < 0)
		return -1;
	json_t *list = json_object_get(data, "results");
	*results_out = json_is_array(list) ? json_incref(list) : json_array();
	json_decref(data);
	return 0;
}

int check_file(struct session *s, const char *path, json_t **results_out, struct err *err)
{
	return check_run(s, path, NULL, NULL, results_out, err);
}

/* "egress=a,b" -> ["egress", "a", "b"] */
static json_t *check_words_of(const char *spec)
{
	json_t *args = json_array();
	size_t len = strcspn(spec, "=");
	json_array_append_new(args, json_bytes(spec, len));
	for (const char *p = spec[len] ? spec + len + 1 : NULL; p && *p;) {
		len = strcspn(p, ",");
		json_array_append_new(args, json_bytes(p, len));
		p += len + (p[len] == ',');
	}
	return args;
}

int check_named(struct session *s, const char *spec, json_t **results_out, struct err *err)
{
	static const char text[] = "return require('sandglass.checks').named(...)";
	CLEANUP(json_release) json_t *args = check_words_of(spec);
	CLEANUP(free_ptr) char *name = mem_printf("check %s", spec);
	return check_run(s, name, text, args, results_out, err);
}

int check_sound(const char *spec, struct err *err)
{
	static const char text[] = "return require('sandglass.checks').sound(...)";
	CLEANUP(json_release) json_t *args = check_words_of(spec), *results = NULL;
	if (check_run(NULL, "checks", text, args, &results, err) < 0)
		return -1;
	const json_t *said = json_array_get(results, 0);
	if (!strcmp(json_str(said, "result", "ok"), "ok"))
		return 0;
	return err_set(err, ERR_USAGE, "--check '%s': %s %s", spec, json_str(said, "name", ""),
		       json_str(said, "text", "is not understood"));
}

int check_list(json_t **out, struct err *err)
{
	static const char text[] = "return require('sandglass.checks').list()";
	return check_run(NULL, "checks", text, NULL, out, err);
}

int check_claims(struct session *s, json_t **out, struct err *err)
{
	static const char text[] = "return require('sandglass.claims').list()";
	return check_run(s, "claims", text, NULL, out, err);
}
