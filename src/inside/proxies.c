/* The proxies of a sandbox and their routes: from proxies_new to proxies_free. Part of the proxy
 * (inside_priv.h); a request is proxy.c's. */
#include "inside/inside_priv.h"

#include <stdlib.h>
#include <string.h>

#include "supervisor/core/parts.h"
#include "supervisor/net/super_net.h"
#include "base/fd.h"
#include "http/url.h"

static void tell_refused(void *self, const json_t *refused, uint64_t count)
{
	struct proxy *p = self;
	json_t *body = json_copy((json_t *)(uintptr_t)refused);
	if (count > 1)
		json_put_int(body, "count", (int64_t)count);
	record_append_json(p->all->s->record, EV_PROXY_REFUSED, p->agent ? p->agent : p->all->box,
			   p->agent, p->all->box, 0, body);
}

void proxy_incident(struct proxy *p, const char *method, const char *path, const char *why)
{
	json_t *body = json_object();
	json_put_str(body, "proxy", json_str(p->spec, "name", ""));
	json_put_str(body, "method", method);
	json_put_bytes(body, "path", path, strlen(path) < 400 ? strlen(path) : 400);
	json_put_str(body, "why", why);
	p->refused++;
	flood_add(p->incidents, body);
}

/* Allows the routes of the script's author; files with rules may override this. */
static void allow_routes(struct proxies *all)
{
	CLEANUP(json_release) json_t *hosts = json_array();
	for (const struct proxy *p = all->first; p; p = p->next) {
		const json_t *r;
		size_t i;
		json_array_foreach(json_object_get(p->spec, "routes"), i, r)
		{
			struct url u;
			struct err none = ERR_INIT;
			if ((proxy_is_model(r) && !json_object_get(r, "allow")) ||
			    url_parse(&u, NULL, json_str(r, "url", ""), &none) < 0)
				continue;
			CLEANUP(free_ptr) char *host = mem_printf("%s:%u", u.host, u.port);
			json_array_append_new(hosts, json_string(host));
			url_release(&u);
		}
	}
	if (json_array_size(hosts) && all->box)
		all->rules = net_allow(all->s, "(routes of sg.proxy)", all->box, hosts);
}

struct proxy_session {
	json_t *prompts;      /* by placeholder */
	struct proxies *here; /* for programs of the host; NULL: none */
};

static void proxy_session_release(void *object)
{
	struct proxy_session *p = object;
	json_decref(p->prompts);
}

static struct proxy_session *proxy_session_of(const struct super *s)
{
	static const struct super_part part = { sizeof(struct proxy_session),
						proxy_session_release };
	return super_part(s, &part);
}

static const char *prompt_name(const json_t *spec)
{
	return json_str(spec, "key", json_str(spec, "key_hash", ""));
}

void proxies_prompt_set(struct super *s, const json_t *spec, const char *text)
{
	struct proxy_session *p = proxy_session_of(s);
	p->prompts = p->prompts ? p->prompts : json_object();
	json_put_str(p->prompts, prompt_name(spec), text);
}

const char *proxies_prompt(const struct super *s, const json_t *spec)
{
	return json_str(proxy_session_of(s)->prompts, prompt_name(spec), NULL);
}

struct proxies *proxies_new(struct super *s, uint64_t box, const json_t *specs)
{
	struct proxies *all = NEW(struct proxies);
	size_t i;
	json_t *spec;
	all->s = s;
	all->box = box;
	json_array_foreach(specs, i, spec)
	{
		struct proxy *p = NEW(struct proxy);
		p->all = all;
		p->spec = json_incref(spec);
		p->key = json_str(spec, "key", "");
		p->agent = (uint64_t)json_int(spec, "agent", 0);
		p->gate = json_flag(spec, "gate", true);
		p->incidents = flood_new(s->loop, tell_refused, p);
		p->next = all->first;
		all->first = p;
	}
	allow_routes(all);
	return all;
}

