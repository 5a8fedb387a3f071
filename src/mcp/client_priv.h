/* What the parts of the MCP client share: client.c has the connection and its requests,
 * client_open.c its opening and the list of tools, client_call.c the calls, client_task.c those
 * that became tasks. */
#ifndef MCP_CLIENT_PRIV_H
#define MCP_CLIENT_PRIV_H

#include "mcp/client.h"

#define MCP_META "io.modelcontextprotocol/"

enum { PROBE_MS = 3000 };

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

/* --- the connection and its requests (client.c) --- */
struct asked *new_asked(struct mcp_client *c, enum mcp_what w, int64_t timeout_ms);
void mcp_client_asked_free(struct asked *a);
/* Takes @params. */
void send_note(struct mcp_client *c, const char *method, json_t *params);
/* A line for the owner's log. */
void mcp_client_say(struct mcp_client *c, const char *text);
json_t *client_info(void); /* owned */
/* Sends @a under a new id; takes @params. */
void mcp_client_ask(struct mcp_client *c, struct asked *a, json_t *params);
/* Puts @a among the open ones without a request: no answer is for it. Its timers,
 * mcp_client_cancel, and the end of the connection find it. */
void mcp_client_keep(struct mcp_client *c, struct asked *a);
void mcp_client_unkeep(struct mcp_client *c, struct asked *a);
/* Sends a request whose answer nobody waits for; takes @params. */
void mcp_client_send_only(struct mcp_client *c, enum mcp_what w, const char *name, json_t *params);
struct loop *mcp_client_loop(const struct mcp_client *c);

/* --- its opening and the list of tools (client_open.c) --- */
/* Tells the owner once that the client is ready, or with @err that the server can't be used. */
void become_ready(struct mcp_client *c, const struct err *err);
/* The same with the error "@fmt: @text". */
void fail_open(struct mcp_client *c, enum err_code code, const char *fmt, const char *text);
void mcp_client_initialize(struct mcp_client *c); /* in the older era */
/* The answers to server/discover, initialize, and tools/list. */
void mcp_client_discovered(struct mcp_client *c, const json_t *r);
void mcp_client_initialized(struct mcp_client *c, const json_t *r);
void mcp_client_listed(struct mcp_client *c, const json_t *r);
void begin_list(struct mcp_client *c); /* or, while one is read, reads another behind it */

/* --- calls (client_call.c) --- */
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
