#include "serve/mcp_serve.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mcp/said.h"
#include "serve/mcp_serve_priv.h"
#include "serve/mcp_serve_task.h"
#include "serve/mcp_tools.h"
#include "base/mem.h"

enum {
	OPEN_MAX_REQUESTS = 200,
	PROGRESS_MS = 5000,
	TASK_AFTER_MS = 1000, /* a call that takes longer becomes a task */
	TASK_LOOK_MS = 250,
};

/* A request that is not answered yet: a tool call, or (call 0) one that listens for changes. */
struct open_request {
	struct mcp_peer *peer;
	json_t *id, *token;
	uint64_t call;
	int64_t told;	  /* progress so far */
	char *said;	  /* the newest progress text */
	const char *tool; /* borrowed from name */
	char *name;
	int64_t since_us;
	bool modern, may_be_task;
};

struct mcp_server {
	struct loop *loop;
	struct mcp_session *session;
	struct open_request *open;
	size_t nr_open, cap_open;
	struct served_tasks *tasks;
	struct loop_timer *timer, *task_timer;
	bool task_ticks; /* task_timer is set */
};

static void mcp_serve_on_answer(void *self, uint64_t call, const json_t *answer,
				const struct err *err);
static void mcp_serve_on_state(void *self);
static void mcp_serve_on_timer(void *self);
static void mcp_serve_on_task_timer(void *self);

struct mcp_server *mcp_server_new(struct loop *l, json_t *opts)
{
	static const struct mcp_session_ops ops = { .answer = mcp_serve_on_answer,
						    .state = mcp_serve_on_state };
	struct mcp_server *s = NEW(struct mcp_server);
	s->loop = l;
	s->session = mcp_session_new(l, opts, &ops, s);
	s->tasks = served_tasks_new(s->session);
	s->timer = loop_timer_new(l, mcp_serve_on_timer, s);
	s->task_timer = loop_timer_new(l, mcp_serve_on_task_timer, s);
	return s;
}

static void mcp_serve_drop(struct mcp_server *s, size_t i)
{
	struct open_request *r = &s->open[i];
	json_decref(r->id);
	json_decref(r->token);
	free(r->name);
	free(r->said);
	*r = s->open[--s->nr_open];
	if (!s->nr_open)
		loop_timer_stop(s->timer);
}

void mcp_server_free(struct mcp_server **sp)
{
	struct mcp_server *s = *sp;
	*sp = NULL;
	if (!s)
		return;
	while (s->nr_open)
		mcp_serve_drop(s, s->nr_open - 1);
	served_tasks_free(&s->tasks);
	mcp_session_free(&s->session);
	loop_timer_free(&s->timer);
	loop_timer_free(&s->task_timer);
	free(s->open);
	free(s);
}

size_t mcp_server_open(const struct mcp_server *s)
{
	size_t n = 0;
	for (size_t i = 0; i < s->nr_open; i++)
		n += s->open[i].call != 0;
	return n;
}

bool mcp_server_busy(const struct mcp_server *s, const struct mcp_peer *peer)
{
	for (size_t i = 0; i < s->nr_open; i++)
		if (s->open[i].peer == peer)
			return true;
	return false;
}

void mcp_server_gone(struct mcp_server *s, struct mcp_peer *peer)
{
	for (size_t i = s->nr_open; i-- > 0;)
		if (s->open[i].peer == peer) {
			if (s->open[i].call)
				mcp_session_cancel(s->session, s->open[i].call);
			mcp_serve_drop(s, i);
		}
}

void mcp_server_leave(struct mcp_server *s, const char *client)
{
	mcp_session_leave(s->session, client);
}

/* --- answers ---------------------------------------------------------------------------------- */

static json_t *server_info(void)
{
	json_t *o = json_object();
	json_put_str(o, "name", "sandglass");
	json_put_str(o, "title", "sandglass: recorded, supervised sandboxes");
	json_put_str(o, "version", SANDGLASS_VERSION);
	return o;
}

void mcp_serve_finish(struct mcp_peer *p, json_t *id, json_t *result, bool modern)
{
	if (modern) {
		json_t *meta = json_object();
		json_put(meta, META "serverInfo", server_info());
		if (!json_object_get(result, "resultType"))
			json_put_str(result, "resultType", "complete");
		json_put(result, "_meta", meta);
	}
	p->send(p->self, rpc_result(id, result), true);
}

