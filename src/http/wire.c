#include "http/wire.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "http/client_priv.h"
#include "loop/loop.h"

enum {
	CONNECT_MS = 10000,
	CHUNK = 32 << 10,
	CHUNKS_MAX = 8 /* in one turn: then others have theirs */
};

struct wire {
	struct http_transfer transfer; /* first */
	struct http *http;
	struct wire_handler handler;
	CURL *easy;
	struct loop_fd *fd;	  /* NULL: not up */
	struct loop_timer *again; /* libcurl may hold bytes that the socket doesn't report */
	struct buf out;
	bool paused, over;
	bool *freed; /* while a callback runs: set if it frees this */
	char fail[CURL_ERROR_SIZE];
};

static void wire_end(struct wire *w, enum http_how how, const char *text)
{
	if (w->over)
		return;
	w->over = true;
	loop_fd_free(&w->fd);
	loop_timer_stop(w->again);
	w->handler.end(w->handler.self, how, text);
}

static void wire_flush(struct wire *w)
{
	while (w->out.len) {
		size_t sent = 0;
		CURLcode code = curl_easy_send(w->easy, w->out.data, w->out.len, &sent);
		buf_drop(&w->out, sent);
		if (code == CURLE_AGAIN)
			break;
		if (code != CURLE_OK)
			return; /* reading says why */
	}
	loop_fd_events(w->fd, (w->paused ? 0u : LOOP_READ) | (w->out.len ? LOOP_WRITE : 0u));
}

static void wire_pull(void *self)
{
	struct wire *w = self;
	char chunk[CHUNK];
	bool freed = false;
	w->freed = &freed;
	for (int i = 0; i < CHUNKS_MAX && !w->paused && !w->over; i++) {
		size_t len = 0;
		CURLcode code = curl_easy_recv(w->easy, chunk, sizeof(chunk), &len);
		if (code == CURLE_AGAIN) {
			w->freed = NULL;
			return;
		}
		if (code != CURLE_OK || !len)
			wire_end(w, code == CURLE_OK ? HTTP_OK : HTTP_CUT,
				 code == CURLE_OK ? "the other side closed it"
						  : curl_easy_strerror(code));
		else
			w->handler.data(w->handler.self, chunk, len);
		if (freed)
			return;
	}
	w->freed = NULL;
	if (!w->paused && !w->over)
		loop_timer_set(w->again, 0, 0);
}

static void wire_on_fd(void *self, int fd, unsigned events)
{
	struct wire *w = self;
	(void)fd;
	bool freed = false;
	w->freed = &freed;
	if (events & LOOP_WRITE) {
		wire_flush(w);
		if (w->handler.room)
			w->handler.room(w->handler.self);
	}
	if (freed)
		return;
	w->freed = NULL;
	if (events & LOOP_READ)
		wire_pull(w);
}

static void wire_on_done(struct http_transfer *t, CURLcode code)
{
	struct wire *w = CONTAINER_OF(t, struct wire, transfer);
	curl_socket_t fd = CURL_SOCKET_BAD;
	if (code == CURLE_OK)
		curl_easy_getinfo(w->easy, CURLINFO_ACTIVESOCKET, &fd);
	if (fd == CURL_SOCKET_BAD) {
		bool tls =
			code == CURLE_SSL_CONNECT_ERROR || code == CURLE_PEER_FAILED_VERIFICATION;
		wire_end(w,
			 tls			       ? HTTP_TLS
			 : code == CURLE_URL_MALFORMAT ? HTTP_REFUSED
						       : HTTP_UNREACHED,
			 w->fail[0] ? w->fail : curl_easy_strerror(code));
		return;
	}
	w->fd = loop_fd_new(w->http->loop, fd, LOOP_READ, wire_on_fd, w);
	bool freed = false;
	w->freed = &freed;
	w->handler.up(w->handler.self);
	if (freed)
		return;
	wire_flush(w);
	if (w->handler.room)
		w->handler.room(w->handler.self);
	if (!freed)
		w->freed = NULL;
}

struct wire *wire_new(struct http *h, const char *url, const char *unix_socket,
		      const struct wire_handler *handler)
{
	struct wire *w = NEW(struct wire);
	w->transfer.done = wire_on_done;
	w->http = h;
	w->handler = *handler;
	w->again = loop_timer_new(h->loop, wire_pull, w);
	w->easy = curl_easy_init();
	curl_easy_setopt(w->easy, CURLOPT_PRIVATE, (char *)&w->transfer);
	curl_easy_setopt(w->easy, CURLOPT_URL, url);
	curl_easy_setopt(w->easy, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(w->easy, CURLOPT_CONNECT_ONLY, 1L);
	curl_easy_setopt(w->easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(w->easy, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
	curl_easy_setopt(w->easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(w->easy, CURLOPT_TCP_KEEPALIVE, 1L);
	curl_easy_setopt(w->easy, CURLOPT_ERRORBUFFER, w->fail);
	if (h->ca_file)
		curl_easy_setopt(w->easy, CURLOPT_CAINFO, h->ca_file);
	if (unix_socket)
		curl_easy_setopt(w->easy, CURLOPT_UNIX_SOCKET_PATH, unix_socket);
	const char *proxy = unix_socket ? "" : h->proxy;
	if (proxy)
		curl_easy_setopt(w->easy, CURLOPT_PROXY, proxy);
	bool was = h->inside;
	h->inside = true;
	/* begins by the timer, so nothing is called from here */
	curl_multi_add_handle(h->multi, w->easy);
	h->inside = was;
	return w;
}

void wire_free(struct wire **wp)
{
	struct wire *w = *wp;
	*wp = NULL;
	if (!w)
		return;
	if (w->freed)
		*w->freed = true;
	loop_fd_free(&w->fd); /* before its descriptor is closed */
	loop_timer_free(&w->again);
	bool was = w->http->inside;
	w->http->inside = true;
	curl_multi_remove_handle(w->http->multi, w->easy);
	curl_easy_cleanup(w->easy);
	w->http->inside = was;
	if (w->out.data)
		explicit_bzero(w->out.data, w->out.cap); /* heads hold keys */
	buf_release(&w->out);
	free(w);
}

void wire_send(struct wire *w, const void *bytes, size_t len)
{
	if (w->over)
		return;
	buf_append(&w->out, bytes, len);
	if (w->fd)
		wire_flush(w);
}

void wire_pause(struct wire *w, bool paused)
{
	if (w->paused == paused || w->over)
		return;
	w->paused = paused;
	if (!w->fd)
		return;
	loop_fd_events(w->fd, (paused ? 0u : LOOP_READ) | (w->out.len ? LOOP_WRITE : 0u));
	if (!paused)
		loop_timer_set(w->again, 0, 0);
}

size_t wire_unsent(const struct wire *w)
{
	return w->out.len;
}
