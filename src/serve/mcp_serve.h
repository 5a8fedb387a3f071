/* sandglass as an MCP server, without its transports: messages in, messages out, tool calls to the
 * session.
 *
 * 1. Both eras at once. A request whose params._meta names a protocol version is complete on its
 *    own (2026-07-28: no handshake, "resultType" in every result). `initialize` and requests
 *    without such a _meta use the protocol of 2025-11-25 and before.
 * 2. A peer is a transport's client: the pipe, or one HTTP request. Messages to it go through its
 *    send(). When it leaves, its calls are cancelled.
 * 3. Requests are answered in the order in which they end. A cancelled one is not answered.
 * 4. While an action is pending approval, each client that gave a progress token is notified.
 * Loop thread only. */
#ifndef SERVE_MCP_SERVE_H
#define SERVE_MCP_SERVE_H

#include "serve/mcp_session.h"
#include "wire/jsonrpc.h"

struct mcp_server;

struct mcp_peer {
	/* Takes @msg. @last: the answer to request @id, or to a message that could not be read
	 * (then nothing else follows). */
	void (*send)(void *self, json_t *msg, bool last);
	void *self;
	/* what the client calls itself; owned by the peer's maker, free() it */
	char *client;
};

/* @opts: of the supervisor; takes it. */
struct mcp_server *mcp_server_new(struct loop *l, json_t *opts);
void mcp_server_free(struct mcp_server **s);
/* One message from @peer, borrowed until mcp_server_gone. */
void mcp_server_take(struct mcp_server *s, struct mcp_peer *peer, const char *text, size_t len);
void mcp_server_take_msg(struct mcp_server *s, struct mcp_peer *peer, const struct rpc_msg *m);
void mcp_server_gone(struct mcp_server *s, struct mcp_peer *peer);
/* A client has left for good: its sandboxes can go. */
void mcp_server_leave(struct mcp_server *s, const char *client);
size_t mcp_server_open(const struct mcp_server *s); /* requests that are not answered yet */
bool mcp_server_busy(const struct mcp_server *s, const struct mcp_peer *peer);

/* Prints @err with its hint on standard error. */
void mcp_serve_fail(const struct err *err);
/* Serves standard input and output until the input ends or a signal comes. Returns an exit
 * status. */
int mcp_serve_stdio(json_t *opts);

struct mcp_http {
	const char *address; /* "PORT", "HOST" or "HOST:PORT"; NULL: 127.0.0.1:8747 */
	bool open;	     /* without a token */
	bool quiet, json;    /* printed at the start: nothing, one JSON object */
};
/* Serves streamable HTTP at /mcp until a signal comes; says on standard error where, and how to get
 * in. */
int mcp_serve_http(json_t *opts, const struct mcp_http *how);

#endif
