/* What is under way over HTTP in `sandglass mcp serve --http`: sessions (2025-11-25 and before) and
 * streams.
 *
 *  1. A stream is one POST and its answer: JSON if the answer comes at once, else server-sent
 *  events. It is a peer of
 *     serve.h, so that what it has asked for is known by it.
 *  2. In the new era a stream ends with its connection, and that is how a request is cancelled. In
 *  the old one it lives on
 *     without a connection: its events have ids, "STREAM-N", and GET with Last-Event-ID takes it up
 *     again, up to
 *     KEEP_S after its end.
 *  3. A session is a client: its label is the agent's name in the record, and sandboxes belong to
 *  it. It ends with DELETE,
 *     or after an hour without a request.
 * Loop thread only. */
#ifndef SERVE_MCP_SERVE_WEB_H
#define SERVE_MCP_SERVE_WEB_H

#include "serve/mcp_serve.h"
#include "http/server.h"

struct web_session {
	struct web_session *next;
	char id[33];
	char *client;
	int64_t used_us;
};

struct web_stream {
	struct web_stream *next;
	struct web *web;
	struct web_session *session; /* NULL: the new era, or initialize */
	struct http_visit *visit;    /* NULL: nobody reads */
	struct mcp_peer peer;
	json_t *id; /* of the request; NULL: it only listens */
	char name[17];
	/* the sent events, for a client that resumes the stream; number 1 first */
	struct strv event;
	bool modern, initialize;
	bool takes_events; /* the client accepts a stream */
	bool lone_ids;	   /* and an id without a message (2025-11-25) */
	bool begun, ended;
	int64_t since_us, said_us;
};

struct web {
	struct loop *loop;
	struct mcp_server *server;
	struct web_session *sessions;
	struct web_stream *streams;
	struct loop_timer *tick;
	size_t nr_sessions, kept; /* kept: bytes of events */
};

void web_init(struct web *w, struct loop *l, struct mcp_server *s);
void web_release(struct web *w);

/* NULL: there is none */
struct web_session *web_session_of(struct web *w, const char *id);
void web_session_end(struct web *w, struct web_session *s);

struct web_how {	     /* of a stream */
	const char *version; /* that the client speaks */
	bool modern, initialize, takes_events;
};
/* A stream for the request @m. @session may be NULL. */
struct web_stream *web_stream_new(struct web *w, struct http_visit *v, struct web_session *session,
				  const struct rpc_msg *m, const struct web_how *how);
/* A stream on which nothing is asked: it only keeps the connection. */
void web_stream_listen(struct web *w, struct http_visit *v, struct web_session *session,
		       const char *version);
bool web_stream_listens(const struct web *w, const struct web_session *session);
/* Resumes the stream that event @last_id belongs to; false: there is none. */
bool web_stream_again(struct web *w, struct http_visit *v, struct web_session *session,
		      const char *last_id);
/* Is a request @id of the session not answered yet? */
bool web_stream_open(const struct web *w, const struct web_session *session, json_t *id);
/* A note from the session (a cancellation). */
void web_note(struct web *w, struct web_session *session, const struct rpc_msg *m);
void web_gone(struct web *w, struct http_visit *v); /* the connection has gone */

#endif
