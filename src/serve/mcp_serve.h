/* sandglass as an MCP server, without its transports: messages in, messages out, tool calls to the
 * session.
 *
 *  1. Both eras at once. A request whose params._meta names a protocol version is answered by
 *  itself (2026-07-28: no
 *     handshake, "resultType" in every result); `initialize` and what has no such _meta is the
 *     protocol of 2025-11-25 and
 *     before.
 *  2. A peer is whatever one transport calls a client: the pipe, or one HTTP request. What it is
 *  sent goes through its
 *     send(); when it goes away its calls are cancelled.
 *  3. Requests are answered in the order in which they end. A cancelled one is not answered.
 *  4. While an action waits for a person, whoever gave a progress token is told so.
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
/* A client whose sandboxes nobody will ask for any more. */
void mcp_server_leave(struct mcp_server *s, const char *client);
size_t mcp_server_open(const struct mcp_server *s); /* requests that are not answered yet */
bool mcp_server_busy(const struct mcp_server *s, const struct mcp_peer *peer);

/* Serves standard input and output until the input ends or a signal comes. Returns an exit
 * status. */
int mcp_serve_stdio(json_t *opts);

struct mcp_http {
	const char *address; /* "PORT", "HOST" or "HOST:PORT"; NULL: 127.0.0.1:8747 */
	bool open;	     /* without a token */
	bool quiet, json;    /* what is said at the start: nothing, one JSON object */
};
/* Serves streamable HTTP at /mcp until a signal comes; says on standard error where, and how to get
 * in. */
int mcp_serve_http(json_t *opts, const struct mcp_http *how);

#endif
