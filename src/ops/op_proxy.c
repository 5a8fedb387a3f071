/* proxy.open: what a script wants becomes the checked data of proxy.h. */
#include <stdlib.h>
#include <string.h>

#include "luahost/luahost.h"
#include "supervisor/core/call.h"
#include "ops/script_tree.h"
#include "inside/inside_priv.h"
#include "models/model_call.h"
#include "models/provider.h"
#include "luahost/answer_cache.h"
#include "supervisor/box/super_box.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/paths.h"
#include "http/url.h"

enum { PORT_FIRST = 4180, ROUTES_MAX = 32, PROMPT_MAX = 1 << 20 };

static bool op_proxy_name_ok(const char *name)
{
	size_t n =
		strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-");
	return n && !name[n] && n < 64 && *name != '.';
}

/* A header's value: text, a secret, or a list of both. Returns owned or NULL. */
static json_t *op_proxy_value_of(const json_t *v)
{
	json_t *list = json_array(), *e;
	size_t i;
	const char *secret = json_str(v, "$secret", NULL);
	if (json_is_string(v)) {
		json_array_append(list, (json_t *)(uintptr_t)v);
		return list;
	}
	if (secret) {
		json_t *key = json_object();
		json_put_str(key, "key", secret);
		json_array_append_new(list, key);
		return list;
	}
	json_array_foreach(v, i, e)
	{
		CLEANUP(json_release) json_t *one = json_is_array(e) ? NULL : op_proxy_value_of(e);
		if (!one) {
			json_decref(list);
			return NULL;
		}
		json_array_extend(list, one);
	}
	if (json_array_size(list))
		return list;
	json_decref(list);
	return NULL;
}

static int op_proxy_headers_of(json_t *route, const char *name, const json_t *wish, struct err *err)
{
	json_t *headers = json_object(), *v;
	const char *key;
	json_put(route, "headers", headers);
	json_object_foreach((json_t *)(uintptr_t)wish, key, v)
	{
		json_t *parts = op_proxy_value_of(v);
		if (!parts || strpbrk(key, " :\r\n"))
			return json_decref(parts),
			       err_set(err, ERR_SCRIPT,
				       "proxy: route '%s': header '%s': expected a text, a secret, or a list of both",
				       name, key);
		json_put(headers, key, parts);
	}
	return 0;
}

static int basic_of(json_t *route, const char *name, const json_t *wish, struct err *err)
{
	const char *secret = json_str(json_object_get(wish, "password"), "$secret", NULL);
	json_t *basic = json_object();
	if (!wish || json_is_null(wish))
		return json_decref(basic), 0;
	json_put(route, "basic", basic);
	if (!secret)
		return err_set(
			err, ERR_SCRIPT,
			"proxy: route '%s': expected basic = { user = \"...\", password = sg.secret \"NAME\" }",
			name);
	json_put_str(basic, "user", json_str(wish, "user", "x-access-token"));
	json_put_str(basic, "key", secret);
	return 0;
}

static int model_route(struct super *s, json_t *route, const char *name, const json_t *wish,
		       struct err *err)
{
	static const char *const dialects[] = { "anthropic", "openai", "gemini" };
	const char *provider = json_str(wish, "provider", NULL),
		   *speak = json_str(wish, "speak", NULL);
	struct provider *p;
	json_put_str(route, "kind", "model");
	if (provider) {
		CLEANUP(free_ptr) char *full = mem_printf("%s:", provider);
		if (provider_of(models_providers(s->models), full, &p, err) < 0)
			return -1;
		json_put_str(route, "provider", provider);
		speak = !strcmp(p->plugin_name, "openai_chat") ? "openai" : p->plugin_name;
	}
	for (size_t i = 0; i < ARRAY_LEN(dialects); i++)
		if (!strcmp(dialects[i], speak)) {
			json_put_str(route, "dialect", speak);
			return 0;
		}
	return err_set(err, ERR_SCRIPT,
		       "proxy: route '%s': speak: expected anthropic, openai, or gemini, got '%s'",
		       name, speak);
}

static json_t *route_of(struct super *s, const char *name, const json_t *wish, struct err *err)
{
	json_t *route = json_object();
	struct url u;
	CLEANUP(free_ptr) char *plain = mem_printf("https://%s", name);
	const char *url = json_str(wish, "url", plain);
	int rc = 0;
	json_put_str(route, "name", name);
	if (!op_proxy_name_ok(name))
		rc = err_set(
			err, ERR_SCRIPT,
			"proxy: invalid route name '%s': expected letters, digits, '.', '-', and '_'",
			name);
	if (rc == 0 && !json_object_get(wish, "provider")) {
		rc = url_parse(&u, NULL, url, err);
		if (rc == 0) {
			size_t n = strlen(url);
			CLEANUP(free_ptr)
			char *bare = mem_strndup(url, n && url[n - 1] == '/' ? n - 1 : n);
			json_put_str(route, "url", bare);
			url_release(&u);
		}
	}
	if (rc == 0 && (json_object_get(wish, "provider") || json_object_get(wish, "speak")))
		rc = model_route(s, route, name, wish, err);
	else
		json_put_str(route, "kind", json_flag(wish, "git", false) ? "git" : "plain");
	json_put_str(route, "login", json_str(wish, "login", NULL));
	json_put(route, "allow", json_incref(json_object_get(wish, "allow")));
	if (json_flag(wish, "tls", false))
		json_put_flag(route, "tls", true);
	if (json_flag(wish, "rewrite", false))
		json_put_flag(route, "rewrite", true);
	if (rc == 0)
		rc = op_proxy_headers_of(route, name, json_object_get(wish, "header"), err);
	if (rc == 0)
		rc = basic_of(route, name, json_object_get(wish, "basic"), err);
	if (rc == 0)
		return route;
	json_decref(route);
	return NULL;
}

