#include "ops/mcp_hub.h"

#include <stdlib.h>
#include <string.h>

#include "supervisor/core/call.h"
#include "supervisor/core/parts.h"
#include "mcp/conn.h"
#include "mcp/known.h"
#include "record/record_event.h"
#include "secrets/vault.h"
#include "ops/mcp_hub_priv.h"

static void start_open(void *self, struct action *a);
static void mcp_hub_cancel_open(void *self, struct action *a, const char *how);

static struct mcp_hub *mcp_hub_of(const struct super *s)
{
	static const struct super_part part = { sizeof(struct mcp_hub), NULL };
	return super_part(s, &part);
}

struct mcp_hub *hub_of(struct super *s)
{
	struct mcp_hub *h = mcp_hub_of(s);
	if (!h->super) {
		h->super = s;
		h->open = (struct effector){
			.name = "mcp", .start = start_open, .cancel = mcp_hub_cancel_open, .self = h
		};
		h->call = (struct effector){
			.name = "mcp", .start = start_call, .cancel = cancel_call, .self = h
		};
	}
	return h;
}

static void mcp_hub_close_late(void *self)
{
	struct mcp_hub *h = mcp_hub_of(self);
	h->deferred = false;
	while (h->nr_late)
		mcp_conn_close(&h->late[--h->nr_late]);
}

/* Its connection may be what called us: it goes at the end of the turn. */
static void drop_conn(struct server *v)
{
	struct mcp_hub *h = v->hub;
	if (!v->conn)
		return;
	GROW(h->late, h->nr_late, h->cap_late);
	h->late[h->nr_late++] = v->conn;
	v->conn = NULL;
	if (!h->deferred)
		loop_defer(h->super->loop, mcp_hub_close_late, h->super);
	h->deferred = true;
}

void mcp_hub_die(struct server *v)
{
	if (!v->dead)
		v->hub->nr--;
	v->dead = true;
}

void server_free(struct server *v)
{
	mcp_hub_die(v);
	for (struct server **at = &v->hub->servers; *at; at = &(*at)->next)
		if (*at == v) {
			*at = v->next;
			break;
		}
	drop_conn(v);
	loop_timer_free(&v->timer);
	buf_release(&v->out);
	free(v->name);
	free(v->why);
	free(v);
}

void mcp_hub_free(struct super *s)
{
	struct mcp_hub *h = mcp_hub_of(s);
	while (h->calls) {
		struct tool_call *t = h->calls;
		h->calls = t->next;
		free(t);
	}
	while (h->servers)
		server_free(h->servers);
	mcp_hub_close_late(s);
	http_free(&h->http);
	free(h->late);
	*h = (struct mcp_hub){ 0 };
}

struct server *server_of(struct mcp_hub *h, uint64_t id)
{
	for (struct server *v = h->servers; v; v = v->next)
		if (v->id == id)
			return v;
	return NULL;
}

/* --- a server as a script sees it ------------------------------------------------------------- */

static json_t *tools_for_script(const json_t *listed)
{
	json_t *list = json_array();
	size_t i;
	const json_t *t;
	json_array_foreach(listed, i, t)
	{
		json_t *o = json_object();
		const json_t *hints = json_object_get(t, "annotations");
		json_put_str(o, "name", json_str(t, "name", ""));
		json_put_str(o, "title", json_str(t, "title", NULL));
		json_put_str(o, "about", json_str(t, "description", ""));
		json_put(o, "schema", json_incref(json_object_get(t, "inputSchema")));
		json_put_flag(o, "reads", json_flag(hints, "readOnlyHint", false));
		json_array_append_new(list, o);
	}
	return list;
}

static json_t *opened_value(const struct server *v)
{
	struct mcp_client *c = mcp_conn_client(v->conn);
	json_t *o = json_object();
	json_put_int(o, "server", (int64_t)v->id);
	json_put_str(o, "name", v->name);
	json_put_str(o, "where", v->box ? "box" : "host");
	json_put_str(o, "era", mcp_client_version(c));
	json_put(o, "info", json_incref((json_t *)(uintptr_t)mcp_client_info(c)));
	json_put_str(o, "instructions", mcp_client_instructions(c));
	json_put(o, "tools", tools_for_script(mcp_client_tools(c)));
	if (mcp_client_has_resources(c))
		json_put_flag(o, "resources", true);
	return o;
}

/* --- opening ---------------------------------------------------------------------------------- */

