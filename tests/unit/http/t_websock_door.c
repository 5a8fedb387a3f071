/* WebSocket as a server: our own client on the other side, and a peer that breaks the rules. */
#include "http/websock_server.h"

#include <errno.h>

#include "http/websock.h"
#include "ws_peer.h"

enum { BIG_LEN = 24 << 20 };

struct house { /* a server that echoes */
	struct http_server *http;
	struct websock_door *door;
	struct buf heard;
	int gone, taken;
	bool close_in_message;
	struct buf last; /* said before it closes */
};

static void on_said(void *self, bool text, const void *bytes, size_t len)
{
	struct house *h = self;
	buf_printf(&h->heard, "%c%zu;", text ? 't' : 'b', len);
	websock_server_send(h->door, text, bytes, len);
	if (h->last.len)
		websock_server_send(h->door, false, h->last.data, h->last.len);
	if (h->close_in_message)
		websock_server_close(&h->door, 4001, "enough");
}

static void on_drained(void *self)
{
	((struct house *)self)->taken++;
}

static void on_left(void *self)
{
	struct house *h = self;
	h->gone++;
	websock_server_free(&h->door);
}

static void on_request(void *self, struct http_visit *v)
{
	static const struct websock_door_ops ops = { on_said, on_drained, on_left };
	struct house *h = self;
	const struct http_ask *ask = http_visit_ask(v);
	const char *wrong = websock_server_wrong(ask);
	if (!strcmp(ask->target, "/big")) {
		CLEANUP(free_ptr) char *big = pattern(BIG_LEN);
		http_reply(v, 200, "text/plain", NULL, big, BIG_LEN);
		return;
	}
	if (!websock_server_asked(ask) || wrong)
		http_reply(v, 426, "text/plain", NULL, wrong ? wrong : "", wrong ? strlen(wrong) : 0);
	else
		h->door = websock_server_open(loop, v, http_ask_field(ask, "sec-websocket-protocol") ? "one" : NULL, &ops, h);
}

static void on_gone(void *self, struct http_visit *v)
{
	(void)self;
	(void)v;
}

static void open_house(struct house *h)
{
	static const struct http_server_ops ops = { .request = on_request, .gone = on_gone };
	struct err err = ERR_INIT;
	ok(http_server_new(&h->http, loop, "127.0.0.1", 0, 1 << 20, &ops, h, &err) == 0, "a server listens");
}

static void close_house(struct house *h)
{
	websock_server_free(&h->door);
	http_server_free(&h->http);
	buf_release(&h->heard);
	buf_release(&h->last);
}

struct guest {
	struct websock *w;
	struct buf got;
	char protocol[8];
	int opens, messages, ends, code;
	char reason[64];
};

static void guest_open(void *self, const char *protocol)
{
	struct guest *g = self;
	g->opens++;
	snprintf(g->protocol, sizeof(g->protocol), "%s", protocol);
}

static void guest_message(void *self, bool text, const void *bytes, size_t len)
{
	struct guest *g = self;
	(void)text;
	g->messages++;
	buf_append(&g->got, bytes, len);
}

static void guest_end(void *self, const struct websock_end *e)
{
	struct guest *g = self;
	g->ends++;
	g->code = e->code ? e->code : e->status;
	snprintf(g->reason, sizeof(g->reason), "%s", e->text);
}

static void visit(struct guest *g, const struct house *h, const char *protocols)
{
	CLEANUP(free_ptr) char *url = mem_printf("http://127.0.0.1:%u/x", http_server_port(h->http));
	const struct websock_handler on = { guest_open, guest_message, guest_end, g };
	g->w = websock_open(http, &(struct websock_request){ .url = url, .protocols = protocols }, &on);
}

static void talk(void)
{
	struct house h = { 0 };
	struct guest g = { 0 };
	enum { BIG = 3 << 20 };
	CLEANUP(free_ptr) char *big = pattern(BIG);
	open_house(&h);
	visit(&g, &h, "one, two");
	websock_send(g.w, true, "hello", 5); /* before it is up */
	websock_send(g.w, false, big, BIG);
	websock_send(g.w, false, big, 300);
	websock_send(g.w, true, "", 0);
	TURN_WHILE(loop, g.messages < 4);
	ok(g.opens == 1 && !strcmp(g.protocol, "one"), "it is up, with a protocol of those that were offered");
	ok(!strcmp(buf_cstr(&h.heard), "t5;b3145728;b300;t0;"), "messages of every length come whole, in order");
	ok(g.got.len == 5 + BIG + 300 && !memcmp(g.got.data + 5, big, BIG), "and go back as they were");
	websock_free(&g.w);
	TURN_WHILE(loop, !h.gone);
	ok(h.gone == 1, "the owner is notified when the client leaves");
	buf_release(&g.got);
	close_house(&h);
}

static void goodbye(bool inside)
{
	struct house h = { .close_in_message = inside };
	struct guest g = { 0 };
	open_house(&h);
	visit(&g, &h, NULL);
	TURN_WHILE(loop, !g.opens);
	if (inside)
		websock_send(g.w, true, "bye", 3);
	else
		websock_server_close(&h.door, 4001, "enough");
	TURN_WHILE(loop, !g.ends);
	ok(g.code == 4001 && !strcmp(g.reason, "enough") && g.messages == inside, "a goodbye with its code and reason%s",
	   inside ? ", from a callback, behind what was said before" : "");
	ok(!g.protocol[0] && !h.gone, "and the owner hears no more of it");
	websock_free(&g.w);
	loop_turn(loop, 50);
	buf_release(&g.got);
	close_house(&h);
}