static void proxy_on_listening(void *self, json_t *result, const struct err *err)
{
	struct proxy *p = self;
	int fd = result ? (int)json_int(result, "fd", -1) : -1;
	if (p->all->dead) {
		fd_close(&fd);
		return;
	}
	if (err)
		super_warn(p->all->s, NULL, "the proxy '%s' can't be reached from its sandbox: %s",
			   json_str(p->spec, "name", ""), err->text);
	else
		p->server = http_server_on(p->all->s->loop, fd, BODY_MAX, &server_ops, p);
}

void proxies_attach(struct proxies *all, struct box *b, struct net *net)
{
	all->net = net;
	for (struct proxy *p = all->first; p; p = p->next)
		if (box_can(b, CAP_LISTEN))
			b->driver->listen(b, (uint16_t)json_int(p->spec, "port", 0),
					  proxy_on_listening, p);
		else
			super_warn(
				all->s, NULL,
				"backend '%s' can't give a sandbox with isolation level %s a proxy",
				b->driver->name, b->profile);
}

int proxies_here(struct super *s, json_t *spec, struct err *err)
{
	const json_t *r;
	size_t i;
	json_array_foreach(json_object_get(spec, "routes"), i, r) if (
		!proxy_is_model(r)) return err_set(err, ERR_SCRIPT,
						   "proxy: expected the host of a model, got '%s'",
						   json_str(r, "name", ""));
	if (proxy_session_of(s)->here)
		return err_set(err, ERR_SCRIPT, "proxy: this session already has its host proxy");
	CLEANUP(json_release) json_t *specs = json_array();
	json_array_append(specs, spec);
	struct proxies *all = proxies_new(s, 0, specs);
	if (http_server_new(&all->first->server, s->loop, "127.0.0.1", 0, BODY_MAX, &server_ops,
			    all->first, err) < 0) {
		proxies_free(&all);
		return -1;
	}
	proxy_session_of(s)->here = all;
	json_put_int(spec, "port", http_server_port(all->first->server));
	return 0;
}

void proxies_here_free(struct super *s)
{
	proxies_free(&proxy_session_of(s)->here);
}

void proxies_free(struct proxies **pp)
{
	struct proxies *all = *pp;
	*pp = NULL;
	if (!all)
		return;
	all->dead = true;
	net_disallow(all->s, &all->rules);
	while (all->flows) {
		struct flow *f = all->flows;
		if (f->plain)
			plain_drop(f);
		else
			model_drop(f);
	}
	for (struct proxy *p = all->first; p; p = p->next) {
		tools_free(p);
		http_server_free(&p->server);
	}
	while (all->first) {
		struct proxy *p = all->first;
		all->first = p->next;
		flood_free(&p->incidents);
		json_decref(p->spec);
		json_decref(p->looks);
		free(p);
	}
	free(all);
}

uint64_t proxies_caller(const struct proxies *p, const json_t *argv, const char **how_out)
{
	return p ? tools_caller(p, argv, how_out) : 0;
}

uint64_t proxies_allowed(const struct proxies *all, uint64_t agent, enum action_kind kind,
			 const char *id, const char *what)
{
	for (const struct proxy *p = all ? all->first : NULL; p; p = p->next) {
		uint64_t action =
			p->agent == agent && p->gate ? tools_allowed(p, kind, id, what) : 0;
		if (action)
			return action;
	}
	return 0;
}

void proxies_usage(const struct proxies *all, const char *key, json_t *sum)
{
	for (const struct proxy *p = all ? all->first : NULL; p; p = p->next)
		if (!strcmp(p->key, key)) {
			json_put_int(sum, "calls", json_int(sum, "calls", 0) + p->calls);
			json_put_int(sum, "in", json_int(sum, "in", 0) + p->in);
			json_put_int(sum, "out", json_int(sum, "out", 0) + p->out);
			json_put_int(sum, "uusd", json_int(sum, "uusd", 0) + p->uusd);
			json_put_int(sum, "refused", json_int(sum, "refused", 0) + p->refused);
		}
}
