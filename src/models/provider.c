#include "models/provider.h"

#include <stdlib.h>
#include <string.h>

#include "supervisor/core/core.h"
#include "base/mem.h"

struct providers {
	struct super *super;
	struct provider *first;
	json_t *prices; /* may be NULL */
};

static const struct row {
	const char *name, *plugin, *url, *key_env, *url_env, *caps;
} provider_rows[] = {
#define PROVIDER(n, p, u, k, e, c) { n, p, u, k, e, c },
#include "models/providers.def"
#undef PROVIDER
};

static char *provider_copy_of(const char *s)
{
	return s ? mem_strdup(s) : NULL;
}

static struct provider *provider_add(struct providers *p, const char *name)
{
	struct provider *v = NEW(struct provider), **at = &p->first;
	v->name = mem_strdup(name);
	while (*at)
		at = &(*at)->next;
	*at = v;
	return v;
}

static const struct row *provider_row_of(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(provider_rows); i++)
		if (!strcmp(provider_rows[i].name, name))
			return &provider_rows[i];
	return NULL;
}

/* Missing fields of the row are filled from the table: a row of the same name, or none. */
static int provider_configure(struct provider *v, const struct row *row, const json_t *config,
			      struct err *err)
{
	static const char *const known[] = {
		"plugin",  "url",     "key",	  "auth",    "version", "caps",
		"options", "headers", "first_us", "idle_us", "tries",	"window",
	};
	const char *key;
	json_t *value;
	json_object_foreach((json_t *)(uintptr_t)config, key, value)
	{
		bool found = false;
		for (size_t i = 0; i < ARRAY_LEN(known); i++)
			found = found || !strcmp(known[i], key);
		if (!found)
			return err_set(
				err, ERR_SCRIPT,
				"config: models.%s: unknown field '%s'; known: plugin, url, key, auth, version, "
				"caps, options, headers, first, idle, tries, window",
				v->name, key);
	}
	const char *auth = json_str(config, "auth", NULL);
	if (json_object_get(config, "auth") &&
	    (!auth || !strstr(auth, "{key}") || !strstr(auth, ": ") || strpbrk(auth, "\r\n")))
		return err_set(
			err, ERR_SCRIPT,
			"config: models.%s.auth: expected a line like \"Authorization: Bearer {key}\"",
			v->name);
	const char *plugin = json_str(config, "plugin", row ? row->plugin : NULL);
	if (!plugin)
		return err_set(
			err, ERR_SCRIPT,
			"config: models.%s: missing field: plugin (for instance plugin = \"openai_chat\")",
			v->name);
	v->plugin_name = mem_strdup(plugin);
	v->url = provider_copy_of(json_str(config, "url", row ? row->url : NULL));
	v->key = provider_copy_of(json_str(config, "key", NULL));
	if (!v->key && row && row->key_env)
		v->key = mem_strdup(row->key_env);
	if (!v->key && !row && v->url)
		v->key = mem_strdup(""); /* a server of one's own: no key unless one is named */
	v->url_env = provider_copy_of(json_str(config, "url", NULL) ? "" : row ? row->url_env : "");
	struct err none = ERR_INIT;
	v->caps = row && row->caps
			  ? json_parse(row->caps, strlen(row->caps), "providers.def", &none)
			  : NULL;
	v->config = config ? json_incref((json_t *)(uintptr_t)config) : json_object();
	return 0;
}

int providers_open(struct providers **out, struct super *s, const json_t *config,
		   const json_t *prices, struct err *err)
{
	struct providers *p = NEW(struct providers);
	const char *name;
	json_t *row;
	int rc = 0;
	p->super = s;
	p->prices = json_incref((json_t *)(uintptr_t)prices);
	json_object_foreach((json_t *)(uintptr_t)config, name, row) if (rc == 0) rc =
		provider_configure(provider_add(p, name), provider_row_of(name), row, err);
	for (size_t i = 0; rc == 0 && i < ARRAY_LEN(provider_rows); i++)
		if (!json_object_get(config, provider_rows[i].name))
			rc = provider_configure(provider_add(p, provider_rows[i].name),
						&provider_rows[i], NULL, err);
	if (rc < 0) {
		providers_free(&p);
		return -1;
	}
	*out = p;
	return 0;
}

void providers_free(struct providers **pp)
{
	struct providers *p = *pp;
	*pp = NULL;
	while (p && p->first) {
		struct provider *v = p->first;
		p->first = v->next;
		plugin_free(&v->plugin);
		json_decref(v->config);
		json_decref(v->caps);
		free(v->name);
		free(v->plugin_name);
		free(v->url);
		free(v->key);
		free(v->url_env);
		free(v);
	}
	if (p)
		json_decref(p->prices);
	free(p);
}

