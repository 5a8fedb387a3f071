#include "http/websock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/sha1.h"
#include "http/head.h"
#include "http/url.h"
#include "http/wire.h"
#include "http/websock_frame.h"
#include "loop/loop.h"

enum {
	HEAD_MAX = 64 << 10,
	BODY_MAX = 64 << 10,
	CLOSE_NORMAL = 1000,
	CLOSE_PROTOCOL = 1002,
	CLOSE_EMPTY = 1005
};
enum { ANSWER_US = 60000000, IDLE_US = 90000000 };
/* bytes of answers to pings that wait to be sent: who does not read them needs no more */
enum { PONGS_MAX = 8 << 10 };

struct websock {
	struct websock_handler handler;
	struct wire *wire;
	struct loop *loop;
	struct loop_timer *timer;
	struct websock_reader reader;
	struct buf head; /* of the answer */
	struct buf body; /* of an answer that is not an upgrade */
	struct http_chunks chunks;
	char *protocols, *protocol;
	char accept[32]; /* what the server must say */
	int64_t last_us, idle_us;
	int status, code;
	size_t body_len; /* its length, or the part of it that is kept */
	char *reason;
	size_t pongs; /* bytes of them since all was sent */
	bool up, turned_down, in_chunks, over, paused;
	bool *freed;
};

/* --- the end --- */

static void websock_end(struct websock *w, enum http_how how, const char *text)
{
	if (w->over)
		return;
	w->over = true;
	loop_timer_stop(w->timer);
	const struct websock_end e = { .how = how,
				       .status = w->status,
				       .code = w->code,
				       .text = text,
				       .body = buf_cstr(&w->body),
				       .body_len = w->body.len };
	w->handler.end(w->handler.self, &e);
}

static void websock_say_close(struct websock *w, int code)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	const char body[2] = { (char)(code >> 8), (char)(code & 255) };
	websock_frame(&b, WS_CLOSE, body, sizeof(body));
	wire_send(w->wire, b.data, b.len);
}

/* --- the answer to the upgrade --- */

/* The value of a header line of the head, NULL if there is none. Returns owned. */
static char *websock_field(const struct websock *w, const char *name)
{
	size_t n = strlen(name);
	for (const char *p = strchr(buf_cstr(&w->head), '\n'); p; p = strchr(p, '\n')) {
		p++;
		if (strncasecmp(p, name, n) != 0 || p[n] != ':')
			continue;
		const char *v = p + n + 1 + strspn(p + n + 1, " \t");
		size_t len = strcspn(v, "\r\n");
		while (len && (v[len - 1] == ' ' || v[len - 1] == '\t'))
			len--;
		return mem_strndup(v, len);
	}
	return NULL;
}

/* @list: words with commas between. */
static bool websock_has_word(const char *list, const char *word)
{
	size_t n = strlen(word);
	for (const char *p = list; p && *p; p += strcspn(p, ","), p += *p == ',') {
		p += strspn(p, " \t");
		size_t len = strcspn(p, ", \t");
		if (len == n && !strncasecmp(p, word, n))
			return true;
	}
	return false;
}

static const char *not_upgraded(struct websock *w)
{
	CLEANUP(free_ptr)
	char *upgrade = websock_field(w, "upgrade"), *connection = websock_field(w, "connection");
	CLEANUP(free_ptr)
	char *accept = websock_field(w, "sec-websocket-accept"),
	     *ext = websock_field(w, "sec-websocket-extensions");
	w->protocol = websock_field(w, "sec-websocket-protocol");
	if (!websock_has_word(upgrade, "websocket") || !websock_has_word(connection, "upgrade"))
		return "the answer 101 does not upgrade to websocket";
	if (!accept || strcmp(accept, w->accept) != 0)
		return "the answer doesn't match the request (Sec-WebSocket-Accept)";
	if (ext && *ext)
		return "the server requires an extension that was not offered";
	if (w->protocol ? !w->protocols || !websock_has_word(w->protocols, w->protocol)
			: w->protocols != NULL)
		return "the server speaks none of the protocols that were offered";
	return NULL;
}

static void answer_ping(struct websock *w, const void *bytes, size_t len)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	if (!wire_unsent(w->wire))
		w->pongs = 0;
	if (w->pongs >= PONGS_MAX)
		return;
	websock_frame(&b, WS_PONG, bytes, len);
	w->pongs += b.len;
	wire_send(w->wire, b.data, b.len);
}

