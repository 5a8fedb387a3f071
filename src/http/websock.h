/* WebSocket as a client (RFC 6455), on the event loop: over wire.h, frames by websock_frame.h. No
 * extensions; every message comes whole. Pings go out while nothing comes; who answers none of them
 * is given up. Loop thread only; callbacks never from inside websock_open. */
#ifndef HTTP_WEBSOCK_H
#define HTTP_WEBSOCK_H

#include "http/client.h"

struct websock;

struct websock_request {
	const char *url;	 /* http or https (ws and wss with other names) */
	const char *unix_socket; /* path, instead of the network; NULL */
	/* "Name: value"; ends with NULL; may be NULL. Copied, wiped after use */
	const char *const *headers;
	/* offered, with ", " between; NULL none. The server must choose one of them */
	const char *protocols;
	/* given up after this time without data or an answer to a ping; 0 = 90 s */
	int64_t idle_us;
};

struct websock_end {
	/* HTTP_OK: closed as it should be, or an answer that was no upgrade (status) */
	enum http_how how;
	int status;	  /* of the answer to the upgrade: 101; 0 none came */
	int code;	  /* of the close frame; 0 none, 1005 one without */
	const char *text; /* one line, what failed; the close frame's reason */
	const char *body; /* of an answer that was no upgrade, the first 64 KiB of it; "" */
	size_t body_len;
};

struct websock_handler {
	void (*open)(void *self, const char *protocol); /* protocol: "" none */
	void (*message)(void *self, bool text, const void *bytes, size_t len);
	/* once, unless it is freed before */
	void (*end)(void *self, const struct websock_end *end);
	void *self;
};

struct websock *websock_open(struct http *h, const struct websock_request *req,
			     const struct websock_handler *handler);
void websock_send(struct websock *w, bool text, const void *bytes, size_t len); /* copied */
void websock_pause(struct websock *w, bool paused);
/* says goodbye if it can; allowed in callbacks; NULL inside is fine */
void websock_free(struct websock **w);

#endif