void mcp_serve_refuse(struct mcp_peer *p, json_t *id, enum rpc_code code, json_t *data,
		      const char *text)
{
	p->send(p->self, rpc_error(id, code, data, "%s", text), true);
}

static json_t *mcp_serve_capabilities(void)
{
	json_t *o = json_object();
	json_put(o, "tools", json_object());
	json_put(o, "prompts", json_object());
	json_put(o, "resources", json_object());
	return o;
}

static const char mcp_serve_instructions[] =
	"Sandboxes: isolated Linux systems with a copy of the project in /workspace. "
	"Commands in them are recorded and supervised by a user, who may have to approve a "
	"command before it runs; a denial gives the reason. Nothing reaches the real project "
	"until that user merges it.";

static json_t *mcp_serve_supported(void)
{
	json_t *list = json_array();
	for (size_t i = 0; mcp_versions[i]; i++)
		json_array_append_new(list, json_string(mcp_versions[i]));
	return list;
}

static void set_client(struct mcp_peer *p, const json_t *info)
{
	const char *name = json_str(info, "name", NULL);
	if (!name)
		return;
	free(p->client);
	p->client = mem_strndup(name, strnlen(name, 64));
}

/* --- one request ------------------------------------------------------------------------------ */

static void mcp_serve_initialize(struct mcp_peer *p, const struct rpc_msg *m)
{
	const char *want = json_str(m->params, "protocolVersion", NULL);
	if (!want) {
		mcp_serve_refuse(p, m->id, RPC_PARAMS, NULL,
				 "initialize: 'protocolVersion' is missing");
		return;
	}
	const char *have = mcp_versions[1];
	for (size_t i = 1; mcp_versions[i]; i++)
		if (!strcmp(mcp_versions[i], want))
			have = mcp_versions[i];
	set_client(p, json_object_get(m->params, "clientInfo"));
	json_t *o = json_object();
	json_put_str(o, "protocolVersion", have);
	json_put(o, "capabilities", mcp_serve_capabilities());
	json_put(o, "serverInfo", server_info());
	json_put_str(o, "instructions", mcp_serve_instructions);
	mcp_serve_finish(p, m->id, o, false);
}

static void mcp_serve_discover(struct mcp_peer *p, const struct rpc_msg *m)
{
	json_t *o = json_object();
	json_put(o, "supportedVersions", mcp_serve_supported());
	json_t *can = mcp_serve_capabilities(), *extensions = json_object();
	json_put(extensions, MCP_TASKS, json_object());
	json_put(can, "extensions", extensions);
	json_put(o, "capabilities", can);
	json_put_str(o, "instructions", mcp_serve_instructions);
	mcp_serve_put_cache(o);
	mcp_serve_finish(p, m->id, o, true);
}

static struct open_request *mcp_serve_open_request(struct mcp_server *s, struct mcp_peer *p,
						   const struct rpc_msg *m, bool modern)
{
	const json_t *token = json_object_get(json_object_get(m->params, "_meta"), "progressToken");
	GROW(s->open, s->nr_open, s->cap_open);
	struct open_request *r = &s->open[s->nr_open++];
	*r = (struct open_request){ .peer = p, .id = json_incref(m->id), .modern = modern };
	if (json_is_string(token) || json_is_integer(token))
		r->token = json_incref((json_t *)(uintptr_t)token);
	if (s->nr_open == 1)
		loop_timer_set(s->timer, PROGRESS_MS, PROGRESS_MS);
	return r;
}

