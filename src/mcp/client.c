#include "mcp/client_priv.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "mcp/said.h"
#include "base/mem.h"

struct mcp_client *mcp_client_new(struct loop *l, const struct mcp_client_ops *ops, void *self,
				  int64_t open_us)
{
	struct mcp_client *c = NEW(struct mcp_client);
	*c = (struct mcp_client){
		.loop = l, .ops = ops, .self = self, .open_us = open_us, .tools = json_array()
	};
	return c;
}

void mcp_client_asked_free(struct asked *a)
{
	loop_timer_free(&a->timer);
	mcp_task_free(&a->task);
	json_decref(a->args);
	free(a->name);
	free(a);
}

static struct asked *unlink_asked(struct mcp_client *c, size_t i)
{
	struct asked *a = c->open[i];
	c->open[i] = c->open[--c->nr_open];
	return a;
}

void mcp_client_free(struct mcp_client **cp)
{
	struct mcp_client *c = *cp;
	*cp = NULL;
	if (!c)
		return;
	while (c->nr_open)
		mcp_client_asked_free(unlink_asked(c, c->nr_open - 1));
	loop_timer_free(&c->limit);
	json_decref(c->tools);
	json_decref(c->listing);
	json_decref(c->info);
	free(c->version);
	free(c->instructions);
	free(c->open);
	free(c);
}

void mcp_client_say(struct mcp_client *c, const char *text)
{
	if (c->ops->log)
		c->ops->log(c->self, text);
}

/* --- out -------------------------------------------------------------------------------------- */

json_t *client_info(void)
{
	json_t *o = json_object();
	json_put_str(o, "name", "sandglass");
	json_put_str(o, "version", SANDGLASS_VERSION);
	return o;
}

/* Calls may become tasks. */
static json_t *client_abilities(void)
{
	json_t *o = json_object(), *extensions = json_object();
	json_put(extensions, MCP_META "tasks", json_object());
	json_put(o, "extensions", extensions);
	return o;
}

static json_t *meta_of(const struct mcp_client *c, json_t *token)
{
	json_t *m = json_object();
	if (c->modern) {
		json_put_str(m, MCP_META "protocolVersion", MCP_MODERN);
		json_put(m, MCP_META "clientInfo", client_info());
		json_put(m, MCP_META "clientCapabilities", client_abilities());
	}
	json_put(m, "progressToken", token);
	return m;
}

static const char *mcp_client_method_of(enum mcp_what w)
{
	static const char *const name[] = {
		[ASK_DISCOVER] = "server/discover",
		[ASK_INITIALIZE] = "initialize",
		[ASK_LIST] = "tools/list",
		[ASK_CALL] = "tools/call",
		[ASK_PING] = "ping",
		[ASK_LISTEN] = "subscriptions/listen",
		[ASK_READ] = "resources/read",
		[ASK_TASK] = "tasks/get",
		[ASK_TASK_INPUT] = "tasks/update",
		[ASK_TASK_STOP] = "tasks/cancel",
	};
	return name[w];
}

void send_note(struct mcp_client *c, const char *method, json_t *params)
{
	json_t *msg = rpc_note(method, params);
	const struct mcp_send m = {
		.msg = msg, .method = method, .version = c->version, .modern = c->modern
	};
	c->ops->send(c->self, &m);
	json_decref(msg);
}

static void end_asked(struct mcp_client *c, struct asked *a, const json_t *result,
		      const struct err *err);

static struct asked *mcp_client_find(struct mcp_client *c, uint64_t id, size_t *at)
{
	for (size_t i = 0; id && i < c->nr_open; i++) /* 0: a task that waits has no request */
		if (c->open[i]->id == id) {
			*at = i;
			return c->open[i];
		}
	return NULL;
}

static void tell_cancelled(struct mcp_client *c, const struct asked *a, const char *why)
{
	if (a->task)
		mcp_task_stop(c, a);
	if (a->what == ASK_CALL || a->what == ASK_READ) {
		json_t *p = json_object();
		json_put_int(p, "requestId", (int64_t)a->id);
		json_put_str(p, "reason", why);
		send_note(c, "notifications/cancelled", p);
	}
	if (c->ops->drop && a->id)
		c->ops->drop(c->self, a->id);
}

static void mcp_client_on_late(void *self)
{
	struct asked *a = self;
	struct mcp_client *c = a->client;
	struct err err = ERR_INIT;
	size_t i;
	for (i = 0; i < c->nr_open && c->open[i] != a; i++)
		;
	if (i == c->nr_open)
		return;
	unlink_asked(c, i);
	tell_cancelled(c, a, "time is up");
	if (a->task)
		mcp_task_late(a, &err);
	else
		err_set(&err, ERR_TIMEOUT, "the server didn't answer %s within %" PRId64 " ms",
			mcp_client_method_of(a->what), a->timeout_ms);
	end_asked(c, a, NULL, &err);
}

struct asked *new_asked(struct mcp_client *c, enum mcp_what w, int64_t timeout_ms)
{
	struct asked *a = NEW(struct asked);
	*a = (struct asked){ .client = c, .what = w, .timeout_ms = timeout_ms };
	return a;
}

