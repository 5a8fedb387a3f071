/* WebSocket as a server (RFC 6455): a request of http/server.h that asks for it becomes one. No
 * extensions; every message comes whole, at most WS_MESSAGE_MAX bytes. Pings go out while nothing
 * comes; a client that answers none is given up. A client that sends an invalid frame gets a close
 * frame (1002) and is cut off. Loop thread only; callbacks never from inside a function of this
 * header. */
#ifndef HTTP_WEBSOCK_SERVER_H
#define HTTP_WEBSOCK_SERVER_H

#include "http/server.h"

struct websock_door;

struct websock_door_ops {
	void (*message)(void *self, bool text, const void *bytes, size_t len);
	void (*drained)(void *self); /* all that was sent is on its way */
	/* the client has left; once, and not after websock_server_close. Close or free it here or
	 * later */
	void (*gone)(void *self);
};

/* it asks for an upgrade to WebSocket, well or badly */
bool websock_server_asked(const struct http_ask *ask);
/* The error in the upgrade request, a static sentence; NULL: none. */
const char *websock_server_wrong(const struct http_ask *ask);

/* Says 101 with @protocol (of those that were offered; NULL none). Takes the connection: @v is gone
 * after; NULL: so is the client. */
struct websock_door *websock_server_open(struct loop *l, struct http_visit *v, const char *protocol,
					 const struct websock_door_ops *ops, void *self);
/* copied */
void websock_server_send(struct websock_door *w, bool text, const void *bytes, size_t len);
/* bytes that the client has not taken */
size_t websock_server_queued(const struct websock_door *w);
void websock_server_pause(struct websock_door *w, bool paused);
/* Closes the connection; @reason: at most 123 bytes, more is cut. Queued bytes still go out, if the
 * client takes them within 5 seconds; input is ignored from now on. It frees itself. */
void websock_server_close(struct websock_door **w, int code, const char *reason);
void websock_server_free(struct websock_door **w); /* cuts it off; NULL inside is fine */

#endif
