#include "mcp/client_priv.h"

#include <stdlib.h>
#include <string.h>

#include "mcp/said.h"
#include "base/mem.h"

enum { PAGES_MAX = 200, TOOLS_MAX = 2000 };

void become_ready(struct mcp_client *c, const struct err *err)
{
	if (c->ready || c->dead)
		return;
	c->ready = err == NULL;
	c->dead = err != NULL;
	loop_timer_free(&c->limit);
	c->ops->ready(c->self, err);
}

void fail_open(struct mcp_client *c, enum err_code code, const char *fmt, const char *text)
{
	struct err err = ERR_INIT;
	err_set(&err, code, "%s: %.300s", fmt, text);
	become_ready(c, &err);
}

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

void mcp_client_initialize(struct mcp_client *c)
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

void mcp_client_discovered(struct mcp_client *c, const json_t *r)
{
	if (!mcp_names_modern(json_object_get(r, "supportedVersions")))
		mcp_client_initialize(c);
	else
		keep_words(c, r,
			   json_object_get(json_object_get(r, "_meta"), MCP_META "serverInfo"));
}

void mcp_client_initialized(struct mcp_client *c, const json_t *r)
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

void begin_list(struct mcp_client *c)
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

/* Why @t is not among the tools; NULL: it can be. */
static const char *tool_left_out(const struct mcp_client *c, const json_t *t)
{
	if (!mcp_good_tool(t, c->modern))
		return "a tool of the server was left out: its name or schema is invalid";
	if (mcp_tool_named(c->listing, json_str(t, "name", "")))
		return "a tool of the server was left out: another tool has its name";
	return json_array_size(c->listing) < TOOLS_MAX
		       ? NULL
		       : "a tool of the server was left out: the list has more than 2000";
}

void mcp_client_listed(struct mcp_client *c, const json_t *r)
{
	size_t i;
	json_t *t;
	const char *next = json_str(r, "nextCursor", NULL);
	json_array_foreach(json_object_get(r, "tools"), i, t)
	{
		const char *why = tool_left_out(c, t);
		if (why)
			mcp_client_say(c, why);
		else
			json_array_append(c->listing, t);
	}
	if (next && ++c->pages < PAGES_MAX) {
		list_page(c, next);
		return;
	}
	if (next)
		mcp_client_say(c, "tools of the server were left out: the list has more than 200 "
				  "pages");
	mcp_client_list_done(c);
}