void mcp_client_ask(struct mcp_client *c, struct asked *a, json_t *params)
{
	const char *method = mcp_client_method_of(a->what);
	a->id = ++c->next;
	if (!a->call)
		a->call = a->id;
	GROW(c->open, c->nr_open, c->cap_open);
	c->open[c->nr_open++] = a;
	json_t *token = a->what == ASK_CALL ? json_integer((json_int_t)a->id) : NULL;
	if (c->modern || token)
		json_put(params, "_meta", meta_of(c, token));
	if (a->timeout_ms > 0) {
		if (!a->timer)
			a->timer = loop_timer_new(c->loop, mcp_client_on_late, a);
		loop_timer_set(a->timer, (uint64_t)a->timeout_ms, 0);
	}
	json_t *id = json_integer((json_int_t)a->id), *msg = rpc_request(id, method, params);
	const struct mcp_send m = { .msg = msg,
				    .id = a->id,
				    .method = method,
				    .name = a->name,
				    .version = c->version,
				    .tool = mcp_tool_named(c->tools, a->name),
				    .args = a->args,
				    .modern = c->modern };
	json_decref(id);
	c->ops->send(c->self, &m);
	json_decref(msg);
}

void mcp_client_keep(struct mcp_client *c, struct asked *a)
{
	a->id = 0;
	GROW(c->open, c->nr_open, c->cap_open);
	c->open[c->nr_open++] = a;
}

void mcp_client_unkeep(struct mcp_client *c, struct asked *a)
{
	for (size_t i = 0; i < c->nr_open; i++)
		if (c->open[i] == a) {
			unlink_asked(c, i);
			return;
		}
}

void mcp_client_send_only(struct mcp_client *c, enum mcp_what w, const char *name, json_t *params)
{
	struct asked *a = new_asked(c, w, PROBE_MS);
	a->name = mem_strdup(name);
	mcp_client_ask(c, a, params);
}

struct loop *mcp_client_loop(const struct mcp_client *c)
{
	return c->loop;
}

/* --- answers ---------------------------------------------------------------------------------- */

static void end_asked(struct mcp_client *c, struct asked *a, const json_t *result,
		      const struct err *err)
{
	enum mcp_what w = a->what;
	if (w == ASK_CALL || w == ASK_PING || w == ASK_READ) {
		mcp_client_call_done(c, a, result, err);
		return;
	}
	if (w == ASK_TASK || w == ASK_TASK_INPUT) {
		mcp_task_answer(c, a, result, err);
		return;
	}
	mcp_client_asked_free(a);
	if (c->dead)
		return;
	if (w == ASK_DISCOVER)
		result ? mcp_client_discovered(c, result) : mcp_client_initialize(c);
	else if (w == ASK_INITIALIZE)
		result ? mcp_client_initialized(c, result)
		       : fail_open(c, err->code, "initialize", err->text);
	else if (w == ASK_LIST && result)
		mcp_client_listed(c, result);
	else if (w == ASK_LIST) {
		json_decref(c->listing);
		c->listing = NULL;
		if (c->ready)
			mcp_client_say(c, "the changed list of tools can't be read; the old one "
					  "stays");
		fail_open(c, err->code, "tools/list", err->text);
	} else if (w == ASK_LISTEN) {
		c->listening = false;
	}
}

static void mcp_client_answer(struct mcp_client *c, const struct rpc_msg *m)
{
	struct err err = ERR_INIT;
	size_t i = 0;
	struct asked *a = json_is_integer(m->id)
				  ? mcp_client_find(c, (uint64_t)json_integer_value(m->id), &i)
				  : NULL;
	if (!a) {
		c->strange++; /* late, twice, or made up */
		return;
	}
	unlink_asked(c, i);
	if (a->timer)
		loop_timer_stop(a->timer);
	if (m->kind == RPC_RESULT && json_is_object(m->result)) {
		end_asked(c, a, m->result, NULL);
		return;
	}
	if (m->kind == RPC_RESULT)
		err_set(&err, ERR_PARSE, "the server's answer to %s is not an object",
			mcp_client_method_of(a->what));
	else
		err_set(&err, ERR_INVALID, "%.300s (error %" PRId64 ")", m->message, m->code);
	if (a->what == ASK_DISCOVER &&
	    (m->code == RPC_VERSION || m->code == RPC_HEADERS || m->code == RPC_CAPABILITY)) {
		const json_t *versions = json_object_get(m->data, "supported");
		/* it says no and yes: once more */
		if (mcp_names_modern(versions) && !c->asked_twice) {
			c->asked_twice = true;
			mcp_client_asked_free(a);
			mcp_client_ask(c, new_asked(c, ASK_DISCOVER, PROBE_MS), json_object());
			return;
		}
		if (!mcp_names_older(versions)) {
			mcp_client_asked_free(a);
			fail_open(c, ERR_UNSUPPORTED, "server/discover", err.text);
			return;
		}
	}
	end_asked(c, a, NULL, &err);
}

