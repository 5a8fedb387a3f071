#include "mcp/client_priv.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"

enum {
	POLL_MS = 1000, /* if the server names no interval */
	POLL_LEAST_MS = 50,
	POLL_MOST_MS = 60000,
	TASK_MS = 3600 * 1000, /* of a task, if the script gives no time */
	FAULTS_MAX = 5,	       /* failures of tasks/get in a row */
	INPUTS_MAX = 3
};

struct mcp_task {
	int64_t deadline_us, poll_ms;
	char *message; /* the status as the server described it last */
	unsigned faults, inputs, reports;
	struct loop_timer *poll;
};

void mcp_task_free(struct mcp_task **tp)
{
	struct mcp_task *t = *tp;
	*tp = NULL;
	if (!t)
		return;
	loop_timer_free(&t->poll);
	free(t->message);
	free(t);
}

bool mcp_is_task(const json_t *result)
{
	return !strcmp(json_str(result, "resultType", ""), "task") &&
	       *json_str(result, "taskId", "");
}

static int64_t task_left_ms(const struct mcp_task *t)
{
	int64_t left = (t->deadline_us - clock_awake_us()) / 1000;
	return left > 1 ? left : 1;
}

static json_t *task_params(const struct asked *a)
{
	json_t *p = json_object();
	json_put_str(p, "taskId", a->name);
	return p;
}

static void task_ask(struct asked *a, enum mcp_what w, json_t *params)
{
	a->what = w;
	a->timeout_ms = task_left_ms(a->task);
	mcp_client_ask(a->client, a, params);
}

static void task_on_poll(void *self)
{
	struct asked *a = self;
	mcp_client_unkeep(a->client, a);
	task_ask(a, ASK_TASK, task_params(a));
}

static void task_wait(struct mcp_client *c, struct asked *a)
{
	struct mcp_task *t = a->task;
	int64_t left = task_left_ms(t), wait = t->poll_ms < left ? t->poll_ms : left;
	a->what = ASK_TASK;
	mcp_client_keep(c, a);
	loop_timer_set(a->timer, (uint64_t)left, 0);
	loop_timer_set(t->poll, (uint64_t)wait, 0);
}

/* The interval and the words of the newest status. */
static void task_note(struct asked *a, const json_t *status)
{
	struct mcp_task *t = a->task;
	const char *said = json_str(status, "statusMessage", "");
	int64_t poll = json_int(status, "pollIntervalMs", t->poll_ms);
	t->poll_ms = poll < POLL_LEAST_MS  ? POLL_LEAST_MS
		     : poll > POLL_MOST_MS ? POLL_MOST_MS
					   : poll;
	if (!*said || (t->message && !strcmp(t->message, said)))
		return;
	free(t->message);
	t->message = mem_strdup(said);
	if (a->ops && a->ops->progress)
		a->ops->progress(a->self, ++t->reports, 0, said);
}

void mcp_task_begin(struct mcp_client *c, struct asked *a, const json_t *result)
{
	int64_t ttl = json_int(result, "ttlMs", 0), most = a->limit_ms;
	if (!most)
		most = ttl > 0 && ttl < TASK_MS ? ttl : TASK_MS;
	a->task = NEW(struct mcp_task);
	*a->task = (struct mcp_task){ .deadline_us = clock_awake_us() + most * 1000,
				      .poll_ms = POLL_MS,
				      .poll = loop_timer_new(mcp_client_loop(c), task_on_poll, a) };
	a->limit_ms = most;
	free(a->name);
	a->name = mem_strdup(json_str(result, "taskId", ""));
	json_decref(a->args);
	a->args = NULL;
	task_note(a, result);
	task_wait(c, a);
}

static void task_fail(struct mcp_client *c, struct asked *a, enum err_code code, const char *text)
{
	struct err err = ERR_INIT;
	err_set(&err, code, "%.400s", text);
	mcp_client_call_done(c, a, NULL, &err);
}

/* The server needs a user's input: this is declined, so that it can continue without. */
static void task_input(struct mcp_client *c, struct asked *a, const json_t *status)
{
	json_t *answers = a->task->inputs++ < INPUTS_MAX
				  ? mcp_client_declined(json_object_get(status, "inputRequests"))
				  : NULL;
	if (!answers) {
		mcp_task_stop(c, a);
		task_fail(c, a, ERR_UNSUPPORTED,
			  "the server sent a request that sandglass doesn't support");
		return;
	}
	json_t *p = task_params(a);
	json_put(p, "inputResponses", answers);
	task_ask(a, ASK_TASK_INPUT, p);
}

static void task_ended(struct mcp_client *c, struct asked *a, const char *how, const json_t *status)
{
	const json_t *result = json_object_get(status, "result"),
		     *fault = json_object_get(status, "error");
	CLEANUP(free_ptr) char *text = NULL;
	if (!strcmp(how, "completed") && json_is_object(result)) {
		mcp_client_call_done(c, a, result, NULL);
	} else if (!strcmp(how, "failed")) {
		text = mem_printf("%.300s (error %" PRId64 ")",
				  json_str(fault, "message",
					   json_str(status, "statusMessage", "the task failed")),
				  json_int(fault, "code", 0));
		task_fail(c, a, ERR_INVALID, text);
	} else if (!strcmp(how, "cancelled")) {
		text = mem_printf("the server cancelled the task%s%.300s",
				  a->task->message ? ": " : "",
				  a->task->message ? a->task->message : "");
		task_fail(c, a, ERR_CANCELLED, text);
	} else {
		mcp_task_stop(c, a);
		task_fail(c, a, ERR_PARSE, "the server's answer to tasks/get is not a task");
	}
}

void mcp_task_answer(struct mcp_client *c, struct asked *a, const json_t *result,
		     const struct err *err)
{
	struct mcp_task *t = a->task;
	const char *how = json_str(result, "status", "");
	if (!result && err->code == ERR_BUSY && ++t->faults < FAULTS_MAX) {
		task_wait(c, a);
		return;
	}
	if (!result) {
		struct err why = *err;
		/* the call had begun: it must not be repeated */
		why.code = why.code == ERR_NOENT ? ERR_INVALID : why.code;
		mcp_client_call_done(c, a, NULL, &why);
		return;
	}
	t->faults = 0;
	if (a->what == ASK_TASK_INPUT) {
		task_wait(c, a);
		return;
	}
	task_note(a, result);
	if (!strcmp(how, "working"))
		task_wait(c, a);
	else if (!strcmp(how, "input_required"))
		task_input(c, a, result);
	else
		task_ended(c, a, how, result);
}

void mcp_task_stop(struct mcp_client *c, const struct asked *a)
{
	mcp_client_send_only(c, ASK_TASK_STOP, a->name, task_params(a));
}

void mcp_task_late(const struct asked *a, struct err *err)
{
	const char *said = a->task->message;
	err_set(err, ERR_TIMEOUT, "the server's task didn't end within %" PRId64 " ms%s%.200s%s",
		a->limit_ms, said ? " (its status: " : "", said ? said : "", said ? ")" : "");
}
