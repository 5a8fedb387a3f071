#include "http/websock_server.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/sha1.h"
#include "base/text/utf8.h"
#include "http/websock_frame.h"
#include "loop/loop.h"

enum {
	READ_CHUNK = 64 << 10,
	PING_MS = 25000,
	IDLE_US = 90000000,
	GOODBYE_MS = 5000,
	PONGS_MAX = 8 << 10
};
enum {
	CLOSE_NORMAL = 1000,
	CLOSE_PROTOCOL = 1002,
	CLOSE_EMPTY = 1005,
	REASON_MAX = WS_CONTROL_MAX - 2
};

struct websock_door {
	struct loop *loop;
	const struct websock_door_ops *ops;
	void *self;
	int sock;
	struct loop_fd *watch;
	/* pings, and the time for a goodbye; work outside of the owner's call */
	struct loop_timer *timer, *kick;
	struct websock_reader reader;
	struct buf in, out; /* in: what came with the request, until kick */
	size_t sent;
	int64_t last_us;
	bool paused;
	bool said; /* our close frame is sent or queued */
	/* the owner has let it go: input is ignored, and it frees itself */
	bool leaving;
	bool over; /* nothing comes any longer */
	bool tell; /* the owner will be notified */
	bool *freed;
};

static void websock_server_watch(struct websock_door *w)
{
	unsigned in = w->paused && !w->leaving ? 0U : (unsigned)LOOP_READ;
	if (w->watch)
		loop_fd_events(w->watch,
			       in | (unsigned)LOOP_HUP |
				       (w->out.len > w->sent ? (unsigned)LOOP_WRITE : 0U));
}

static void websock_server_end(struct websock_door *w)
{
	if (w->over)
		return;
	w->over = true;
	w->tell = true;
	loop_fd_free(&w->watch);
	loop_timer_stop(w->timer);
	loop_timer_set(w->kick, 0, 0);
}

static void websock_server_send_some(struct websock_door *w)
{
	while (!w->over && w->out.len > w->sent) {
		ssize_t n = send(w->sock, w->out.data + w->sent, w->out.len - w->sent,
				 MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			break;
		if (n < 0) {
			websock_server_end(w);
			return;
		}
		w->sent += (size_t)n;
	}
	if (w->out.len - w->sent > HTTP_QUEUE_MAX)
		websock_server_end(w);
	if (w->sent == w->out.len) {
		buf_release(&w->out);
		w->sent = 0;
		if (w->said && w->sock >= 0)
			shutdown(w->sock, SHUT_WR);
	}
	websock_server_watch(w);
}

static void websock_server_say(struct websock_door *w, enum websock_op op, const void *bytes,
			       size_t len)
{
	if (w->over || w->said)
		return;
	websock_frame_plain(&w->out, op, bytes, len);
	w->said = op == WS_CLOSE;
	websock_server_send_some(w);
}

static void websock_server_say_close(struct websock_door *w, int code, const char *reason)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	size_t n = strlen(reason);
	while (n > REASON_MAX || (n && !utf8_valid(reason, n)))
		n--;
	buf_putc(&b, (char)(code >> 8));
	buf_putc(&b, (char)(code & 255));
	buf_append(&b, reason, n);
	websock_server_say(w, WS_CLOSE, b.data, b.len);
}

/* --- what comes ------------------------------------------------------------------------------- */

static bool websock_server_on_message(void *self, enum websock_op op, const void *bytes, size_t len)
{
	struct websock_door *w = self;
	const uint8_t *p = bytes;
	bool freed = false;
	if (op == WS_CLOSE) {
		websock_server_say_close(w, len >= 2 ? p[0] << 8 | p[1] : CLOSE_NORMAL, "");
		websock_server_end(w);
		return false;
	}
	if (op == WS_PING && w->out.len - w->sent < PONGS_MAX)
		websock_server_say(w, WS_PONG, bytes, len);
	if (op == WS_PING || op == WS_PONG)
		return true;
	w->freed = &freed;
	w->ops->message(w->self, op == WS_TEXT, bytes, len);
	if (!freed)
		w->freed = NULL;
	return !freed;
}

/* It may be gone after. The owner may close it in the middle of @bytes, which are not read on
 * then. */
static void websock_server_feed(struct websock_door *w, const void *bytes, size_t len)
{
	const char *why = NULL;
	if (websock_feed(&w->reader, bytes, len, &why) < 0) {
		websock_server_say_close(w, CLOSE_PROTOCOL, why);
		websock_server_end(w);
	}
}

/* Feeds the bytes that came with the request, before all others. @w may be freed by this. */
static void feed_first(struct websock_door *w)
{
	CLEANUP(buf_release) struct buf first = w->in;
	memset(&w->in, 0, sizeof(w->in));
	websock_server_feed(w, buf_cstr(&first), first.len);
}

static void websock_server_read_some(struct websock_door *w)
{
	buf_reserve(&w->in, READ_CHUNK);
	ssize_t n = recv(w->sock, w->in.data, READ_CHUNK, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		websock_server_end(w);
		return;
	}
	w->last_us = loop_now_us(w->loop);
	CLEANUP(buf_release) struct buf chunk = w->in; /* the owner may free us meanwhile */
	memset(&w->in, 0, sizeof(w->in));
	if (!w->leaving)
		websock_server_feed(w, chunk.data, (size_t)n);
}