static bool websock_on_message(void *self, enum websock_op op, const void *bytes, size_t len)
{
	struct websock *w = self;
	bool freed = false, *outer = w->freed;
	w->freed = &freed;
	if (op == WS_PING) {
		answer_ping(w, bytes, len);
	} else if (op == WS_CLOSE) {
		const uint8_t *p = bytes;
		w->code = len >= 2 ? p[0] << 8 | p[1] : CLOSE_EMPTY;
		w->reason =
			mem_strndup(len > 2 ? (const char *)bytes + 2 : "", len > 2 ? len - 2 : 0);
		websock_say_close(w, w->code == CLOSE_EMPTY ? CLOSE_NORMAL : w->code);
		websock_end(w, HTTP_OK, w->reason);
	} else if (op != WS_PONG) {
		w->handler.message(w->handler.self, op == WS_TEXT, bytes, len);
	}
	if (!freed)
		w->freed = outer;
	else if (outer)
		*outer = true;
	return !freed && !w->over;
}

static void websock_feed_bytes(struct websock *w, const void *bytes, size_t len)
{
	const char *why = NULL;
	int rc = websock_feed(&w->reader, bytes, len, &why);
	if (rc >= 0)
		return; /* 1: we may be gone */
	websock_say_close(w, CLOSE_PROTOCOL);
	websock_end(w, HTTP_CUT, why);
}

static void websock_open_up(struct websock *w, const char *rest, size_t len)
{
	bool freed = false, *outer = w->freed;
	w->up = true;
	w->freed = &freed;
	w->handler.open(w->handler.self, w->protocol ? w->protocol : "");
	if (freed) {
		if (outer)
			*outer = true;
		return;
	}
	w->freed = outer;
	if (len)
		websock_feed_bytes(w, rest, len);
}

/* An answer that is not an upgrade: its body says why. */
static void websock_take_body(struct websock *w, const char *bytes, size_t len)
{
	bool whole;
	if (w->in_chunks) {
		whole = http_chunks_feed(&w->chunks, bytes, len, BODY_MAX, &w->body) < 0 ||
			w->chunks.done;
	} else {
		buf_append(&w->body, bytes, len);
		whole = w->body.len >= w->body_len;
	}
	if (whole)
		websock_end(w, HTTP_OK, "");
}

static void begin_body(struct websock *w)
{
	CLEANUP(free_ptr)
	char *length = websock_field(w, "content-length"),
	     *coding = websock_field(w, "transfer-encoding");
	unsigned long len = length ? strtoul(length, NULL, 10) : BODY_MAX;
	w->turned_down = true;
	w->in_chunks = websock_has_word(coding, "chunked");
	w->body_len = len < BODY_MAX ? len : BODY_MAX;
}

/* The whole head is there, and its fields end where it does. NULL: it is one. */
static const char *head_wrong(struct websock *w)
{
	int minor = 0;
	bool http = !memchr(buf_cstr(&w->head), 0, w->head.len) &&
		    sscanf(buf_cstr(&w->head), "HTTP/1.%1d %3d", &minor, &w->status) == 2 &&
		    w->status >= 100;
	if (http && w->status == 101 && minor == 1)
		return not_upgraded(w);
	if (http && w->status != 101)
		return NULL;
	w->status = 0;
	return "the server does not speak HTTP";
}

static void websock_take_head(struct websock *w, const void *bytes, size_t len)
{
	CLEANUP(buf_release) struct buf rest = BUF_INIT;
	buf_append(&w->head, bytes, len);
	const char *shut = memmem(w->head.data, w->head.len, "\r\n\r\n", 4);
	if (!shut && w->head.len > HEAD_MAX)
		websock_end(w, HTTP_CUT, "the head of the answer is too long");
	if (!shut)
		return;
	size_t head = (size_t)(shut + 4 - w->head.data);
	buf_append(&rest, shut + 4, w->head.len - head);
	w->head.len = head;
	w->head.data[head] = 0;
	const char *why = head_wrong(w);
	if (why) {
		websock_end(w, HTTP_CUT, why);
	} else if (w->status == 101) {
		websock_open_up(w, rest.data, rest.len);
	} else {
		begin_body(w);
		websock_take_body(w, buf_cstr(&rest), rest.len);
	}
}

/* --- the wire --- */

static void websock_on_up(void *self)
{
	struct websock *w = self;
	w->last_us = loop_now_us(w->loop);
}

static void websock_on_data(void *self, const void *bytes, size_t len)
{
	struct websock *w = self;
	bool freed = false;
	w->freed = &freed;
	w->last_us = loop_now_us(w->loop);
	if (w->over) {
		w->freed = NULL;
		return;
	}
	if (w->up)
		websock_feed_bytes(w, bytes, len);
	else if (w->turned_down)
		websock_take_body(w, bytes, len);
	else
		websock_take_head(w, bytes, len);
	if (!freed)
		w->freed = NULL;
}

static void websock_on_end(void *self, enum http_how how, const char *text)
{
	struct websock *w = self;
	if (w->turned_down)
		websock_end(w, HTTP_OK, "");
	else
		websock_end(w, how == HTTP_OK ? HTTP_CUT : how,
			    how == HTTP_OK ? "the connection was closed" : text);
}