/* Progress of a call sets its limit back: who reports lives. */
static void mcp_client_progress(struct mcp_client *c, const json_t *p)
{
	const json_t *token = json_object_get(p, "progressToken"),
		     *done = json_object_get(p, "progress"), *total = json_object_get(p, "total");
	uint64_t id = json_is_integer(token) ? (uint64_t)json_integer_value(token) : 0;
	struct asked *a = NULL;
	for (size_t i = 0; id && i < c->nr_open && !a; i++)
		if (c->open[i]->call == id || c->open[i]->id == id)
			a = c->open[i];
	if (!a || !json_is_number(done)) {
		c->strange++;
		return;
	}
	if (a->timer && !a->task) /* a task has a limit of its own */
		loop_timer_set(a->timer, (uint64_t)a->timeout_ms, 0);
	double n = json_number_value(done),
	       of = json_is_number(total) ? json_number_value(total) : 0;
	if (a->ops && a->ops->progress && n >= 0 && n < 1e15 && of >= 0 && of < 1e15)
		a->ops->progress(a->self, (int64_t)n, (int64_t)of, json_str(p, "message", ""));
}

static void mcp_client_request(struct mcp_client *c, const struct rpc_msg *m)
{
	json_t *msg = !strcmp(m->method, "ping") ? rpc_result(m->id, NULL)
						 : rpc_error(m->id, RPC_NO_METHOD, NULL,
							     "this client does not offer that");
	const struct mcp_send out = { .msg = msg, .version = c->version, .modern = c->modern };
	c->ops->send(c->self, &out);
	json_decref(msg);
}

void mcp_client_take(struct mcp_client *c, const char *text, size_t len)
{
	struct rpc_msg m;
	struct err err = ERR_INIT;
	int rc = rpc_parse(&m, text, len, &err);
	if (rc < 0) {
		if (c->strange++ < 3) {
			CLEANUP(free_ptr)
			char *line = mem_printf("a message of the server is invalid: %s", err.text);
			mcp_client_say(c, line);
		}
	} else if (m.kind == RPC_RESULT || m.kind == RPC_ERROR) {
		mcp_client_answer(c, &m);
	} else if (m.kind == RPC_REQUEST) {
		mcp_client_request(c, &m);
	} else if (!strcmp(m.method, "notifications/progress")) {
		mcp_client_progress(c, m.params);
	} else if (!strcmp(m.method, "notifications/tools/list_changed") && c->ready) {
		begin_list(c);
	}
	rpc_msg_release(&m);
}

void mcp_client_refused(struct mcp_client *c, uint64_t id, int status, const char *text)
{
	struct err err = ERR_INIT;
	size_t i = 0;
	struct asked *a = mcp_client_find(c, id, &i);
	if (!a)
		return;
	unlink_asked(c, i);
	if (status)
		err_set(&err,
			status == 401 || status == 403 ? ERR_DENIED
			: status == 404		       ? ERR_NOENT
						       : ERR_INVALID,
			"the server answered HTTP %d%s%.200s", status, *text ? ": " : "", text);
	else
		err_set(&err, ERR_CLOSED, "%.300s", text);
	if (a->task && (!status || status >= 500))
		err.code = ERR_BUSY; /* the task may live on */
	/* no question of eras */
	if (a->what == ASK_DISCOVER && (status == 401 || status == 403 || !status)) {
		mcp_client_asked_free(a);
		fail_open(c, err.code, "the server can't be used", err.text);
		return;
	}
	end_asked(c, a, NULL, &err);
}

void mcp_client_lost(struct mcp_client *c, const struct err *why)
{
	if (!c->ready && c->modern && !c->retried && c->ops->again && c->ops->again(c->self)) {
		c->retried = true;
		while (c->nr_open)
			mcp_client_asked_free(unlink_asked(c, c->nr_open - 1));
		mcp_client_initialize(c);
		return;
	}
	bool was_ready = c->ready;
	if (!was_ready)
		become_ready(c, why);
	c->dead = true;
	c->ready = false;
	while (c->nr_open)
		end_asked(c, unlink_asked(c, c->nr_open - 1), NULL, why);
}

/* --- for the owner --------------------------------------------------------------------------- */

void mcp_client_cancel(struct mcp_client *c, uint64_t call, const char *why)
{
	for (size_t i = 0; i < c->nr_open; i++)
		if (c->open[i]->call == call) {
			struct asked *a = unlink_asked(c, i);
			tell_cancelled(c, a, why);
			mcp_client_asked_free(a);
			return;
		}
}

bool mcp_client_is_ready(const struct mcp_client *c)
{
	return c->ready && !c->dead;
}

bool mcp_client_modern(const struct mcp_client *c)
{
	return c->modern;
}

bool mcp_client_has_resources(const struct mcp_client *c)
{
	return c->has_resources;
}

const char *mcp_client_version(const struct mcp_client *c)
{
	return c->version;
}

const json_t *mcp_client_tools(const struct mcp_client *c)
{
	return c->tools;
}

const json_t *mcp_client_info(const struct mcp_client *c)
{
	return c->info;
}

const char *mcp_client_instructions(const struct mcp_client *c)
{
	return c->instructions;
}