static void websock_server_on_socket(void *self, int fd, unsigned events)
{
	struct websock_door *w = self;
	bool queued = w->out.len > w->sent;
	(void)fd;
	if (events & LOOP_WRITE)
		websock_server_send_some(w);
	if (w->over)
		return;
	if (queued && w->out.len == w->sent && !w->leaving)
		w->ops->drained(w->self); /* what comes is still there in the next turn */
	else if (w->in.len && !w->leaving)
		feed_first(w);
	else if (events & (LOOP_READ | LOOP_HUP))
		websock_server_read_some(w);
}

/* The bytes that came with the request, and the end: from the loop. */
static void websock_server_on_kick(void *self)
{
	struct websock_door *w = self;
	if (!w->over) {
		if (w->in.len && !w->leaving)
			feed_first(w);
	} else if (w->leaving) {
		websock_server_free(&w);
	} else if (w->tell) {
		w->tell = false;
		w->ops->gone(w->self);
	}
}

static void websock_server_on_timer(void *self)
{
	struct websock_door *w = self;
	if (w->leaving || (!w->paused && loop_now_us(w->loop) - w->last_us > IDLE_US)) {
		websock_server_end(w);
		return;
	}
	websock_server_say(w, WS_PING, "", 0);
	if (!w->over)
		loop_timer_set(w->timer, PING_MS, 0);
}

/* --- the owner's ------------------------------------------------------------------------------ */

static bool websock_server_has_word(const char *list, const char *word)
{
	for (const char *p = list; p && *p; p += strcspn(p, ","), p += *p == ',') {
		p += strspn(p, " \t");
		size_t len = strcspn(p, ", \t");
		if (len == strlen(word) && !strncasecmp(p, word, len))
			return true;
	}
	return false;
}

bool websock_server_asked(const struct http_ask *ask)
{
	return websock_server_has_word(http_ask_field(ask, "upgrade"), "websocket");
}

const char *websock_server_wrong(const struct http_ask *ask)
{
	const char *version = http_ask_field(ask, "sec-websocket-version"),
		   *key = http_ask_field(ask, "sec-websocket-key");
	if (strcmp(ask->method, "GET") != 0 || ask->old ||
	    !websock_server_has_word(http_ask_field(ask, "connection"), "upgrade"))
		return "a WebSocket begins with a GET of HTTP/1.1 that has 'Connection: Upgrade'";
	if (!version || strcmp(version, "13") != 0)
		return "version 13 of WebSocket is spoken here (Sec-WebSocket-Version)";
	return key && strlen(key) == 24 ? NULL : "Sec-WebSocket-Key: expected 16 bytes in base 64";
}

struct websock_door *websock_server_open(struct loop *l, struct http_visit *v, const char *protocol,
					 const struct websock_door_ops *ops, void *self)
{
	static const char guid[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
	CLEANUP(free_ptr)
	char *key =
		mem_printf("%s%s", http_ask_field(http_visit_ask(v), "sec-websocket-key"), guid);
	CLEANUP(buf_release) struct buf rest = BUF_INIT;
	uint8_t sum[SHA1_LEN];
	int sock = http_take(v, &rest);
	if (sock < 0)
		return NULL;
	struct websock_door *w = NEW(struct websock_door);
	*w = (struct websock_door){
		.loop = l, .ops = ops, .self = self, .sock = sock, .last_us = loop_now_us(l)
	};
	w->reader = (struct websock_reader){ .on_message = websock_server_on_message,
					     .self = w,
					     .of_client = true };
	w->watch = loop_fd_new(l, sock, LOOP_READ | LOOP_HUP, websock_server_on_socket, w);
	w->timer = loop_timer_new(l, websock_server_on_timer, w);
	w->kick = loop_timer_new(l, websock_server_on_kick, w);
	loop_timer_set(w->timer, PING_MS, 0);
	buf_append(&w->in, rest.data, rest.len);
	if (rest.len)
		loop_timer_set(w->kick, 0, 0);
	sha1_of(key, strlen(key), sum);
	buf_puts(
		&w->out,
		"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ");
	base64_append(&w->out, sum, sizeof(sum));
	if (protocol)
		buf_printf(&w->out, "\r\nSec-WebSocket-Protocol: %s", protocol);
	buf_puts(&w->out, "\r\n\r\n");
	websock_server_send_some(w);
	return w;
}

void websock_server_send(struct websock_door *w, bool text, const void *bytes, size_t len)
{
	websock_server_say(w, text ? WS_TEXT : WS_BYTES, bytes, len);
}

size_t websock_server_queued(const struct websock_door *w)
{
	return w->out.len - w->sent;
}

void websock_server_pause(struct websock_door *w, bool paused)
{
	w->paused = paused;
	w->last_us = loop_now_us(w->loop);
	websock_server_watch(w);
}

void websock_server_close(struct websock_door **wp, int code, const char *reason)
{
	struct websock_door *w = *wp;
	*wp = NULL;
	if (!w)
		return;
	if (w->freed)
		*w->freed = true; /* for the owner's callback it is gone */
	w->freed = NULL;
	w->leaving = true;
	if (w->over) {
		loop_timer_set(w->kick, 0, 0);
		return;
	}
	loop_timer_set(w->timer, GOODBYE_MS, 0);
	websock_server_say_close(w, code, reason);
}

void websock_server_free(struct websock_door **wp)
{
	struct websock_door *w = *wp;
	*wp = NULL;
	if (!w)
		return;
	if (w->freed)
		*w->freed = true;
	loop_fd_free(&w->watch);
	loop_timer_free(&w->timer);
	loop_timer_free(&w->kick);
	fd_close(&w->sock);
	websock_reader_release(&w->reader);
	buf_release(&w->in);
	buf_release(&w->out);
	free(w);
}
