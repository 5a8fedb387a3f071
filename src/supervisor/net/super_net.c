#include "supervisor/net/super_net.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "proxy/egress.h"
#include "wire/machine.h"
#include "wire/tool.h"

enum { PROXY_PORT = TOOL_PROXY_PORT };

struct net {
	struct super *s;
	uint64_t box;
	struct egress *egress;
	struct strv allow;
	const struct policy *rules;
	struct effector effector;
	struct conn *conns;
	bool dead; /* freed while connections are open: the last one cleans up */
};

/* One connection: an action from the question to its end. */
struct conn {
	struct conn *next;
	struct net *net;
	uint64_t ticket, action;
	char *host; /* owned */
	uint16_t port;
	bool listed;	 /* on the sandbox's list */
	uint64_t within; /* the command that made it; 0: unknown */
	struct action *running;
	struct buf sent; /* its last bytes, if they could be the beginning of a honeytoken */
};

/* Is the variable of this "NAME=value" set in @env? NULL if not, else its whole text. */
static const char *env_entry(const struct strv *env, const char *entry)
{
	size_t name = strcspn(entry, "=") + 1;
	const char *found = NULL;
	for (size_t i = 0; i < env->nr; i++)
		if (!strncmp(env->item[i], entry, name))
			found = env->item[i];
	return found;
}

/* Java reads no proxy variable, but every JVM reads this one; options that the script's author gave
 * stay. */
static void java_env(struct strv *env)
{
	const char *own = env_entry(env, "JAVA_TOOL_OPTIONS=");
	CLEANUP(free_ptr)
	char *v = mem_printf(
		"%s -Dhttp.proxyHost=127.0.0.1 -Dhttp.proxyPort=%d -Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort=%d",
		own ? own : "JAVA_TOOL_OPTIONS=", PROXY_PORT, PROXY_PORT);
	if (!own) /* no blank in front */
		memmove(v + strlen("JAVA_TOOL_OPTIONS="), v + strlen("JAVA_TOOL_OPTIONS= "),
			strlen(v + strlen("JAVA_TOOL_OPTIONS= ")) + 1);
	strv_push(env, v);
}

void net_env(struct strv *env)
{
	static const char *const name
		[] = { "HTTP_PROXY",	  "HTTPS_PROXY",     "http_proxy",
		       "https_proxy",	  "ALL_PROXY",	     "all_proxy",
		       "YARN_HTTP_PROXY", "YARN_HTTPS_PROXY" /* yarn 2 and later read no other */ };
	static const char *const fixed[] = {
		"NO_PROXY=localhost,127.0.0.1,::1", "no_proxy=localhost,127.0.0.1,::1",
		"NODE_USE_ENV_PROXY=1", /* else fetch and http of node read none of the above */
		/* ssh reads no proxy variable. The second place is that of a container. */
		"GIT_SSH_COMMAND=ssh -o 'ProxyCommand=sh -c \"for g in " MACHINE_TOOL
		" /.sandglass/guest; do [ ! -x \\$g ] || exec \\$g " TOOL_OPTION
		" connect %h %p; done\"'"
	};
	for (size_t i = 0; i < ARRAY_LEN(name); i++) {
		CLEANUP(free_ptr)
		char *v = mem_printf("%s=http://127.0.0.1:%d", name[i], PROXY_PORT);
		if (!env_entry(env, v))
			strv_push(env, v);
	}
	for (size_t i = 0; i < ARRAY_LEN(fixed); i++)
		if (!env_entry(env, fixed[i]))
			strv_push(env, fixed[i]);
	java_env(env);
}

static void super_net_conn_free(struct conn *c)
{
	struct net *n = c->net;
	for (struct conn **p = &n->conns; *p; p = &(*p)->next)
		if (*p == c) {
			*p = c->next;
			break;
		}
	buf_release(&c->sent);
	free(c->host);
	free(c);
	if (n->dead && !n->conns) {
		strv_release(&n->allow);
		free(n);
	}
}

/* --- the effector: an allowed connection is let through and runs until it ends --- */

static struct conn *conn_of(struct net *n, uint64_t action)
{
	for (struct conn *c = n->conns; c; c = c->next)
		if (c->action == action)
			return c;
	return NULL;
}

static void super_net_start(void *self, struct action *a)
{
	struct net *n = self;
	struct conn *c = conn_of(n, action_id(a));
	if (!c || !n->egress) {
		action_ended(a, END_INTERRUPTED, NULL);
		return;
	}
	c->running = a;
	egress_answer(n->egress, c->ticket, true, NULL);
}

static void super_net_cancel(void *self, struct action *a, const char *how)
{
	struct net *n = self;
	struct conn *c = conn_of(n, action_id(a));
	(void)how;
	if (c)
		c->running = NULL; /* what egress says about it later concerns nobody */
	action_ended(a, END_CANCELLED, NULL);
}

