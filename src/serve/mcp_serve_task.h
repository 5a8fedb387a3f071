/* The extension "tasks" of the new era: a tool call that is not answered within a second, as when
 * its action is pending approval, becomes a task if the client declared the extension. The client
 * asks for it by tasks/get, until its end and an hour longer.
 *
 * 1. A task belongs to no connection: over HTTP it continues when its client's connection ends. It
 *    ends with its call, by tasks/cancel, or with the server.
 * 2. Its id can't be guessed; a client that has it may use the task.
 * 3. A tool that fails is a completed task whose result has isError. A task has failed if its call
 *    has no answer (the session has ended).
 * Loop thread only. */
#ifndef SERVE_MCP_SERVE_TASK_H
#define SERVE_MCP_SERVE_TASK_H

#include "serve/mcp_session.h"
#include "wire/jsonrpc.h"

#define MCP_TASKS "io.modelcontextprotocol/tasks"

struct mcp_peer;
struct served_tasks;

/* @session is borrowed. */
struct served_tasks *served_tasks_new(struct mcp_session *session);
void served_tasks_free(struct served_tasks **t);

/* Does the request @params say that its client takes tasks? */
bool served_tasks_taken(const json_t *params);
/* Makes a task of @call. Returns the CreateTaskResult, owned; NULL: there are too many. */
json_t *served_task_begin(struct served_tasks *t, uint64_t call, const char *tool);
/* @call was answered (mcp_session_ops.answer). Returns false if it belongs to no task. */
bool served_task_answer(struct served_tasks *t, uint64_t call, const json_t *answer,
			const struct err *err);
/* Answers tasks/get, tasks/update, and tasks/cancel. Returns false for other methods. */
bool served_task_request(struct served_tasks *t, struct mcp_peer *p, const struct rpc_msg *m);

#endif
