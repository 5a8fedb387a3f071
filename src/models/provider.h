/* Who answers for which models: the rows of providers.def, changed and added to by `models` of the
 * configuration:
 *   c.models = { mine = { plugin = "openai_chat", url = "https://host/v1", key = "MY_KEY", caps = {
 *   usage = false } } }
 * key: the name of a secret (vault.h). auth: the line that carries it, "Authorization: Bearer
 * {key}" for a token. plugin: a shipped one or a path that ends in .lua; version, headers, options:
 * given to it as they are. first, idle: how long the first byte of an answer, and any later one,
 * may take (as first_us, idle_us; 0 = the client's own limits); tries: how often a question is
 * asked at most; window: the tokens that its models take, where the plugin does not know them. */
#ifndef MODELS_PROVIDER_H
#define MODELS_PROVIDER_H

#include "luahost/plugin.h"
#include "models/price.h"

struct provider {
	struct provider *next;
	char *name, *plugin_name;
	char *url;	       /* NULL: the plugin's */
	char *key;	       /* name of a secret, "" none; NULL: the plugin's */
	char *url_env;	       /* variable that names another url; NULL: the plugin's; "" none */
	json_t *config;	       /* the row of the configuration, {} when there is none */
	json_t *caps;	       /* of providers.def, may be NULL */
	struct plugin *plugin; /* opened when first asked; NULL before */
};

struct providers;

/* @config: `models` of the configuration; @prices: `prices` of it; both borrowed, may be NULL. A
 * row without a plugin that is not in the table fails. */
NODISCARD int providers_open(struct providers **out, struct super *s, const json_t *config,
			     const json_t *prices, struct err *err);
void providers_free(struct providers **p);
/* Whether @model is PROVIDER:NAME of one of @p, or scripted:NAME; the error names them. */
NODISCARD int provider_known(const struct providers *p, const char *model, struct err *err);
json_t *providers_names(const struct providers *p); /* array, returns owned */

/* Finds the provider of "name:model" and opens its plugin. ERR_NOENT: nobody bears the name; the
 * text says who there is. */
NODISCARD int provider_of(struct providers *p, const char *model, struct provider **out,
			  struct err *err);
/* Where it is asked: configuration, variable, table, @face of the plugin. Returns owned, no "/" at
 * its end. */
char *provider_url(const struct provider *p, const json_t *face);
/* The secret that is its key. Returns owned; "" = needs none. */
char *provider_key(const struct provider *p, const json_t *face);
/* The line of a request that carries the key in place of "{key}". Borrows; NULL: none does. */
const char *provider_auth(const struct provider *p, const json_t *face);
/* "sonnet" -> "claude-sonnet-5": @face knows other names. Borrows. */
const char *provider_model(const json_t *face, const char *name);
/* The price of a model by any of its spellings (price.h); false: it is not known. @face: of the
 * plugin, NULL: not asked (then only what you configured counts: a login of its own may have
 * another price). */
bool provider_price(const struct providers *p, const json_t *face, const char *model,
		    struct price *out);
/* Millionths of a dollar for a reply's usage (price.h); -1: price unknown. */
int64_t provider_cost(const struct providers *p, const json_t *face, const char *model,
		      const json_t *usage);
/* Tokens that the model takes; 0 unknown. */
int64_t provider_window(const struct provider *p, const json_t *face, const char *model);

#endif
