#include "mcp/client_priv.h"

#include <string.h>

#include "mcp/said.h"
#include "base/mem.h"

enum { ROUNDS_MAX = 3, CALL_MS = 300000 };

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
