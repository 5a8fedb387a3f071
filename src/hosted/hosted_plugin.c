#include "hosted/hosted_plugin_priv.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "luahost/library.h"
#include "luahost/plugin_own.h"
#include "supervisor/core/core.h"
#include "base/fd.h"
#include "sandbox/hosted/hosted.h"

#define FOLDER "plugins/sandboxes/"

const char *hosted_plugin_name(size_t i)
{
	static char *names[64];
	static size_t nr;
	if (!nr)
		for (size_t k = 0; library_path(k) && nr + 1 < ARRAY_LEN(names); k++) {
			const char *path = library_path(k), *name = path + strlen(FOLDER);
			if (!strncmp(path, FOLDER, strlen(FOLDER)))
				names[nr++] = mem_strndup(name, strlen(name) - strlen(".lua"));
		}
	return i < nr ? names[i] : NULL;
}

bool face_has(const json_t *face, const char *fn)
{
	const json_t *list = json_object_get(face, "functions");
	for (size_t i = 0; i < json_array_size(list); i++)
		if (!strcmp(json_string_value(json_array_get(list, i)), fn))
			return true;
	return false;
}

static bool hosted_plugin_has(void *self, const char *fn)
{
	const struct lessor *l = self;
	return face_has(l->face, fn);
}

static int poll_s(void *self)
{
	const struct lessor *l = self;
	return (int)json_int(l->face, "poll", 0);
}

static bool hosted_plugin_shipped(const char *name)
{
	for (size_t i = 0; hosted_plugin_name(i); i++)
		if (!strcmp(hosted_plugin_name(i), name))
			return true;
	return false;
}

static const struct driver *hosted_plugin_find(void *self, const char *name)
{
	struct rent *r = self;
	size_t len = strlen(name);
	bool is_path = len > 4 && !strcmp(name + len - 4, ".lua");
	CLEANUP(free_ptr) char *file = is_path ? realpath(name, NULL) : NULL;
	for (struct lessor *l = r->first; l; l = l->next)
		if (file ? l->driver->file && !strcmp(l->driver->file, file)
			 : !strcmp(l->name, name))
			return l->driver;
	if (!(is_path ? file && access(file, R_OK) == 0
		      : hosted_plugin_shipped(name) || plugin_own("sandboxes", name)))
		return NULL;
	struct lessor *l = NEW(struct lessor);
	struct err err = ERR_INIT;
	*l = (struct lessor){ .next = r->first, .rent = r, .name = mem_strdup(name) };
	if (plugin_open(&l->plugin, r->super, "sandboxes", name, &err) < 0) {
		super_warn(r->super, NULL, "can't use the plugin '%s': %s", name, err.text);
		free(l->name);
		free(l);
		return NULL;
	}
	const struct remote_port port = { .begin = op_begin,
					  .pause = op_pause,
					  .cancel = op_cancel,
					  .has = hosted_plugin_has,
					  .poll_s = poll_s,
					  .reach = lessor_reach,
					  .self = l };
	const char *slash = strrchr(name, '/');
	CLEANUP(free_ptr)
	char *plain = mem_printf("%.*s", (int)strcspn(slash ? slash + 1 : name, "."),
				 slash ? slash + 1 : name);
	l->driver = hosted_driver_new(is_path ? plain : name, file, "hosted sandboxes", &port);
	r->first = l;
	return l->driver;
}

int hosted_plugin_open(struct rent **out, struct super *s, struct err *err)
{
	struct rent *r = NEW(struct rent);
	r->super = s;
	if (http_new(&r->http, s->loop, NULL, err) < 0) {
		free(r);
		return -1;
	}
	driver_more(hosted_plugin_find, r);
	*out = r;
	return 0;
}

void hosted_plugin_ways_end(struct rent *r)
{
	if (r)
		reaches_end(r);
}

void hosted_plugin_free(struct rent **rp)
{
	struct rent *r = *rp;
	*rp = NULL;
	if (!r)
		return;
	driver_more(NULL, NULL);
	reaches_end(r);
	ops_end(r);
	while (r->first) {
		struct lessor *l = r->first;
		r->first = l->next;
		plugin_free(&l->plugin);
		logins_end(l);
		for (size_t i = 0; i < l->hidden.nr; i++)
			explicit_bzero(l->hidden.item[i], l->hidden.len[i]);
		strv_release(&l->hidden);
		free(l->name);
		free(l->url);
		free(l);
	}
	http_free(&r->http);
	free(r);
}