void mcp_hub_on_ready(void *self, const struct err *err)
{
	struct server *v = self;
	struct action *a = v->opening;
	struct call *c = v->call;
	v->opening = NULL;
	v->call = NULL;
	if (err) {
		if (c)
			call_fail(c, "backend", NULL, NULL, v->box_action, "MCP server '%s': %s",
				  v->name, err->text);
		if (a) {
			struct err why = *err;
			err_wrap(&why, "MCP server '%s'", v->name);
			action_set_tag(a, NULL);
			action_fail(a, &why);
		}
		if (v->box_action)
			gate_cancel(v->hub->super->gate, v->box_action, "cancel",
				    "the MCP server can't be used");
		else
			server_free(v);
		return;
	}
	if (c)
		call_answer(c, opened_value(v));
	if (a) {
		json_t *body = json_object();
		json_put(body, "result", opened_value(v));
		action_set_tag(a, NULL);
		action_ended(a, END_OK, body);
	}
}

static void mcp_hub_on_gone(void *self, const struct err *why)
{
	struct server *v = self;
	mcp_hub_die(v);
	free(v->why);
	v->why = mem_strdup(why->text);
	super_warn(v->hub->super, "the next call starts it again", "MCP server '%s' has ended: %s",
		   v->name, why->text);
	drop_conn(v);
}

static void mcp_hub_on_changed(void *self)
{
	struct server *v = self;
	CLEANUP(free_ptr)
	char *text = mem_printf("MCP server '%s' has another list of tools now", v->name);
	v->changed++;
	record_ev_note(v->hub->super->record, &(struct event){ .cause = v->hub->super->start_seq },
		       &(struct ev_note){ .level = ev_text_of("note"), .text = ev_text_of(text) });
}

/* A server's log output goes to the action that waits for it, first to the one that opens it. */
static void mcp_hub_on_log(void *self, const char *bytes, size_t len)
{
	struct server *v = self;
	struct action *a = v->opening;
	for (struct tool_call *t = v->hub->calls; t && !a; t = t->next)
		if (t->server == v)
			a = t->action;
	if (a && !action_flooded(a))
		action_output(a, STREAM_ERR, bytes, len);
}

const struct mcp_conn_ops mcp_hub_conn_ops = { .ready = mcp_hub_on_ready,
					       .gone = mcp_hub_on_gone,
					       .changed = mcp_hub_on_changed,
					       .log = mcp_hub_on_log };

/* "text", or {"$secret":NAME,"prefix"} with its value. */
static void mcp_hub_put_value(const struct super *s, struct buf *out, const json_t *v)
{
	const char *name = json_str(v, "$secret", NULL);
	CLEANUP(buf_release) struct buf plain = BUF_INIT;
	size_t len = 0;
	const char *value = name ? vault_value(s->vault, name, &len) : NULL;
	if (value) {
		buf_puts(out, json_str(v, "prefix", ""));
		buf_append(out, value, len);
	} else if (json_get_bytes(v, &plain)) {
		buf_append(out, plain.data, plain.len);
	}
}

static void mcp_hub_put_pairs(const struct super *s, struct strv *out, const json_t *pairs,
			      const char *between)
{
	const char *key;
	json_t *v;
	json_object_foreach((json_t *)(uintptr_t)pairs, key, v)
	{
		struct buf b = BUF_INIT;
		buf_printf(&b, "%s%s", key, between);
		mcp_hub_put_value(s, &b, v);
		strv_push_bytes(out, buf_cstr(&b), b.len);
		explicit_bzero(b.data, b.len);
		buf_release(&b);
	}
}

struct server *server_new(struct mcp_hub *h, const char *name)
{
	struct server *v = NEW(struct server);
	*v = (struct server){ .next = h->servers, .hub = h, .name = mem_strdup(name) };
	h->servers = v;
	h->nr++;
	return v;
}

static void start_open(void *self, struct action *a)
{
	struct mcp_hub *h = self;
	const struct action_spec *spec = action_spec(a);
	struct strv env = STRV_INIT, headers = STRV_INIT;
	struct err err = ERR_INIT;
	const char *url = json_str(spec->args, "url", NULL);
	struct server *v = server_new(h, json_str(spec->args, "name", "server"));
	mcp_hub_put_pairs(h->super, &env, json_object_get(spec->args, "env"), "=");
	mcp_env(&env);
	mcp_hub_put_pairs(h->super, &headers, json_object_get(spec->args, "headers"), ": ");
	int rc = url && !h->http ? http_new(&h->http, h->super->loop, NULL, &err) : 0;
	const struct mcp_conn_spec how = {
		.argv = url ? NULL : &spec->argv,
		.env = &env,
		.cwd = json_str(spec->args, "cwd", NULL),
		.url = url,
		.headers = &headers,
		.http = h->http,
		.open_us = spec->timeout_us,
	};
	v->id = action_id(a);
	v->opening = a;
	action_set_tag(a, v);
	if (rc == 0)
		rc = mcp_conn_open(&v->conn, h->super->loop, &how, &mcp_hub_conn_ops, v, &err);
	for (size_t i = 0; i < env.nr; i++)
		explicit_bzero(env.item[i], strlen(env.item[i]));
	for (size_t i = 0; i < headers.nr; i++)
		explicit_bzero(headers.item[i], strlen(headers.item[i]));
	strv_release(&env);
	strv_release(&headers);
	if (rc < 0) {
		action_set_tag(a, NULL);
		server_free(v);
		action_fail(a, &err);
	}
}