static void call_tool(struct mcp_server *s, struct mcp_peer *p, const struct rpc_msg *m,
		      bool modern)
{
	const char *name = json_str(m->params, "name", NULL);
	json_t *args = json_object_get(m->params, "arguments");
	struct err err = ERR_INIT;
	if (!name || !mcp_tools_has(name)) {
		CLEANUP(free_ptr)
		char *text = mem_printf("unknown tool '%.80s'", name ? name : "");
		mcp_serve_refuse(p, m->id, RPC_PARAMS, NULL, text);
		return;
	}
	if (args && !json_is_object(args)) {
		mcp_serve_refuse(p, m->id, RPC_PARAMS, NULL,
				 "tools/call: 'arguments' is an object");
		return;
	}
	if (s->nr_open >= OPEN_MAX_REQUESTS) {
		mcp_serve_refuse(p, m->id, RPC_INTERNAL, NULL, "too many requests at once");
		return;
	}
	uint64_t call = 0;
	CLEANUP(json_release)
	json_t *taken = mcp_tools_check(name, args, &err) == 0 ? mcp_tools_args(args, &err) : NULL;
	if (taken)
		call = mcp_session_call(s->session, name, taken,
					p->client ? p->client : "mcp client", &err);
	if (!call) {
		mcp_serve_finish(p, m->id, mcp_tools_failure(err.text), modern);
		return;
	}
	struct open_request *r = mcp_serve_open_request(s, p, m, modern);
	r->call = call;
	r->name = mem_strdup(name);
	r->tool = r->name;
	r->since_us = loop_now_us(s->loop);
	r->may_be_task = modern && served_tasks_taken(m->params);
	if (r->may_be_task && !s->task_ticks)
		loop_timer_set(s->task_timer, TASK_AFTER_MS, TASK_LOOK_MS);
	s->task_ticks |= r->may_be_task;
}

/* The tools never change, so what follows the acknowledgement is only its end. */
static void listen_changes(struct mcp_server *s, struct mcp_peer *p, const struct rpc_msg *m)
{
	json_t *params = json_object(), *meta = json_object();
	json_put(meta, META "subscriptionId", json_incref(m->id));
	json_put(params, "notifications", json_object());
	json_put(params, "_meta", meta);
	mcp_serve_open_request(s, p, m, true);
	p->send(p->self, rpc_note("notifications/subscriptions/acknowledged", params), false);
}

/* Whether @m is of the new era; -1: it has been refused. */
static int era_of(struct mcp_peer *p, const struct rpc_msg *m)
{
	const json_t *meta = json_object_get(m->params, "_meta");
	const json_t *version = json_object_get(meta, META "protocolVersion");
	bool must =
		!strcmp(m->method, "server/discover") || !strcmp(m->method, "subscriptions/listen");
	if (!version && !must)
		return 0;
	if (!json_is_string(version)) {
		mcp_serve_refuse(p, m->id, RPC_PARAMS, NULL,
				 "_meta: '" META "protocolVersion' is missing or no string");
		return -1;
	}
	if (strcmp(json_string_value(version), MCP_MODERN) != 0) {
		json_t *data = json_object(), *list = json_array();
		json_array_append_new(list, json_string(MCP_MODERN));
		json_put(data, "supported", list);
		json_put_str(data, "requested", json_string_value(version));
		mcp_serve_refuse(p, m->id, RPC_VERSION, data,
				 "this protocol version is not supported");
		return -1;
	}
	if (!json_is_object(json_object_get(meta, META "clientCapabilities"))) {
		mcp_serve_refuse(p, m->id, RPC_PARAMS, NULL,
				 "_meta: '" META "clientCapabilities' is missing or no object");
		return -1;
	}
	set_client(p, json_object_get(meta, META "clientInfo"));
	return 1;
}

static void mcp_serve_request(struct mcp_server *s, struct mcp_peer *p, const struct rpc_msg *m)
{
	for (size_t i = 0; i < s->nr_open; i++)
		if (s->open[i].peer == p && json_equal(s->open[i].id, m->id)) {
			mcp_serve_refuse(p, NULL, RPC_INVALID, NULL,
					 "a request with this id is not answered yet");
			return;
		}
	int modern = era_of(p, m);
	if (modern < 0)
		return;
	if (mcp_serve_list(p, m, modern) || mcp_serve_item(p, m, modern) ||
	    (modern && served_task_request(s->tasks, p, m)))
		return;
	if (!strcmp(m->method, "tools/call"))
		call_tool(s, p, m, modern);
	else if (modern && !strcmp(m->method, "server/discover"))
		mcp_serve_discover(p, m);
	else if (modern && !strcmp(m->method, "subscriptions/listen"))
		listen_changes(s, p, m);
	else if (!modern && !strcmp(m->method, "initialize"))
		mcp_serve_initialize(p, m);
	else if (!modern && !strcmp(m->method, "ping"))
		mcp_serve_finish(p, m->id, json_object(), false);
	else
		mcp_serve_refuse(p, m->id, RPC_NO_METHOD, NULL, "unknown method");
}