static void net_tell_denied(const struct conn *c, const char *why)
{
	CLEANUP(free_ptr)
	char *text = c->listed ? mem_strdup(why)
			       : mem_printf("the host is not on the sandbox's list (%s)", why);
	boxes_refused(c->net->s->boxes, c->net->box, c->within, c->host, c->port, text);
}

static void super_net_done(void *self, const struct action_result *res)
{
	struct conn *c = self;
	struct net *n = c->net;
	if (res->end != END_OK && n->egress) {
		CLEANUP(free_ptr)
		char *how = mem_printf("%s%s%s", action_end_name(res->end),
				       res->rule ? " by rule " : "", res->rule ? res->rule : "");
		const char *why = res->why ? res->why : how;
		if (res->end == END_DENIED || res->end == END_FAILED)
			net_tell_denied(c, why);
		egress_answer(n->egress, c->ticket, false, why);
	}
	super_net_conn_free(c);
}

/* The owner of a connection. If one command ran, without processes left by another: this
 * command. If several of one agent ran: that agent. Otherwise the event lists the running
 * commands. */
static void super_net_whose(const struct net *n, struct action_spec *spec, json_t *args)
{
	CLEANUP(free_ptr) struct action **ran = NULL;
	size_t nr = gate_box_commands(n->s->gate, n->box, &ran);
	bool left = boxes_left(n->s->boxes, n->box) > 0, one_agent = nr > 0 && !left;
	json_t *by = json_array();
	for (size_t i = 0; i < nr; i++) {
		const struct action_spec *s = action_spec(ran[i]);
		one_agent &= s->agent == action_spec(ran[0])->agent && !s->person;
		json_array_append_new(by, json_integer((json_int_t)action_id(ran[i])));
	}
	if (one_agent) {
		spec->within = action_id(ran[nr - 1]);
		spec->agent = action_spec(ran[nr - 1])->agent;
		spec->cause = spec->within;
	}
	if (nr > 1 || (nr && !spec->within))
		json_put(args, "by", json_incref(by));
	if (left)
		json_put_flag(args, "left", true);
	json_decref(by);
}

static void super_net_on_ask(void *self, uint64_t ticket, const struct egress_want *w)
{
	struct net *n = self;
	struct conn *c = NEW(struct conn);
	CLEANUP(json_release) json_t *args = json_object();
	c->net = n;
	c->ticket = ticket;
	c->host = mem_strdup(w->host);
	c->port = w->port;
	c->listed = w->listed;
	c->next = n->conns;
	n->conns = c;
	json_put_str(args, "method", w->method);
	json_put_str(args, "path", w->path);
	json_put_flag(args, "listed", w->listed);
	struct action_spec spec = {
		.kind = ACT_CONNECT,
		.cause = n->box,
		.box = n->box,
		.tool = "connect",
		.host = w->host,
		.port = w->port,
		.args = args,
		.leaves_box = true,
		.parallel = true,
	};
	const struct action_client client = { .done = super_net_done, .self = c };
	super_net_whose(n, &spec, args);
	c->within = spec.within;
	c->action = gate_submit(n->s->gate, &spec, &n->effector, &client);
	if (w->fields)
		record_look(n->s->record, c->action, &c->sent, w->fields, w->fields_len);
}

static void on_sends(void *self, uint64_t ticket, const void *bytes, size_t len)
{
	struct net *n = self;
	for (struct conn *c = n->conns; c; c = c->next)
		if (c->ticket == ticket)
			record_look(n->s->record, c->action, &c->sent, bytes, len);
}

/* NULL: it ended as the client or the server wanted. */
static const char *cut_words(const char *why)
{
	static const struct {
		const char *why, *words;
	} of[] = { { "lookup", "the host name was not found" },
		   { "address", "the name leads to an address of this host or its network" },
		   { "connect", "the server can't be reached" },
		   { "sni", "the TLS handshake names another host" },
		   { "idle", "no byte for 15 minutes" },
		   { "bytes", "more bytes than a connection may carry" },
		   { "port", "the port is allowed only if the list names it: HOST:PORT" },
		   { "full", "too many connections at once" } };
	for (size_t i = 0; i < ARRAY_LEN(of); i++)
		if (!strcmp(of[i].why, why))
			return of[i].words;
	return NULL;
}