static int routes_of(struct super *s, json_t *spec, const json_t *wish, struct err *err)
{
	json_t *routes = json_array(), *v;
	const char *name;
	json_put(spec, "routes", routes);
	json_object_foreach((json_t *)(uintptr_t)wish, name, v)
	{
		json_t *r = route_of(s, name, v, err);
		if (!r)
			return -1;
		json_array_append_new(routes, r);
	}
	if (!json_array_size(routes) || json_array_size(routes) > ROUTES_MAX)
		return err_set(
			err, ERR_SCRIPT,
			"proxy: routes: expected 1 to %d routes: { [\"api.anthropic.com\"] = { speak = \"anthropic\", ... } }",
			ROUTES_MAX);
	return 0;
}

/* The prompt is read here; it goes to the provider, never into a box and never to the script. */
static int prompt_of(struct call *c, json_t *spec, struct buf *out, struct err *err)
{
	const char *file = json_str(c->args, "prompt_host", NULL), *dir = luahost_dir(c->host);
	if (!file)
		return 0;
	CLEANUP(free_ptr)
	char *path = *file == '/' || !dir ? mem_strdup(file) : path_join(dir, file);
	if (!script_tree_file(c, path) && !script_tree_dir(c, path))
		return err_set(err, ERR_DENIED,
			       "proxy: prompt_host '%s' is outside the script's project", file);
	if (file_read(path, out, PROMPT_MAX, err) < 0)
		return err_wrap(err, "proxy: prompt_host");
	struct hash h;
	CLEANUP(buf_release) struct buf hex = BUF_INIT;
	hash_of(out->data, out->len, &h);
	hex_append(&hex, h.b, HASH_LEN);
	json_put_str(spec, "prompt_hash", buf_cstr(&hex));
	return 0;
}

static void op_proxy_answer(struct call *c, json_t *spec)
{
	json_t *v = json_object(), *urls = json_object(), *r;
	size_t i;
	CLEANUP(free_ptr)
	char *base = mem_printf("http://127.0.0.1:%lld", (long long)json_int(spec, "port", 0));
	json_array_foreach(json_object_get(spec, "routes"), i, r)
	{
		CLEANUP(free_ptr) char *one = mem_printf("%s/%s", base, json_str(r, "name", ""));
		json_put_str(urls, json_str(r, "name", ""), one);
	}
	json_put_str(v, "url", base);
	json_put(v, "urls", urls);
	json_put_str(v, "key", json_str(spec, "key", ""));
	json_put(v, "proxy", json_incref(spec));
	call_answer(c, v);
}

/* The specification for proxy.h; NULL with @err. */
static json_t *spec_of(struct call *c, struct buf *prompt, struct err *err)
{
	static unsigned opened;
	json_t *spec = json_object();
	uint8_t dice[16];
	CLEANUP(buf_release) struct buf key = BUF_INIT;
	random_bytes(dice, sizeof(dice));
	opened = opened ? opened + 1 : 1 + dice[0] * 3u; /* not the ports of before a resume */
	buf_puts(&key, "sk-sg-");
	hex_append(&key, dice, sizeof(dice));
	json_put_str(spec, "name", json_str(c->args, "name", "proxy"));
	json_put_int(spec, "port", PORT_FIRST + opened % 1000);
	const char *hash =
		json_flag(c->args, "here", false) ? json_str(c->args, "key_hash", NULL) : NULL;
	json_put_str(spec, hash ? "key_hash" : "key", hash ? hash : buf_cstr(&key));
	json_put_flag(spec, "gate", json_flag(c->args, "tool_gate", true));
	json_put_int(spec, "agent", (int64_t)c->agent);
	json_put(spec, "limits", json_incref(json_object_get(c->args, "limits")));
	if (routes_of(c->super, spec, json_object_get(c->args, "routes"), err) == 0 &&
	    prompt_of(c, spec, prompt, err) == 0)
		return spec;
	json_decref(spec);
	return NULL;
}

/* One for a box is opened with its box; one for the host now. */
void op_proxy_open(struct call *c)
{
	struct super *s = c->super;
	struct err err = ERR_INIT;
	uint64_t seq;
	const json_t *was = call_done_before(c, EV_PROXY_OPEN, &seq);
	CLEANUP(buf_release) struct buf prompt = BUF_INIT;
	if (was) {
		json_t *old = json_object_get(was, "proxy");
		/* older records have it in the proxy */
		const char *text = json_str(was, "prompt", json_str(old, "prompt", NULL));
		if (text)
			proxies_prompt_set(s, old, text);
		json_object_del(old, "prompt");
		op_proxy_answer(c, old);
		return;
	}
	CLEANUP(json_release) json_t *spec = spec_of(c, &prompt, &err);
	if (spec && json_object_get(spec, "prompt_hash"))
		proxies_prompt_set(s, spec, buf_cstr(&prompt));
	if (!spec || (json_flag(c->args, "here", false) && proxies_here(s, spec, &err) < 0)) {
		call_fail_err(c, &err);
		return;
	}
	json_t *body = json_object();
	json_put(body, "proxy", json_incref(spec));
	if (json_object_get(spec, "prompt_hash"))
		json_put_str(body, "prompt", buf_cstr(&prompt));
	call_mark(c, body);
	record_append_json(s->record, EV_PROXY_OPEN, c->agent ? c->agent : s->start_seq, c->agent,
			   0, 0, body);
	op_proxy_answer(c, spec);
}

void op_proxy_usage(struct call *c)
{
	call_answer(c, super_box_proxy_usage(c->super, json_str(c->args, "key", "")));
}