static void mcp_serve_note(struct mcp_server *s, struct mcp_peer *p, const struct rpc_msg *m)
{
	const json_t *id = json_object_get(m->params, "requestId");
	if (strcmp(m->method, "notifications/cancelled") != 0 || !id)
		return;
	for (size_t i = 0; i < s->nr_open; i++)
		if (s->open[i].peer == p && json_equal(s->open[i].id, id)) {
			if (s->open[i].call)
				mcp_session_cancel(s->session, s->open[i].call);
			mcp_serve_drop(s, i);
			return;
		}
}

void mcp_server_take_msg(struct mcp_server *s, struct mcp_peer *p, const struct rpc_msg *m)
{
	switch (m->kind) {
	case RPC_REQUEST:
		mcp_serve_request(s, p, m);
		return;
	case RPC_NOTE:
		mcp_serve_note(s, p, m);
		return;
	case RPC_RESULT: /* we never ask */
	case RPC_ERROR:
		return;
	}
}

void mcp_server_take(struct mcp_server *s, struct mcp_peer *p, const char *text, size_t len)
{
	struct rpc_msg m;
	struct err err = ERR_INIT;
	if (rpc_parse(&m, text, len, &err) < 0)
		mcp_serve_refuse(p, m.id, err.code == ERR_INVALID ? RPC_INVALID : RPC_PARSE, NULL,
				 err.text);
	else
		mcp_server_take_msg(s, p, &m);
	rpc_msg_release(&m);
}

/* --- from the session ------------------------------------------------------------------------- */

static void mcp_serve_on_answer(void *self, uint64_t call, const json_t *answer,
				const struct err *err)
{
	struct mcp_server *s = self;
	if (served_task_answer(s->tasks, call, answer, err))
		return;
	for (size_t i = 0; i < s->nr_open; i++)
		if (s->open[i].call == call) {
			struct mcp_peer *p = s->open[i].peer;
			json_t *id = json_incref(s->open[i].id);
			bool modern = s->open[i].modern;
			mcp_serve_drop(s, i);
			mcp_serve_finish(p, id,
					 answer ? mcp_tools_result(answer)
						: mcp_tools_failure(err->text),
					 modern);
			json_decref(id);
			return;
		}
}

static void mcp_serve_tell(struct open_request *r, const char *text)
{
	json_t *params = json_object();
	json_put(params, "progressToken", json_incref(r->token));
	json_put_int(params, "progress", ++r->told);
	json_put_str(params, "message", text);
	r->peer->send(r->peer->self, rpc_note("notifications/progress", params), false);
}

/* A client waiting for a reviewer is notified at once. All are notified again every few seconds,
 * so that no client gives up on us. */
static void mcp_serve_progress(struct mcp_server *s, bool again)
{
	for (size_t i = 0; i < s->nr_open; i++) {
		struct open_request *r = &s->open[i];
		CLEANUP(buf_release) struct buf text = BUF_INIT;
		if (!r->token || !r->call)
			continue;
		bool held = mcp_session_held(s->session, r->tool, &text);
		if (!held)
			buf_puts(&text, "running");
		bool news = held && (!r->said || strcmp(r->said, text.data) != 0);
		if (!news && !again)
			continue;
		free(r->said);
		r->said = mem_strdup(text.data);
		mcp_serve_tell(r, text.data);
	}
}

static void mcp_serve_on_state(void *self)
{
	mcp_serve_progress(self, false);
}

static void mcp_serve_on_timer(void *self)
{
	mcp_serve_progress(self, true);
}

static void mcp_serve_on_task_timer(void *self)
{
	struct mcp_server *s = self;
	bool more = false;
	for (size_t i = s->nr_open; i-- > 0;) {
		struct open_request *r = &s->open[i];
		if (!r->may_be_task)
			continue;
		bool now = loop_now_us(s->loop) - r->since_us >= TASK_AFTER_MS * 1000;
		json_t *made = now ? served_task_begin(s->tasks, r->call, r->tool) : NULL;
		r->may_be_task &= !now; /* there may be too many: then it is only answered late */
		more |= !now;
		if (!made)
			continue;
		struct mcp_peer *p = r->peer;
		CLEANUP(json_release) json_t *id = json_incref(r->id);
		mcp_serve_drop(s, i);
		mcp_serve_finish(p, id, made, true);
	}
	if (!more)
		loop_timer_stop(s->task_timer);
	s->task_ticks = more;
}

void mcp_serve_fail(const struct err *err)
{
	fprintf(stderr, "sandglass: mcp serve: %s\n%s%s", err->text, err->hint,
		*err->hint ? "\n" : "");
}