/* The server's answer to @ask, up to the end of the connection or @want. */
static void raw(struct house *h, const char *ask, size_t len, const char *want, const char *name)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(http_server_port(h->http)) };
	CLEANUP(buf_release) struct buf got = BUF_INIT;
	int64_t until_us = clock_mono_us() + PATIENCE_S * 1000000;
	char b[4096];
	ssize_t n = 1;
	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ok(connect(s, (struct sockaddr *)&a, sizeof(a)) == 0 && send(s, ask, len, 0) == (ssize_t)len, "%s", name);
	while (n && !(got.len && memmem(got.data, got.len, want, strlen(want))) && clock_mono_us() < until_us) {
		loop_turn(loop, 10);
		n = recv(s, b, sizeof(b), MSG_DONTWAIT);
		if (n > 0)
			buf_append(&got, b, (size_t)n);
	}
	ok(got.len && memmem(got.data, got.len, want, strlen(want)), "the refusal: %s", want);
	close(s);
}

#define UPGRADE "GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: keep-alive, Upgrade\r\n"
#define ASKED UPGRADE "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
#define RAW(ask, want, name) raw(&h, ask, sizeof(ask) - 1, want, name)

static void rules(void)
{
	struct house h = { 0 };
	open_house(&h);
	RAW(UPGRADE "Sec-WebSocket-Version: 8\r\n\r\n", "version 13", "another version");
	RAW(UPGRADE "Sec-WebSocket-Version: 13\r\n\r\n", "16 bytes", "no key");
	RAW(ASKED, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=", "the key of the RFC");
	TURN_WHILE(loop, h.gone < 1);
	RAW(ASKED "\x81\x82\1\2\3\4ik", "hi", "a frame that comes with the request is heard");
	TURN_WHILE(loop, h.gone < 2);
	RAW(ASKED "\x81\2hi", "is not masked", "a frame without a mask");
	TURN_WHILE(loop, h.gone < 3);
	RAW(ASKED "\x89\x82\1\2\3\4ik", "\x8a\2hi", "a ping is answered");
	TURN_WHILE(loop, h.gone < 4);
	ok(h.gone == 4 && !strcmp(buf_cstr(&h.heard), "t2;"), "and nothing else was heard");
	close_house(&h);
}

/* A client asks for another protocol before it has read the answer before: it doesn't wait without end. */
static void too_early(void)
{
	struct house h = { 0 };
	char b[4096];
	bool over = false;
	open_house(&h);
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(http_server_port(h.http)), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	static const char asks[] = "GET /big HTTP/1.1\r\nHost: x\r\n\r\n" ASKED;
	int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ok(connect(s, (struct sockaddr *)&a, sizeof(a)) == 0 && send(s, asks, sizeof(asks) - 1, 0) == sizeof(asks) - 1, "a big answer, not read");
	for (int i = 0; i < 20; i++)
		loop_turn(loop, 10);
	for (int64_t until_us = clock_mono_us() + PATIENCE_S * 1000000; !over && clock_mono_us() < until_us;) {
		ssize_t n = recv(s, b, sizeof(b), MSG_DONTWAIT);
		over = !n || (n < 0 && errno != EAGAIN);
		if (n < 0)
			loop_turn(loop, 10);
	}
	ok(over && !h.door && !h.gone, "then the connection ends, and the owner has no part in it");
	close(s);
	close_house(&h);
}

/* The owner sends much and closes during a client's frame. Its second half arrives before the owner's output is
 * read. */
static void much_before_goodbye(void)
{
	static const char ask[] = ASKED "\x81\x82\1\2\3\4ik\x82\xfe\1\0\1\2\3\4half", rest[] = "not of a frame's beginning";
	static const char close_frame[] = "\x88\x08\x0f\xa1" "enough";
	enum { MUCH = 24 << 20 };
	struct house h = { .close_in_message = true };
	CLEANUP(buf_release) struct buf got = BUF_INIT;
	CLEANUP(free_ptr) char *part = mem_alloc(1 << 20);
	open_house(&h);
	buf_reserve(&h.last, MUCH);
	memset(h.last.data, 'm', MUCH);
	h.last.len = MUCH;
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(http_server_port(h.http)), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ok(connect(s, (struct sockaddr *)&a, sizeof(a)) == 0 && send(s, ask, sizeof(ask) - 1, 0) == sizeof(ask) - 1, "a message and half of one");
	TURN_WHILE(loop, !h.heard.len);
	ok(!h.door && send(s, rest, sizeof(rest) - 1, MSG_NOSIGNAL) == sizeof(rest) - 1, "more comes when it is closed");
	loop_turn(loop, 50);
	ssize_t n = 1;
	for (int64_t until_us = clock_mono_us() + PATIENCE_S * 1000000; n && clock_mono_us() < until_us;) {
		n = recv(s, part, 1 << 20, MSG_DONTWAIT);
		if (n > 0)
			buf_append(&got, part, (size_t)n);
		else if (n)
			loop_turn(loop, 10);
	}
	size_t len = sizeof(close_frame) - 1;
	ok(!n && got.len > MUCH && !memcmp(got.data + got.len - len, close_frame, len), "all that was said goes out, then the goodbye (%zu bytes)", got.len);
	close(s);
	loop_turn(loop, 50);
	close_house(&h);
}

int main(void)
{
	if (!begin())
		return 1;
	talk();
	goodbye(false);
	goodbye(true);
	rules();
	too_early();
	much_before_goodbye();
	return end();
}
