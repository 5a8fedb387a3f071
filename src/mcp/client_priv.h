/* What the parts of the MCP client share: client.c has the connection and its requests,
 * client_task.c the calls that became tasks. */
#ifndef MCP_CLIENT_PRIV_H
#define MCP_CLIENT_PRIV_H

#include "mcp/client.h"

#define MCP_META "io.modelcontextprotocol/"

enum mcp_what {
	ASK_DISCOVER,
	ASK_INITIALIZE,
	ASK_LIST,
	ASK_CALL,
	ASK_PING,
	ASK_LISTEN,
	ASK_READ,
	ASK_TASK,	/* tasks/get */
	ASK_TASK_INPUT, /* tasks/update */
	ASK_TASK_STOP,	/* tasks/cancel: nobody waits for its answer */
};

struct asked {
	uint64_t id;   /* on the wire; 0 while it waits to ask for its task again */
	uint64_t call; /* the owner's number, the id of its first request */
	enum mcp_what what;
	char *name;   /* of the tool, URI of the resource, id of the task */
	json_t *args; /* of the tool, until it has become a task */
	unsigned rounds;
	int64_t timeout_ms; /* of a request */
	int64_t limit_ms;   /* of a call; 0: the usual one */
	struct loop_timer *timer;
	struct mcp_client *client;
	const struct mcp_call_ops *ops;
	void *self;
	struct mcp_task *task; /* NULL: an ordinary call */
};

/* Sends @a under a new id; takes @params. */
void mcp_client_ask(struct mcp_client *c, struct asked *a, json_t *params);
/* Puts @a among the open ones without a request: no answer is for it. Its timers, mcp_client_cancel,
 * and the end of the connection find it. */
void mcp_client_keep(struct mcp_client *c, struct asked *a);
void mcp_client_unkeep(struct mcp_client *c, struct asked *a);
/* Sends a request whose answer nobody waits for; takes @params. */
void mcp_client_send_only(struct mcp_client *c, enum mcp_what w, const char *name, json_t *params);
struct loop *mcp_client_loop(const struct mcp_client *c);
/* Ends the call: exactly one of @result (a CallToolResult or the like) and @err. Frees @a. */
void mcp_client_call_done(struct mcp_client *c, struct asked *a, const json_t *result,
			  const struct err *err);
/* Answers that decline each request for a user's input. NULL: one of them can't be declined. */
json_t *mcp_client_declined(const json_t *wanted);

/* --- calls that became tasks (client_task.c) --- */
/* The server's answer to a call names a task (2026-07-28, extension "tasks"): asks for it until it
 * has ended, its time is up, or the call is cancelled. */
bool mcp_is_task(const json_t *result);
void mcp_task_begin(struct mcp_client *c, struct asked *a, const json_t *result);
/* An answer to tasks/get or tasks/update; @a is not among the open ones. */
void mcp_task_answer(struct mcp_client *c, struct asked *a, const json_t *result,
		     const struct err *err);
/* Asks the server to stop the task. */
void mcp_task_stop(struct mcp_client *c, const struct asked *a);
/* The time for one call is up: what its error says. */
void mcp_task_late(const struct asked *a, struct err *err);
void mcp_task_free(struct mcp_task **t);

#endif
