/* A connection with bytes both ways, for what begins as HTTP and then is something else
 * (websock.h). libcurl makes it, with its proxies and its TLS (HTTP/1.1 only); from then on the
 * bytes are the caller's. Loop thread only; callbacks never from inside a call. */
#ifndef HTTP_WIRE_H
#define HTTP_WIRE_H

#include "http/client.h"

struct wire;

struct wire_handler {
	void (*up)(void *self);
	void (*room)(void *self); /* some of the queued bytes were sent; may be NULL */
	void (*data)(void *self, const void *bytes, size_t len);
	/* Once, unless it is freed before. HTTP_OK: the other side has closed it. */
	void (*end)(void *self, enum http_how how, const char *text);
	void *self;
};

/* @url: http or https, of which host and port count. @unix_socket: path, instead of the network;
 * NULL. Free it before @h. */
struct wire *wire_new(struct http *h, const char *url, const char *unix_socket,
		      const struct wire_handler *handler);
void wire_free(struct wire **w); /* allowed in callbacks; bytes not sent yet are dropped */
/* all of it, sooner or later; copied; before up: kept */
void wire_send(struct wire *w, const void *bytes, size_t len);
/* no data while paused: the other side is slowed by its window */
void wire_pause(struct wire *w, bool paused);
size_t wire_unsent(const struct wire *w);

#endif
