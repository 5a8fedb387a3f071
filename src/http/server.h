/* HTTP/1.1 as a server, for few and mostly local clients (sandglass mcp serve --http): whole
 * requests in, answers or streams out; also the way from a sandbox to its model (src/inside).
 *
 *  1. Requests of one connection are answered one after another; each gets exactly one http_reply,
 *     or one http_begin and one http_finish. Until then its visit lives, unless gone() reports that
 *     the client went away: then it is freed when gone() returns. Callbacks never come from inside
 *     a function of this header.
 *  2. Bounds: HTTP_CLIENTS_MAX connections, body_max bytes of a body, a minute for a request to
 *     arrive and for a client to take the answer, HTTP_QUEUE_MAX bytes that it has not taken. A
 *     client that exceeds them gets an error status, or is cut off.
 *     Bodies of all servers of the process take HTTP_ROOM_MAX bytes of memory (http_room_take): a
 *     request that doesn't fit is answered with a 503.
 *  3. No TLS, no compression, no ranges: a front end that has them may stand before it
 *     (http_server_add).
 *
 * The owner decides which clients may ask. Loop thread only; callbacks may call everything here. */
#ifndef HTTP_SERVER_H
#define HTTP_SERVER_H

#include "http/head.h"

struct loop;
struct http_server;
struct http_visit;

enum { HTTP_CLIENTS_MAX = 256, HTTP_QUEUE_MAX = 64 << 20, HTTP_ROOM_MAX = 512 << 20 };

struct http_server_ops {
	void (*request)(void *self, struct http_visit *v);
	void (*gone)(void *self, struct http_visit *v);
	/* A CONNECT request, in place of request(). NULL: refused with a 405. */
	void (*connect)(void *self, struct http_visit *v);
	/* All written bytes were sent (http_queued is 0 again). May be NULL. */
	void (*drained)(void *self, struct http_visit *v);
};

/* @host: an address or a name, e.g. "127.0.0.1", "::1", "localhost"; @port 0: a free one. @ops and
 * @self are borrowed. */
NODISCARD int http_server_new(struct http_server **out, struct loop *l, const char *host,
			      uint16_t port, size_t body_max, const struct http_server_ops *ops,
			      void *self, struct err *err);
/* The same on a socket that listens already (taken; that of a box's own loopback, driver.h). Never
 * NULL. */
struct http_server *http_server_on(struct loop *l, int listener, size_t body_max,
				   const struct http_server_ops *ops, void *self);
/* Takes a connection that was accepted elsewhere, non-blocking. Its requests with a path alone have
 * the authority @host. */
void http_server_add(struct http_server *s, int sock, const char *host);
size_t http_server_added(const struct http_server *s); /* such connections that are open */
/* Ends all connections, without gone(). Not from a callback. */
void http_server_free(struct http_server **s);
uint16_t http_server_port(const struct http_server *s);
bool http_server_local(const struct http_server *s); /* listens on a loopback address only */

const struct http_ask *http_visit_ask(const struct http_visit *v); /* borrows */
/* borrows; empty when there is none */
const struct buf *http_visit_body(const struct http_visit *v);
/* Moves the body to @out, which is empty; its room is the caller's (http_room_give). */
void http_visit_take_body(struct http_visit *v, struct buf *out);
/* Room for bodies, parsed ones too, in all servers. False: there is not so much. */
bool http_room_take(size_t bytes);
void http_room_give(size_t bytes);
void *http_visit_tag(const struct http_visit *v); /* the owner's; NULL at first */
void http_visit_set_tag(struct http_visit *v, void *tag);

/* The whole answer; @v is gone after. @type NULL: no body. @headers: "Name: value" lines that end
 * with NULL; may be NULL. */
void http_reply(struct http_visit *v, int status, const char *type, const char *const *headers,
		const void *body, size_t len);
/* A stream (in chunks): begin, any number of writes, finish (@v is gone after). A client that is
 * too slow is cut off. */
void http_begin(struct http_visit *v, int status, const char *type, const char *const *headers);
void http_write(struct http_visit *v, const void *bytes, size_t len);
void http_finish(struct http_visit *v);
size_t http_queued(const struct http_visit *v); /* bytes that the client has not taken */
bool http_begun(const struct http_visit *v);	/* its stream has begun */
/* Ends the connection at once: an answer that broke off must not look whole. @v is gone after,
 * without gone(). */
void http_break(struct http_visit *v);
/* Takes its connection for another protocol (http/websock_server.h): the socket, and in @rest the
 * bytes already received. @v is gone after, without gone(), and the server no longer owns the
 * connection. -1: the connection has gone, or ended here because an earlier answer was still on
 * its way; gone() will not be called. */
NODISCARD int http_take(struct http_visit *v, struct buf *rest);

#endif
