/* MCP as a client, without its transports: the messages to a server, and the meaning of its
 * answers.
 *
 * 1. The era: server/discover is asked first. An answer, or one of the errors that only the new era
 *    knows, means 2026-07-28. Anything else, silence, or a dead process means initialize
 *    (2025-11-25 and before), on a new connection if the old one has gone.
 * 2. Ready means: era known, all pages of tools/list read. Tools with an unusable name or schema
 *    are left out.
 * 3. A call ends exactly once: result, error, time-out (the server is then asked to stop), or the
 *    server is gone.
 * 4. A server's requests to us are refused (ping is answered). Unrequested messages are counted and
 *    dropped. A changed list is read again.
 * Loop thread only. Callbacks never come from inside mcp_client_call. */
#ifndef MCP_CLIENT_H
#define MCP_CLIENT_H

#include "loop/loop.h"
#include "wire/jsonrpc.h"

struct mcp_client;

/* A message on its way out; borrowed for the call of send(). */
struct mcp_send {
	json_t *msg;
	uint64_t id;	     /* of a request; 0 for notes and answers */
	const char *method;  /* NULL for answers */
	const char *name;    /* params.name of tools/call, params.uri of resources/read; or NULL */
	const char *version; /* the protocol version that is spoken; NULL before it is known */
	const json_t *tool;  /* tools/call: the tool as listed; may be NULL */
	const json_t *args;  /* tools/call: the arguments */
	bool modern;
};

struct mcp_client_ops { /* transport first, then the owner */
	void (*send)(void *self, const struct mcp_send *m);
	/* a request is not waited for any longer; may be NULL */
	void (*drop)(void *self, uint64_t id);
	/* a new connection, for rule 1; false: there is none */
	bool (*again)(void *self);
	/* once; @err: it cannot be used, and why */
	void (*ready)(void *self, const struct err *err);
	void (*changed)(void *self); /* another list of tools; may be NULL */
	/* one line: tools or messages that were left out, and why; may be NULL */
	void (*log)(void *self, const char *text);
};

/* @open_us: how long the way to ready may take. @self is borrowed. */
struct mcp_client *mcp_client_new(struct loop *l, const struct mcp_client_ops *ops, void *self,
				  int64_t open_us);
void mcp_client_free(struct mcp_client **c); /* open calls get no callback */
void mcp_client_begin(struct mcp_client *c);
/* A message from the server. */
void mcp_client_take(struct mcp_client *c, const char *text, size_t len);
/* Request @id got no JSON-RPC answer: @status of HTTP, or 0 and @text. A call ends with ERR_NOENT
 * for 404: it has not begun. */
void mcp_client_refused(struct mcp_client *c, uint64_t id, int status, const char *text);
/* The connection has gone. All open calls end with @why. */
void mcp_client_lost(struct mcp_client *c, const struct err *why);

struct mcp_call_ops {
	/* @result: as of mcp_result_text, borrowed; or NULL and @err. */
	void (*done)(void *self, const json_t *result, const struct err *err);
	/* total 0: not known; may be NULL */
	void (*progress)(void *self, int64_t done, int64_t total, const char *text);
};
/* Returns the call's number. @args is borrowed (NULL: none). @timeout_us 0: 5 minutes; progress
 * sets it back. */
uint64_t mcp_client_call(struct mcp_client *c, const char *name, json_t *args, int64_t timeout_us,
			 const struct mcp_call_ops *ops, void *self);
/* Reads a resource; the same for the rest. */
uint64_t mcp_client_read(struct mcp_client *c, const char *uri, int64_t timeout_us,
			 const struct mcp_call_ops *ops, void *self);
/* no callback follows */
void mcp_client_cancel(struct mcp_client *c, uint64_t call, const char *why);
/* A harmless request, to see that it lives: ping, or discover in the new era. */
uint64_t mcp_client_ping(struct mcp_client *c, const struct mcp_call_ops *ops, void *self);

bool mcp_client_is_ready(const struct mcp_client *c);
bool mcp_client_modern(const struct mcp_client *c);
/* whether it offers resources */
bool mcp_client_has_resources(const struct mcp_client *c);
const char *mcp_client_version(const struct mcp_client *c); /* NULL before it is known */
const json_t *mcp_client_tools(const struct mcp_client *c); /* as listed; borrows */
/* the server's name and version; may be NULL */
const json_t *mcp_client_info(const struct mcp_client *c);
const char *mcp_client_instructions(const struct mcp_client *c); /* may be NULL */

#endif
