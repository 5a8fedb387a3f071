#include "mcp/client_priv.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "mcp/said.h"
#include "base/mem.h"

enum {
	PROBE_MS = 3000,
	PAGES_MAX = 200,
	TOOLS_MAX = 2000,
	STRANGE_MAX = 100000,
	ROUNDS_MAX = 3,
	CALL_MS = 300000
};

struct mcp_client {
	struct loop *loop;
	const struct mcp_client_ops *ops;
	void *self;
	struct asked **open;
	size_t nr_open, cap_open;
	uint64_t next, strange;
	json_t *tools, *listing, *info;
	char *version, *instructions;
	struct loop_timer *limit;
	int64_t open_us;
	unsigned pages;
	bool modern, ready, dead, list_changes, relist, retried, listening, asked_twice,
		has_resources;
};

static void begin_list(struct mcp_client *c);
static void mcp_client_initialize(struct mcp_client *c);

struct mcp_client *mcp_client_new(struct loop *l, const struct mcp_client_ops *ops, void *self,
				  int64_t open_us)
{
	struct mcp_client *c = NEW(struct mcp_client);
	*c = (struct mcp_client){
		.loop = l, .ops = ops, .self = self, .open_us = open_us, .tools = json_array()
	};
	return c;
}

static void mcp_client_asked_free(struct asked *a)
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

static void mcp_client_say(struct mcp_client *c, const char *text)
{
	if (c->ops->log)
		c->ops->log(c->self, text);
}

static void become_ready(struct mcp_client *c, const struct err *err)
{
	if (c->ready || c->dead)
		return;
	c->ready = err == NULL;
	c->dead = err != NULL;
	loop_timer_free(&c->limit);
	c->ops->ready(c->self, err);
}

static void fail_open(struct mcp_client *c, enum err_code code, const char *fmt, const char *text)
{
	struct err err = ERR_INIT;
	err_set(&err, code, "%s: %.300s", fmt, text);
	become_ready(c, &err);
}

/* --- out -------------------------------------------------------------------------------------- */

static json_t *client_info(void)
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

static void send_note(struct mcp_client *c, const char *method, json_t *params)
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

static struct asked *new_asked(struct mcp_client *c, enum mcp_what w, int64_t timeout_ms)
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

/* --- the way to ready ------------------------------------------------------------------------- */

static void mcp_client_on_limit(void *self)
{
	fail_open(self, ERR_TIMEOUT, "the server is not ready", "time is up");
}

void mcp_client_begin(struct mcp_client *c)
{
	c->limit = loop_timer_new(c->loop, mcp_client_on_limit, c);
	loop_timer_set(c->limit, (uint64_t)(c->open_us + 999) / 1000, 0);
	c->modern = true;
	c->version = mem_strdup(MCP_MODERN);
	mcp_client_ask(c, new_asked(c, ASK_DISCOVER, PROBE_MS), json_object());
}

static void mcp_client_initialize(struct mcp_client *c)
{
	json_t *p = json_object();
	c->modern = false;
	free(c->version);
	c->version = NULL;
	json_put_str(p, "protocolVersion", mcp_versions[1]);
	json_put(p, "capabilities", json_object());
	json_put(p, "clientInfo", client_info());
	mcp_client_ask(c, new_asked(c, ASK_INITIALIZE, c->open_us / 1000), p);
}

static void keep_words(struct mcp_client *c, const json_t *r, const json_t *info)
{
	const char *text = json_str(r, "instructions", NULL);
	json_decref(c->info);
	c->info = json_is_object(info) ? json_incref((json_t *)(uintptr_t)info) : NULL;
	free(c->instructions);
	c->instructions = text ? mem_strdup(text) : NULL;
	const json_t *can = json_object_get(r, "capabilities"),
		     *tools = json_object_get(can, "tools");
	c->has_resources = json_is_object(json_object_get(can, "resources"));
	c->list_changes = json_flag(tools, "listChanged", false);
	if (tools)
		begin_list(c);
	else
		become_ready(c, NULL);
}

static void mcp_client_discovered(struct mcp_client *c, const json_t *r)
{
	if (!mcp_names_modern(json_object_get(r, "supportedVersions")))
		mcp_client_initialize(c);
	else
		keep_words(c, r,
			   json_object_get(json_object_get(r, "_meta"), MCP_META "serverInfo"));
}

static void mcp_client_initialized(struct mcp_client *c, const json_t *r)
{
	const char *v = json_str(r, "protocolVersion", "");
	if (!mcp_is_older(v)) {
		fail_open(c, ERR_UNSUPPORTED,
			  "the server speaks a protocol version that is not known here", v);
		return;
	}
	c->version = mem_strdup(v);
	send_note(c, "notifications/initialized", NULL);
	keep_words(c, r, json_object_get(r, "serverInfo"));
}

static void list_page(struct mcp_client *c, const char *cursor)
{
	json_t *p = json_object();
	json_put_str(p, "cursor", cursor);
	mcp_client_ask(c, new_asked(c, ASK_LIST, c->open_us / 1000), p);
}

static void begin_list(struct mcp_client *c)
{
	if (c->listing) {
		c->relist = true;
		return;
	}
	c->listing = json_array();
	c->pages = 0;
	list_page(c, NULL);
}