static void super_net_on_ended(void *self, uint64_t ticket, const struct egress_end *e)
{
	struct net *n = self;
	if (!ticket && e->host && cut_words(e->why)) /* refused before the policy check */
		boxes_refused(n->s->boxes, n->box, 0, e->host, e->port, cut_words(e->why));
	for (struct conn *c = n->conns; c; c = c->next) {
		if (c->ticket != ticket)
			continue;
		if (!c->running) { /* the box gave up before anybody had decided */
			gate_cancel(n->s->gate, c->action, "cancel", "the connection was given up");
			return;
		}
		json_t *body = json_object();
		json_put_str(body, "address", e->address);
		json_put_str(body, "how", e->why);
		json_put_flag(body, "connected", e->connected);
		json_put_int(body, "up_bytes", (int64_t)e->up_bytes);
		json_put_int(body, "down_bytes", (int64_t)e->down_bytes);
		if (cut_words(e->why))
			boxes_refused(n->s->boxes, n->box, c->within, c->host, c->port,
				      cut_words(e->why));
		struct action *a = c->running;
		c->running = NULL;
		action_ended(a, END_OK, body);
		return;
	}
}

static const struct egress_ops egress_ops = { .ask = super_net_on_ask,
					      .sends = on_sends,
					      .ended = super_net_on_ended };

/* The list is the script author's word: a rule that allows, which every stricter rule of a policy
 * file still beats. */
const struct policy *net_allow(struct super *s, const char *file, uint64_t box, const json_t *allow)
{
	struct policy *p = NULL;
	struct err err = ERR_INIT;
	CLEANUP(json_release) json_t *doc = json_object();
	json_t *rules = json_array(), *rule = json_object();
	json_put_str(doc, "file", file);
	json_put_str(rule, "name", "net");
	json_put_str(rule, "verdict", "allow");
	json_put_int(rule, "line", 1);
	json_put_str(rule, "kind", "connect");
	json_put(rule, "host", json_incref((json_t *)(uintptr_t)allow));
	json_put_int(rule, "box_id", (int64_t)box);
	json_array_append_new(rules, rule);
	json_put(doc, "rules", rules);
	if (policy_from_json(&p, doc, &err) < 0)
		super_warn(s, NULL, "the host list of sandbox '%s' can't be used: %s",
			   boxes_name(s->boxes, box), err.text);
	else
		gate_add_policy(s->gate, p);
	return p;
}

void net_disallow(struct super *s, const struct policy **rules)
{
	if (*rules)
		gate_retire_policy(s->gate, *rules);
	*rules = NULL;
}

struct net *net_new(struct super *s, uint64_t box, const char *const *host, size_t nr)
{
	struct net *n = NEW(struct net);
	CLEANUP(json_release) json_t *allow = json_array();
	n->s = s;
	n->box = box;
	n->effector = (struct effector){
		.name = "connect", .start = super_net_start, .cancel = super_net_cancel, .self = n
	};
	for (size_t i = 0; i < nr; i++) {
		strv_push(&n->allow, host[i]);
		json_array_append_new(allow, json_bytes_z(host[i]));
	}
	n->rules = net_allow(s, "(sandbox option net)", box, allow);
	return n;
}

static void super_net_on_listening(void *self, json_t *result, const struct err *err)
{
	struct net *n = self;
	int fd = result ? (int)json_int(result, "fd", -1) : -1;
	if (n->dead) {
		fd_close(&fd);
		return;
	}
	if (err) {
		super_warn(n->s, NULL, "sandbox '%s' has no network: %s",
			   boxes_name(n->s->boxes, n->box), err->text);
		return;
	}
	struct egress_opts o = {
		.allow = (const char *const *)n->allow.item,
		.nr_allow = n->allow.nr,
		.http = true,
		/* tests: servers of their own on the host */
		.local = getenv("SANDGLASS_EGRESS_LOCAL") != NULL,
	};
	n->egress = egress_new(n->s->loop, fd, &o, &egress_ops, n);
}

void net_attach(struct net *n, struct box *b)
{
	if (box_can(b, CAP_LISTEN))
		b->driver->listen(b, PROXY_PORT, super_net_on_listening, n);
	else
		super_warn(
			n->s, NULL,
			"backend '%s' can't give a sandbox with isolation level %s network through the proxy",
			b->driver->name, b->profile);
}

void net_connect(struct net *n, int fd, const char *target)
{
	if (n->egress)
		egress_take(n->egress, fd, target);
	else
		close(fd); /* the sandbox isn't open yet */
}

void net_free(struct net **np)
{
	struct net *n = *np;
	*np = NULL;
	if (!n)
		return;
	net_disallow(n->s, &n->rules);
	if (n->egress)
		egress_free(&n->egress);
	n->dead = true;
	struct conn *next;
	for (struct conn *c = n->conns; c; c = next) {
		next = c->next;
		struct action *a = c->running;
		c->running = NULL;
		if (a)
			action_ended(a, END_INTERRUPTED, NULL);
	}
	if (!n->conns) {
		strv_release(&n->allow);
		free(n);
	}
}
