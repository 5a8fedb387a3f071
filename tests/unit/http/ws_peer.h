/* A peer for the WebSocket client and the wire below it: a thread with plain sockets, one
 * connection each, that plays what a test gives it. */
#include "http/client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/sha1.h"
#include "http/websock_frame.h"
#include "loop/loop.h"

#include "../tap.h"

static struct loop *loop;
static struct http *http;

/* Turns the loop while `more` holds, for as long as a peer waits at most: by the clock, since a
 * slow machine needs more turns. */
#define TURN_WHILE(loop, more)                                                                     \
	for (int64_t until_us = clock_mono_us() + PATIENCE_S * 1000000;                            \
	     (more) && clock_mono_us() < until_us;)                                                \
	loop_turn(loop, 50)

enum { PATIENCE_S = 20 };

static bool begin(void)
{
	struct err err = ERR_INIT;
	hash_init();
	return loop_new(&loop, &err) == 0 &&
	       http_new(&http, loop, &(struct http_settings){ .proxy = "" }, &err) == 0;
}

static int end(void)
{
	http_free(&http);
	loop_turn(loop, 0);
	loop_free(loop);
	return done_testing();
}

__attribute__((unused)) static char *pattern(size_t len)
{
	char *p = mem_alloc(len + 1);
	for (size_t i = 0; i < len; i++)
		p[i] = (char)(i * 7 + len);
	return p;
}

struct peer {
	int fd, sock; /* listens; the connection */
	pthread_t thread;
	char *url;
	struct buf ask;	  /* the head of the request */
	char accept[32];  /* what it is answered with */
	struct buf frame; /* payload of the frame that was heard last */
	unsigned op;	  /* its opcode; 0xff none: the connection has ended */
	bool unmasked;	  /* a frame without a mask was heard */
	const void *play_self;
	void (*play)(struct peer *p);
};

__attribute__((unused)) static bool say(struct peer *p, const void *bytes, size_t len)
{
	for (size_t at = 0; at < len;) {
		ssize_t n = send(p->sock, (const char *)bytes + at, len - at, MSG_NOSIGNAL);
		if (n <= 0)
			return false;
		at += (size_t)n;
	}
	return true;
}

__attribute__((unused)) static bool take_exactly(struct peer *p, void *to, size_t len)
{
	for (size_t at = 0; at < len;) {
		ssize_t n = recv(p->sock, (char *)to + at, len - at, 0);
		if (n <= 0)
			return false;
		at += (size_t)n;
	}
	return true;
}

/* A frame as servers send it. */
__attribute__((unused)) static void put_frame(struct buf *b, unsigned first, const void *bytes,
					      size_t len)
{
	unsigned wide = len < 126 ? 0 : len < 65536 ? 2 : 8;
	buf_putc(b, (char)first);
	buf_putc(b, (char)(wide == 0 ? len : wide == 2 ? 126 : 127));
	for (unsigned i = wide; i; i--)
		buf_putc(b, (char)((len >> (8 * (i - 1))) & 255));
	buf_append(b, bytes, len);
}

__attribute__((unused)) static void say_frame(struct peer *p, unsigned first, const void *bytes,
					      size_t len)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	put_frame(&b, first, bytes, len);
	say(p, b.data, b.len);
}

__attribute__((unused)) static void say_close(struct peer *p, unsigned code, const char *why)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	buf_putc(&b, (char)(code >> 8));
	buf_putc(&b, (char)(code & 255));
	buf_puts(&b, why);
	say_frame(p, 0x88, b.data, b.len);
}

/* Reads the client's next frame; false at the end. */
__attribute__((unused)) static bool hear(struct peer *p)
{
	uint8_t head[2], more[8], mask[4];
	buf_reset(&p->frame);
	p->op = 0xff;
	if (!take_exactly(p, head, 2))
		return false;
	uint64_t len = head[1] & 127;
	unsigned wide = len < 126 ? 0 : len == 126 ? 2 : 8;
	if (!take_exactly(p, more, wide))
		return false;
	for (unsigned i = 0; i < wide; i++)
		len = (i ? len << 8 : 0) | more[i];
	p->unmasked |= !(head[1] & 128) || (head[0] & 0x70);
	if (!take_exactly(p, mask, 4) || len > 16 << 20)
		return false;
	buf_reserve(&p->frame, len + 1);
	if (!take_exactly(p, p->frame.data, len))
		return false;
	for (size_t i = 0; i < len; i++)
		p->frame.data[i] = (char)((uint8_t)p->frame.data[i] ^ mask[i % 4]);
	p->frame.len = len;
	p->frame.data[len] = 0;
	p->op = head[0] & 15;
	return true;
}

