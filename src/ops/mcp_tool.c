/* Part of mcp_hub.c: calls of tools. */
#include <stdlib.h>
#include <string.h>

#include "ops/mcp_hub_priv.h"
#include "ops/mcp_hub.h"
#include "supervisor/core/call.h"
#include "mcp/conn.h"
#include "mcp/said.h"
#include "luahost/answer_cache.h"
#include "supervisor/core/resumed.h"

static void call_free_tool(struct tool_call *t)
{
	for (struct tool_call **at = &t->hub->calls; *at; at = &(*at)->next)
		if (*at == t) {
			*at = t->next;
			break;
		}
	free(t);
}

static void mcp_hub_tool_done(void *self, const json_t *result, const struct err *err)
{
	struct tool_call *t = self;
	struct action *a = t->action;
	struct server *v = t->server;
	action_set_tag(a, NULL);
	if (!result) {
		struct err why = *err;
		err_wrap(&why, "MCP server '%s'", v->name);
		call_free_tool(t);
		if (err->code == ERR_TIMEOUT) {
			json_t *body = json_object();
			json_put_str(body, "why", why.text);
			action_ended(a, END_TIMEOUT, body);
		} else if (err->code ==
			   /* it is certain that nothing was done: the script may ask once more */
			   ERR_NOENT) {
			json_t *body = json_object();
			json_put_str(body, "why", why.text);
			json_put_flag(body, "not_begun", true);
			action_ended(a, END_FAILED, body);
		} else {
			action_fail(a, &why);
		}
		return;
	}
	call_free_tool(t);
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	json_t *body = json_object();
	if (json_get_bytes(json_object_get(result, "text"), &text) && text.len)
		action_output(a, STREAM_OUT, text.data, text.len);
	json_put(body, "result", json_incref((json_t *)(uintptr_t)result));
	action_ended(a, END_OK, body);
}

static void tool_progress(void *self, int64_t done, int64_t total, const char *text)
{
	struct tool_call *t = self;
	CLEANUP(buf_release) struct buf line = BUF_INIT;
	if (t->lines++ >= PROGRESS_LINES || action_flooded(t->action))
		return;
	buf_printf(&line, "progress %lld", (long long)done);
	if (total)
		buf_printf(&line, " of %lld", (long long)total);
	buf_printf(&line, "%s%.200s\n", *text ? ": " : "", text);
	action_output(t->action, STREAM_ERR, line.data, line.len);
}

void start_call(void *self, struct action *a)
{
	static const struct mcp_call_ops ops = { .done = mcp_hub_tool_done,
						 .progress = tool_progress };
	struct mcp_hub *h = self;
	const struct action_spec *spec = action_spec(a);
	struct server *v = server_of(h, (uint64_t)json_int(spec->args, "server", 0));
	if (!v || v->dead || !v->conn) {
		struct err err = ERR_INIT;
		err_set(&err, ERR_CLOSED, "the MCP server has ended%s%.200s",
			v && v->why ? ": " : "", v && v->why ? v->why : "");
		action_fail(a, &err);
		return;
	}
	struct tool_call *t = NEW(struct tool_call);
	*t = (struct tool_call){ .next = h->calls, .hub = h, .action = a, .server = v };
	h->calls = t;
	action_set_tag(a, t);
	struct mcp_client *c = mcp_conn_client(v->conn);
	const char *name = json_str(spec->args, "name", "");
	json_t *args = json_object_get(spec->args, "args");
	if (!strcmp(name, MCP_READ) && !mcp_tool_named(mcp_client_tools(c), name))
		t->call = mcp_client_read(c, json_str(args, "uri", ""), spec->timeout_us, &ops, t);
	else
		t->call = mcp_client_call(c, name, args, spec->timeout_us, &ops, t);
}

void cancel_call(void *self, struct action *a, const char *how)
{
	struct tool_call *t = action_tag(a);
	(void)self;
	if (!t)
		return;
	action_set_tag(a, NULL);
	if (t->server->conn)
		mcp_client_cancel(mcp_conn_client(t->server->conn), t->call, "cancelled");
	call_free_tool(t);
	action_ended(a, end_for(how), NULL);
}

static void mcp_hub_call_done(struct call *c, const struct action_result *res)
{
	if (res->end == END_FAILED) {
		const char *why = res->why ? res->why : json_str(res->body, "why", "failed");
		struct server *v =
			server_of(hub_of(c->super), (uint64_t)json_int(c->args, "server", 0));
		bool not_begun = json_flag(res->body, "not_begun", false);
		call_fail(c, not_begun || !v || v->dead ? "backend" : "io", NULL, NULL,
			  not_begun ? 0 : res->id, "%s", why);
		return;
	}
	call_answer_stored(c, res);
}

void op_mcp_call(struct call *c)
{
	struct mcp_hub *h = hub_of(c->super);
	const struct server *v = server_of(h, (uint64_t)json_int(c->args, "server", 0));
	if ((!v || v->dead) && !answer_cache_knows(resume_recorded(c->super->resume), c)) {
		call_fail(c, "backend", NULL, NULL, 0,
			  "the MCP server%s%s has ended or doesn't exist%s%s", v ? " " : "",
			  v ? v->name : "", v && v->why ? ": " : "", v && v->why ? v->why : "");
		return;
	}
	CLEANUP(free_ptr)
	char *tool = mem_printf("mcp:%s:%s", v ? v->name : "", json_str(c->args, "name", ""));
	struct action_spec spec = { .kind = ACT_MCP,
				    .leaves_box = !v || !v->box,
				    .parallel = true,
				    .args = c->args,
				    .timeout_us = json_int(c->args, "timeout_us", 0) };
	c->tool = tool; /* the rules go by this name */
	call_action(c, &spec, &h->call, mcp_hub_call_done);
	c->tool = NULL;
}