json_t *providers_names(const struct providers *p)
{
	json_t *list = json_array();
	for (const struct provider *v = p->first; v; v = v->next)
		json_array_append_new(list, json_string(v->name));
	return list;
}

int provider_known(const struct providers *p, const char *model, struct err *err)
{
	CLEANUP(buf_release) struct buf known = BUF_INIT;
	const char *colon = strchr(model, ':');
	size_t len = colon ? (size_t)(colon - model) : 0;
	bool found = len == strlen("scripted") && !strncmp(model, "scripted", len);
	buf_puts(&known, "scripted");
	for (const struct provider *v = p->first; v; v = v->next) {
		buf_printf(&known, ", %s", v->name);
		found |= len && strlen(v->name) == len && !strncmp(model, v->name, len);
	}
	if (found && colon[1])
		return 0;
	return err_set(err, ERR_SCRIPT,
		       "--model: %s, got '%s'\nName one as PROVIDER:NAME; providers: %s.",
		       colon ? "expected a known provider" : "expected PROVIDER:NAME", model,
		       buf_cstr(&known));
}

int provider_of(struct providers *p, const char *model, struct provider **out, struct err *err)
{
	size_t len = strcspn(model, ":");
	CLEANUP(buf_release) struct buf names = BUF_INIT;
	for (struct provider *v = p->first; v; v = v->next) {
		buf_printf(&names, ", %s", v->name);
		if (strlen(v->name) != len || strncmp(v->name, model, len) != 0)
			continue;
		if (!v->plugin &&
		    plugin_open(&v->plugin, p->super, "models", v->plugin_name, err) < 0)
			return err_wrap(err, "model provider '%s'", v->name);
		*out = v;
		return 0;
	}
	return err_set(err, ERR_NOENT, "unknown model '%.*s'; known providers: scripted%s",
		       (int)len, model, buf_cstr(&names));
}

static const char *provider_environment(const char *name)
{
	const char *v = name && *name ? getenv(name) : NULL;
	return v && *v ? v : NULL;
}

char *provider_url(const struct provider *p, const json_t *face)
{
	const char *variable =
		p->url_env ? p->url_env : json_str(json_object_get(face, "env"), "url", NULL);
	const char *url = provider_environment(variable);
	if (!url)
		url = p->url ? p->url : json_str(face, "url", "");
	size_t len = strlen(url);
	while (len && url[len - 1] == '/')
		len--;
	return mem_strndup(url, len);
}

char *provider_key(const struct provider *p, const json_t *face)
{
	if (p->key)
		return mem_strdup(p->key);
	return mem_strdup(json_str(json_object_get(face, "env"), "key", ""));
}

const char *provider_auth(const struct provider *p, const json_t *face)
{
	return json_str(p->config, "auth", json_str(json_object_get(face, "auth"), "header", NULL));
}

const char *provider_model(const json_t *face, const char *name)
{
	return json_str(json_object_get(face, "aliases"), name, name);
}

/* Where a price of a model is looked for, by its spellings: what you configured, the plugin's own,
 * the list. */
struct price_look {
	const json_t *rows;
	struct price *out;
};

static bool configured_price(void *self, const char *name)
{
	struct price_look *l = self;
	return price_from_json(json_object_get(l->rows, name), l->out);
}

static bool plugin_price(void *self, const char *name)
{
	struct price_look *l = self;
	return price_from_json(json_object_get(json_object_get(l->rows, name), "usd"), l->out);
}

static bool listed_price(void *self, const char *name)
{
	struct price_look *l = self;
	return price_listed(name, l->out);
}

bool provider_price(const struct providers *p, const json_t *face, const char *model,
		    struct price *out)
{
	struct price_look l = { p->prices, out };
	if (price_names(model, configured_price, &l))
		return true;
	l.rows = json_object_get(face, "models");
	return face &&
	       (price_names(model, plugin_price, &l) || price_names(model, listed_price, &l));
}

int64_t provider_cost(const struct providers *p, const json_t *face, const char *model,
		      const json_t *usage)
{
	struct price price;
	return provider_price(p, face, model, &price) ? price_cost(&price, usage) : -1;
}

struct window_look {
	const json_t *rows;
	int64_t tokens;
};

static bool take_window(void *self, const char *name)
{
	struct window_look *l = self;
	l->tokens = json_int(json_object_get(l->rows, name), "window", 0);
	return l->tokens > 0;
}

int64_t provider_window(const struct provider *p, const json_t *face, const char *model)
{
	struct window_look l = { json_object_get(face, "models"), 0 };
	price_names(model, take_window, &l);
	return json_int(p->config, "window", l.tokens);
}
