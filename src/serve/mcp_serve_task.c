#include "serve/mcp_serve_task.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "serve/mcp_serve_priv.h"
#include "serve/mcp_tools.h"

enum { TASKS_MOST = 500, TASK_TTL_MS = 3600 * 1000, TASK_POLL_MS = 500, TASK_ID_BYTES = 16 };

struct served_task {
	char id[2 * TASK_ID_BYTES + 1];
	uint64_t call; /* 0: it has ended */
	char *tool;
	int64_t made_us, news_us, until_us; /* until: 0 while it works */
	const char *status;
	json_t *result;
	char *error;
};
struct served_tasks {
	struct mcp_session *session;
	struct served_task *task;
	size_t nr, cap;
};

struct served_tasks *served_tasks_new(struct mcp_session *session)
{
	struct served_tasks *t = NEW(struct served_tasks);
	t->session = session;
	return t;
}

static void drop_task(struct served_tasks *t, size_t i)
{
	struct served_task *one = &t->task[i];
	free(one->tool);
	free(one->error);
	json_decref(one->result);
	*one = t->task[--t->nr];
}

void served_tasks_free(struct served_tasks **tp)
{
	struct served_tasks *t = *tp;
	*tp = NULL;
	if (!t)
		return;
	while (t->nr)
		drop_task(t, t->nr - 1);
	free(t->task);
	free(t);
}

bool served_tasks_taken(const json_t *params)
{
	const json_t *can =
		json_object_get(json_object_get(params, "_meta"), META "clientCapabilities");
	return json_is_object(json_object_get(json_object_get(can, "extensions"), MCP_TASKS));
}

static void drop_old_tasks(struct served_tasks *t)
{
	int64_t now = clock_awake_us();
	for (size_t i = t->nr; i-- > 0;)
		if (t->task[i].until_us && t->task[i].until_us < now)
			drop_task(t, i);
}

static void put_wall_time(json_t *o, const char *key, int64_t us)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	clock_rfc3339(us, &text);
	json_put_str(o, key, buf_cstr(&text));
}

static json_t *task_json(const struct served_tasks *t, const struct served_task *one)
{
	json_t *o = json_object();
	CLEANUP(buf_release) struct buf held = BUF_INIT;
	json_put_str(o, "taskId", one->id);
	json_put_str(o, "status", one->status);
	if (one->call && mcp_session_held(t->session, one->tool, &held))
		json_put_str(o, "statusMessage", buf_cstr(&held));
	put_wall_time(o, "createdAt", one->made_us);
	put_wall_time(o, "lastUpdatedAt", one->news_us);
	json_put(o, "ttlMs",
		 one->until_us ? json_integer((one->until_us - clock_awake_us()) / 1000 +
					      (clock_wall_us() - one->made_us) / 1000)
			       : json_null());
	json_put_int(o, "pollIntervalMs", TASK_POLL_MS);
	return o;
}

json_t *served_task_begin(struct served_tasks *t, uint64_t call, const char *tool)
{
	uint8_t raw[TASK_ID_BYTES];
	CLEANUP(buf_release) struct buf id = BUF_INIT;
	drop_old_tasks(t);
	if (t->nr >= TASKS_MOST)
		return NULL;
	GROW(t->task, t->nr, t->cap);
	struct served_task *one = &t->task[t->nr++];
	*one = (struct served_task){ .call = call,
				     .tool = mem_strdup(tool),
				     .status = "working",
				     .made_us = clock_wall_us() };
	one->news_us = one->made_us;
	random_bytes(raw, sizeof(raw));
	hex_append(&id, raw, sizeof(raw));
	memcpy(one->id, buf_cstr(&id), sizeof(one->id));
	json_t *o = task_json(t, one);
	json_put_str(o, "resultType", "task");
	return o;
}

static void end_task(struct served_task *one, const char *status)
{
	one->call = 0;
	one->status = status;
	one->news_us = clock_wall_us();
	one->until_us = clock_awake_us() + TASK_TTL_MS * INT64_C(1000);
}

bool served_task_answer(struct served_tasks *t, uint64_t call, const json_t *answer,
			const struct err *err)
{
	for (size_t i = 0; i < t->nr; i++) {
		struct served_task *one = &t->task[i];
		if (one->call != call)
			continue;
		end_task(one, answer ? "completed" : "failed");
		if (answer) {
			one->result = mcp_tools_result(answer);
			json_put_str(one->result, "resultType", "complete");
		} else {
			one->error = mem_strdup(err->text);
		}
		return true;
	}
	return false;
}

/* --- requests --------------------------------------------------------------------------------- */

static json_t *detailed_task(const struct served_tasks *t, const struct served_task *one)
{
	json_t *o = task_json(t, one);
	if (one->result)
		json_put(o, "result", json_incref(one->result));
	if (one->error) {
		json_t *e = json_object();
		json_put_int(e, "code", RPC_INTERNAL);
		json_put_str(e, "message", one->error);
		json_put(o, "error", e);
	}
	return o;
}

static void refuse_undeclared(struct mcp_peer *p, const struct rpc_msg *m)
{
	json_t *data = json_object(), *wanted = json_object(), *extensions = json_object();
	json_put(extensions, MCP_TASKS, json_object());
	json_put(wanted, "extensions", extensions);
	json_put(data, "requiredCapabilities", wanted);
	mcp_serve_refuse(p, m->id, RPC_CAPABILITY, data,
			 "the client did not declare the extension " MCP_TASKS);
}

bool served_task_request(struct served_tasks *t, struct mcp_peer *p, const struct rpc_msg *m)
{
	bool get = !strcmp(m->method, "tasks/get"), cancel = !strcmp(m->method, "tasks/cancel");
	if (!get && !cancel && strcmp(m->method, "tasks/update") != 0)
		return false;
	if (!served_tasks_taken(m->params)) {
		refuse_undeclared(p, m);
		return true;
	}
	const char *id = json_str(m->params, "taskId", "");
	struct served_task *one = NULL;
	drop_old_tasks(t);
	for (size_t i = 0; i < t->nr; i++)
		if (!strcmp(t->task[i].id, id))
			one = &t->task[i];
	if (!one) {
		mcp_serve_refuse(p, m->id, RPC_PARAMS, NULL, "task not found");
		return true;
	}
	if (cancel && one->call) {
		mcp_session_cancel(t->session, one->call);
		end_task(one, "cancelled");
	}
	/* tasks/update answers questions, and ours have none: a reviewer decides elsewhere */
	mcp_serve_finish(p, m->id, get ? detailed_task(t, one) : json_object(), true);
	return true;
}