enum action_end end_for(const char *how)
{
	return !strcmp(how, "kill") ? END_KILLED : END_CANCELLED;
}

static void mcp_hub_cancel_open(void *self, struct action *a, const char *how)
{
	struct server *v = action_tag(a);
	(void)self;
	if (!v)
		return;
	action_set_tag(a, NULL);
	server_free(v);
	action_ended(a, end_for(how), NULL);
}

static void open_done(struct call *c, const struct action_result *res)
{
	if (res->end == END_FAILED) {
		const char *why = res->why ? res->why : json_str(res->body, "why", "failed");
		call_fail(c, "backend", NULL, NULL, res->id, "%s", why);
		return;
	}
	call_answer_stored(c, res);
}

/* --- ops -------------------------------------------------------------------------------------- */

void op_mcp_find(struct call *c)
{
	struct err err = ERR_INIT;
	json_t *server = mcp_known_find(json_str(c->args, "name", ""), &err);
	if (server)
		call_answer(c, server);
	else
		call_fail_err(c, &err);
}

void op_mcp_open(struct call *c)
{
	struct mcp_hub *h = hub_of(c->super);
	const char *name = json_str(c->args, "name", ""), *url = json_str(c->args, "url", NULL);
	struct strv argv = STRV_INIT;
	bool in_box = !strcmp(json_str(c->args, "where", "host"), "box");
	json_get_argv(json_object_get(c->args, "command"), &argv);
	if (!mcp_name_ok(name) || (argv.nr > 0) == (url != NULL) || (in_box && url)) {
		call_fail(
			c, "script", NULL, NULL, 0,
			"an MCP server needs a name, and either a command or, on the host, a url");
	} else if (h->nr >= SERVERS_MAX) {
		call_fail(c, "limit", NULL, NULL, 0, "%d MCP servers are open already",
			  SERVERS_MAX);
	} else if (in_box && c->secrets.nr) {
		call_fail(c, "script", NULL, NULL, 0,
			  "a server in a sandbox can't have secrets; run it with where = \"host\"");
	} else if (in_box) {
		open_in_box(c, &argv);
	} else {
		CLEANUP(free_ptr) char *tool = mem_printf("mcp:%s", name);
		struct action_spec spec = { .kind = ACT_MCP,
					    .leaves_box = true,
					    .parallel = true,
					    .args = c->args,
					    .argv = argv,
					    .timeout_us = json_int(c->args, "timeout_us", 0) };
		c->tool = tool;
		call_action(c, &spec, &h->open, open_done);
		c->tool = NULL;
	}
	strv_release(&argv);
}

void op_mcp_tools(struct call *c)
{
	const struct server *v =
		server_of(hub_of(c->super), (uint64_t)json_int(c->args, "server", 0));
	if (!v || v->dead || !v->conn) {
		call_fail(c, "backend", NULL, NULL, 0, "the MCP server has ended or doesn't exist");
		return;
	}
	json_t *o = json_object();
	json_put(o, "tools", tools_for_script(mcp_client_tools(mcp_conn_client(v->conn))));
	json_put_int(o, "changed", (int64_t)v->changed);
	call_answer(c, o);
}

void op_mcp_close(struct call *c)
{
	struct server *v = server_of(hub_of(c->super), (uint64_t)json_int(c->args, "server", 0));
	if (v) {
		struct err err = ERR_INIT;
		err_set(&err, ERR_CANCELLED, "MCP server '%s' was closed", v->name);
		mcp_hub_die(v);
		v->closed = true;
		if (v->conn)
			mcp_client_lost(mcp_conn_client(v->conn), &err); /* its open calls end */
		if (v->box_action && !v->over)
			gate_cancel(c->super->gate, v->box_action, "cancel",
				    "closed by the script");
		drop_conn(v);
		if (!v->box_action || v->over)
			server_free(v);
	}
	call_answer(c, NULL);
}