static void mcp_client_list_done(struct mcp_client *c)
{
	bool first = !c->ready;
	json_decref(c->tools);
	c->tools = c->listing;
	c->listing = NULL;
	if (c->relist) {
		c->relist = false;
		begin_list(c);
	}
	if (first && c->modern && c->list_changes && !c->listening) {
		json_t *p = json_object(), *n = json_object();
		c->listening = true;
		json_put_flag(n, "toolsListChanged", true);
		json_put(p, "notifications", n);
		mcp_client_ask(c, new_asked(c, ASK_LISTEN, 0), p);
	}
	if (first)
		become_ready(c, NULL);
	else if (c->ops->changed)
		c->ops->changed(c->self);
}

static void mcp_client_listed(struct mcp_client *c, const json_t *r)
{
	size_t i;
	json_t *t;
	const char *next = json_str(r, "nextCursor", NULL);
	json_array_foreach(json_object_get(r, "tools"), i, t)
	{
		if (mcp_good_tool(t, c->modern) &&
		    !mcp_tool_named(c->listing, json_str(t, "name", "")) &&
		    json_array_size(c->listing) < TOOLS_MAX)
			json_array_append(c->listing, t);
		else
			mcp_client_say(
				c,
				"a tool of the server was left out: its name or schema is invalid");
	}
	if (next && ++c->pages < PAGES_MAX)
		list_page(c, next);
	else
		mcp_client_list_done(c);
}

/* --- answers ---------------------------------------------------------------------------------- */

static void mcp_client_ask_again(struct mcp_client *c, struct asked *a, const json_t *result);

void mcp_client_call_done(struct mcp_client *c, struct asked *a, const json_t *result,
			  const struct err *err)
{
	if (result && !strcmp(json_str(result, "resultType", "complete"), "input_required") &&
	    !a->task) {
		mcp_client_ask_again(c, a, result);
		return;
	}
	if (result && a->what == ASK_CALL && c->modern && mcp_is_task(result)) {
		mcp_task_begin(c, a, result);
		return;
	}
	CLEANUP(json_release)
	json_t *text = !result || a->what == ASK_PING ? NULL
		       : a->what == ASK_READ	      ? mcp_resource_text(result)
						      : mcp_result_text(result);
	if (a->ops)
		a->ops->done(a->self, text ? text : result, err);
	mcp_client_asked_free(a);
}

/* What a call asks for, in every round of it. */
static void put_target(const struct asked *a, json_t *p)
{
	if (a->what == ASK_READ) {
		json_put_str(p, "uri", a->name);
		return;
	}
	json_put_str(p, "name", a->name);
	json_put(p, "arguments", a->args ? json_incref(a->args) : json_object());
}

json_t *mcp_client_declined(const json_t *wanted)
{
	json_t *answers = json_object(), *one;
	const char *key;
	json_object_foreach((json_t *)(uintptr_t)wanted, key, one)
	{
		if (strcmp(json_str(one, "method", ""), "elicitation/create") != 0) {
			json_decref(answers);
			return NULL;
		}
		json_t *no = json_object();
		json_put_str(no, "action", "decline");
		json_put(answers, key, no);
	}
	return answers;
}

/* The server asks for a user's input: this is declined, so that it can continue without. */
static void mcp_client_ask_again(struct mcp_client *c, struct asked *a, const json_t *result)
{
	json_t *p = json_object(),
	       *answers = a->rounds++ < ROUNDS_MAX
				  ? mcp_client_declined(json_object_get(result, "inputRequests"))
				  : NULL;
	if (!answers) {
		struct err err = ERR_INIT;
		err_set(&err, ERR_UNSUPPORTED,
			"the server sent a request that sandglass doesn't support");
		json_decref(p);
		mcp_client_call_done(c, a, NULL, &err);
		return;
	}
	put_target(a, p);
	json_put(p, "inputResponses", answers);
	json_put(p, "requestState", json_incref(json_object_get(result, "requestState")));
	mcp_client_ask(c, a, p);
}

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
		if (c->strange++ < 3)
			mcp_client_say(c, err.text);
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

/* --- calls ------------------------------------------------------------------------------------ */

/* Takes @args. */
static uint64_t ask_target(struct mcp_client *c, enum mcp_what w, const char *name, json_t *args,
			   int64_t timeout_us, const struct mcp_call_ops *ops, void *self)
{
	struct asked *a = new_asked(c, w, timeout_us > 0 ? (timeout_us + 999) / 1000 : CALL_MS);
	json_t *p = json_object();
	a->limit_ms = timeout_us > 0 ? a->timeout_ms : 0;
	a->name = mem_strdup(name);
	a->args = args;
	a->ops = ops;
	a->self = self;
	put_target(a, p);
	mcp_client_ask(c, a, p);
	return a->call;
}

uint64_t mcp_client_call(struct mcp_client *c, const char *name, json_t *args, int64_t timeout_us,
			 const struct mcp_call_ops *ops, void *self)
{
	return ask_target(c, ASK_CALL, name, args ? json_incref(args) : json_object(), timeout_us,
			  ops, self);
}

uint64_t mcp_client_read(struct mcp_client *c, const char *uri, int64_t timeout_us,
			 const struct mcp_call_ops *ops, void *self)
{
	return ask_target(c, ASK_READ, uri, NULL, timeout_us, ops, self);
}

uint64_t mcp_client_ping(struct mcp_client *c, const struct mcp_call_ops *ops, void *self)
{
	struct asked *a = new_asked(c, ASK_PING, PROBE_MS);
	a->ops = ops;
	a->self = self;
	if (c->modern) /* this era has no ping */
		a->what = ASK_DISCOVER;
	json_t *p = json_object();
	mcp_client_ask(c, a, p);
	a->what = ASK_PING;
	return a->call;
}

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