__attribute__((unused)) static unsigned heard_code(const struct peer *p)
{
	return p->op == WS_CLOSE && p->frame.len >= 2
		       ? (unsigned)(uint8_t)p->frame.data[0] << 8 | (uint8_t)p->frame.data[1]
		       : 0;
}

__attribute__((unused)) static void until_closed(struct peer *p)
{
	char b[4096];
	while (recv(p->sock, b, sizeof b, 0) > 0)
		;
}

/* The connection is reset instead of closed. */
__attribute__((unused)) static void reset(struct peer *p)
{
	struct linger now = { 1, 0 };
	setsockopt(p->sock, SOL_SOCKET, SO_LINGER, &now, sizeof now);
}

__attribute__((unused)) static void accept_of(const char *key, char out[32])
{
	CLEANUP(buf_release) struct buf b = BUF_INIT, text = BUF_INIT;
	uint8_t sum[SHA1_LEN];
	buf_printf(&b, "%s258EAFA5-E914-47DA-95CA-C5AB0DC85B11", key);
	sha1_of(b.data, b.len, sum);
	base64_append(&text, sum, sizeof sum);
	snprintf(out, 32, "%s", buf_cstr(&text));
}

__attribute__((unused)) static bool read_ask(struct peer *p)
{
	char b[4096];
	while (!strstr(buf_cstr(&p->ask), "\r\n\r\n")) {
		ssize_t n = recv(p->sock, b, sizeof b, 0);
		if (n <= 0)
			return false;
		buf_append(&p->ask, b, (size_t)n);
	}
	const char *key = strstr(buf_cstr(&p->ask), "Sec-WebSocket-Key: ");
	if (key) {
		key += strlen("Sec-WebSocket-Key: ");
		CLEANUP(free_ptr) char *value = mem_strndup(key, strcspn(key, "\r"));
		accept_of(value, p->accept);
	}
	return true;
}

/* The answer that opens, with what follows in the same breath. */
__attribute__((unused)) static void welcome(struct peer *p, const char *more, const void *bytes,
					    size_t len)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	buf_printf(
		&b,
		"HTTP/1.1 101 Switching Protocols\r\nupgrade: WebSocket\r\n"
		"Connection: keep-alive, Upgrade\r\n"
		"Sec-WebSocket-Accept:  %s \r\n%s\r\n",
		p->accept, more);
	buf_append(&b, bytes, len);
	say(p, b.data, b.len);
}

__attribute__((unused)) static void *serve(void *self)
{
	struct peer *p = self;
	struct timeval limit = { PATIENCE_S, 0 };
	int one = 1;
	p->sock = accept(p->fd, NULL, NULL);
	if (p->sock < 0)
		return NULL;
	setsockopt(p->sock, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
	setsockopt(p->sock, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
	setsockopt(p->sock, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	if (read_ask(p))
		p->play(p);
	close(p->sock);
	return NULL;
}

__attribute__((unused)) static void start(struct peer *p, void (*play)(struct peer *p),
					  const void *play_self)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof a;
	*p = (struct peer){ .fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0),
			    .sock = -1,
			    .play = play,
			    .play_self = play_self };
	if (bind(p->fd, (struct sockaddr *)&a, sizeof a) < 0 || listen(p->fd, 4) < 0)
		exit(1);
	getsockname(p->fd, (struct sockaddr *)&a, &len);
	p->url = mem_printf("http://127.0.0.1:%u/a/b?c=d", ntohs(a.sin_port));
	pthread_create(&p->thread, NULL, serve, p);
}

__attribute__((unused)) static void join(struct peer *p)
{
	shutdown(p->fd, SHUT_RDWR);
	pthread_join(p->thread, NULL);
	close(p->fd);
}

__attribute__((unused)) static void peer_release(struct peer *p)
{
	buf_release(&p->ask);
	buf_release(&p->frame);
	free(p->url);
}