static void websock_on_timer(void *self)
{
	struct websock *w = self;
	int64_t quiet = loop_now_us(w->loop) - w->last_us;
	if (!w->paused && quiet > (w->up ? w->idle_us : ANSWER_US)) {
		if (w->turned_down)
			websock_end(w, HTTP_OK, ""); /* without the rest of its body */
		else
			websock_end(w, HTTP_SLOW,
				    w->up ? "nothing came, not even an answer to a ping"
					  : "no answer to the upgrade");
		return;
	}
	if (w->up && quiet > w->idle_us / 4) {
		CLEANUP(buf_release) struct buf b = BUF_INIT;
		websock_frame(&b, WS_PING, "", 0);
		wire_send(w->wire, b.data, b.len);
	}
	loop_timer_set(w->timer, (uint64_t)w->idle_us / 4000, 0);
}

static void websock_ask(struct websock *w, const struct url *u, const struct websock_request *req)
{
	static const char guid[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
	CLEANUP(buf_release) struct buf key = BUF_INIT, head = BUF_INIT, accept = BUF_INIT;
	uint8_t random[16], sum[SHA1_LEN];
	random_bytes(random, sizeof(random));
	base64_append(&key, random, sizeof(random));
	const char *path = strchr(strstr(u->text, "://") + 3, '/');
	const char *host = strstr(u->text, "://") + 3;
	buf_printf(&head,
		   "GET %s HTTP/1.1\r\nHost: %.*s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n",
		   path ? path : "/", (int)strcspn(host, "/"), host);
	buf_printf(&head, "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: %s\r\n", buf_cstr(&key));
	if (w->protocols)
		buf_printf(&head, "Sec-WebSocket-Protocol: %s\r\n", w->protocols);
	for (size_t i = 0; req->headers && req->headers[i]; i++)
		buf_printf(&head, "%s\r\n", req->headers[i]);
	buf_puts(&head, "\r\n");
	buf_puts(&key, guid);
	sha1_of(key.data, key.len, sum);
	base64_append(&accept, sum, sizeof(sum));
	snprintf(w->accept, sizeof(w->accept), "%s", buf_cstr(&accept));
	wire_send(w->wire, head.data, head.len);
	explicit_bzero(head.data, head.cap);
}

static void websock_refuse(void *self)
{
	struct websock *w = self;
	websock_end(w, HTTP_REFUSED, w->reason);
}

struct websock *websock_open(struct http *h, const struct websock_request *req,
			     const struct websock_handler *handler)
{
	struct websock *w = NEW(struct websock);
	struct url u = { 0 };
	struct err err = ERR_INIT;
	w->handler = *handler;
	w->loop = http_loop(h);
	w->reader = (struct websock_reader){ .on_message = websock_on_message, .self = w };
	w->protocols = req->protocols ? mem_strdup(req->protocols) : NULL;
	w->idle_us = req->idle_us ? req->idle_us : IDLE_US;
	w->last_us = loop_now_us(w->loop);
	if (url_parse(&u, NULL, req->url, &err) < 0) {
		w->reason = mem_strdup(err.text);
		w->timer = loop_timer_new(w->loop, websock_refuse, w);
		loop_timer_set(w->timer, 0, 0);
		return w;
	}
	const struct wire_handler wire = {
		.up = websock_on_up, .data = websock_on_data, .end = websock_on_end, .self = w
	};
	w->wire = wire_new(h, u.text, req->unix_socket, &wire);
	w->timer = loop_timer_new(w->loop, websock_on_timer, w);
	loop_timer_set(w->timer, (uint64_t)w->idle_us / 4000, 0);
	websock_ask(w, &u, req);
	url_release(&u);
	return w;
}

void websock_send(struct websock *w, bool text, const void *bytes, size_t len)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	if (w->over || !w->wire)
		return;
	websock_frame(&b, text ? WS_TEXT : WS_BYTES, bytes, len);
	wire_send(w->wire, b.data, b.len);
}

void websock_pause(struct websock *w, bool paused)
{
	w->paused = paused;
	w->last_us = loop_now_us(w->loop);
	if (w->wire)
		wire_pause(w->wire, paused);
}

void websock_free(struct websock **wp)
{
	struct websock *w = *wp;
	*wp = NULL;
	if (!w)
		return;
	if (w->freed)
		*w->freed = true;
	if (w->up && !w->over)
		websock_say_close(w, CLOSE_NORMAL);
	wire_free(&w->wire);
	loop_timer_free(&w->timer);
	websock_reader_release(&w->reader);
	buf_release(&w->head);
	buf_release(&w->body);
	free(w->protocols);
	free(w->protocol);
	free(w->reason);
	free(w);
}
