/* The egress proxy between real sockets; "localhost" stands for a server outside. */
#include "proxy/egress.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "tap.h"

static struct loop *loop;
static int64_t idle_us;
static unsigned max_conns;
static int server;
static uint16_t server_port, proxy_port;

/* The proxy's questions and reports. */
static struct {
	unsigned asks, ends;
	uint64_t ticket, end_ticket;
	char host[300], why[40], method[10], path[100], address[48];
	bool listed, connected;
	uint64_t up, down;
	enum { ALLOW, DENY, WAIT } mode;
	struct egress *e;
} seen;

static void on_ask(void *self, uint64_t ticket, const struct egress_want *w)
{
	(void)self;
	seen.asks++;
	seen.ticket = ticket;
	seen.listed = w->listed;
	snprintf(seen.host, sizeof seen.host, "%s:%u", w->host, w->port);
	snprintf(seen.method, sizeof seen.method, "%s", w->method);
	snprintf(seen.path, sizeof seen.path, "%s", w->path ? w->path : "");
	if (seen.mode != WAIT)
		egress_answer(seen.e, ticket, seen.mode == ALLOW, "because");
}

static void on_ended(void *self, uint64_t ticket, const struct egress_end *e)
{
	(void)self;
	seen.ends++;
	seen.end_ticket = ticket;
	seen.connected = e->connected;
	seen.up = e->up_bytes;
	seen.down = e->down_bytes;
	snprintf(seen.why, sizeof seen.why, "%s", e->why);
	snprintf(seen.address, sizeof seen.address, "%s", e->address);
}

static const struct egress_ops ops = { .ask = on_ask, .ended = on_ended };

static int listener(uint16_t *port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof a;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (bind(fd, (struct sockaddr *)&a, sizeof a) < 0 || listen(fd, 16) < 0 ||
	    getsockname(fd, (struct sockaddr *)&a, &len) < 0)
		exit(1);
	*port = ntohs(a.sin_port);
	return fd;
}

static int client(const char *text)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_port = htons(proxy_port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct err err = ERR_INIT;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (connect(fd, (struct sockaddr *)&a, sizeof a) < 0 || fd_write_all(fd, text, strlen(text), &err) < 0 ||
	    fd_nonblock(fd, &err) < 0)
		exit(1);
	return fd;
}

static void turns(int ms)
{
	int64_t end = clock_mono_us() + ms * 1000;
	while (clock_mono_us() < end)
		loop_turn(loop, 2);
}

/* Waits for an event that must come, for as long as a slow host takes. */
#define UNTIL(what)                                                                                                    \
	for (int64_t end_ = clock_mono_us() + 20000000; !(what) && clock_mono_us() < end_;)                            \
	loop_turn(loop, 2)

/* Reads from @fd until @text has come, the other side closes, or 10 s pass. */
static bool until_text(int fd, struct buf *in, const char *text)
{
	int64_t end = clock_mono_us() + 10000000;
	while (clock_mono_us() < end && !(text && strstr(buf_cstr(in), text))) {
		char b[4096];
		loop_turn(loop, 2);
		ssize_t n = recv(fd, b, sizeof b, MSG_DONTWAIT);
		if (n == 0 || (n < 0 && errno != EAGAIN))
			return text == NULL;
		if (n > 0)
			buf_append(in, b, (size_t)n);
	}
	return text && strstr(buf_cstr(in), text);
}

static int accepted(void)
{
	for (int i = 0; i < 2000; i++) {
		int fd = accept4(server, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd >= 0)
			return fd;
		loop_turn(loop, 5);
	}
	return -1;
}

static void start(const char *const *allow, size_t nr, bool local, bool with_ops)
{
	struct egress_opts o = { .allow = allow, .nr_allow = nr, .http = true, .local = local, .idle_us = idle_us, .max_conns = max_conns };
	uint16_t ports[] = { 443, 80, server_port };
	o.ports = ports;
	o.nr_ports = 3;
	memset(&seen, 0, sizeof seen);
	seen.e = egress_new(loop, listener(&proxy_port), &o, with_ops ? &ops : NULL, NULL);
}

static void stop(void)
{
	egress_free(&seen.e);
	turns(5);
}

/* One request that must be refused with @want in the answer. */
static void refused(const char *request, const char *want, const char *what)
{
	struct buf in = BUF_INIT;
	int fd = client(request);
	until_text(fd, &in, want);
	if (!ok(strstr(buf_cstr(&in), want) != NULL, "%s", what))
		printf("# got %.20s\n", buf_cstr(&in));
	close(fd);
	turns(5);
	buf_release(&in);
}

static void test_connect(void)
{
	struct buf in = BUF_INIT;
	char request[200], want[100];
	start(NULL, 0, true, true);
	snprintf(request, sizeof request, "CONNECT LocalHost.:%u HTTP/1.1\r\nHost: localhost\r\n\r\n", server_port);
	int fd = client(request), peer = accepted();
	ok(peer >= 0, "an allowed connection reaches the server");
	ok(until_text(fd, &in, "\r\n\r\n") && strstr(buf_cstr(&in), "HTTP/1.1 200 "), "and the client gets status 200");
	snprintf(want, sizeof want, "localhost:%u", server_port);
	is_str(seen.host, want, "the question names the host");
	ok(seen.asks == 1 && !seen.listed && strcmp(seen.method, "CONNECT") == 0,
	   "once, and says that it is on no list");
	buf_reset(&in);
	ok(send(fd, "ping", 4, 0) == 4 && until_text(peer, &in, "ping"), "bytes go out");
	buf_reset(&in);
	ok(send(peer, "pong!", 5, 0) == 5 && until_text(fd, &in, "pong!"), "and come in");
	shutdown(fd, SHUT_WR);
	buf_reset(&in);
	ok(until_text(peer, &in, NULL), "an end is passed on");
	ok(send(peer, "late", 4, 0) == 4, "while the other half stays open");
	close(peer);
	buf_reset(&in);
	until_text(fd, &in, NULL);
	is_str(buf_cstr(&in), "late", "until it ends too");
	close(fd);
	UNTIL(seen.ends);
	turns(20);
	ok(seen.ends == 1 && seen.end_ticket == seen.ticket && seen.connected && seen.up == 4 && seen.down == 9,
	   "the end reports its bytes (%s)", seen.why);
	ok(strcmp(seen.address, "127.0.0.1") == 0 || strcmp(seen.address, "::1") == 0, "and the address: %s",
	   seen.address);
	is_int(egress_conns(seen.e), 0, "nothing is left");
	stop();
	buf_release(&in);
}

static void test_denied(void)
{
	char request[200];
	start(NULL, 0, true, true);
	seen.mode = DENY;
	snprintf(request, sizeof request, "CONNECT localhost:%u HTTP/1.1\r\n\r\n", server_port);
	refused(request, "\"error\":\"net.egress\"", "a denied connection gets a typed answer");
	refused(request, "\"ask\":\"net.egress localhost:", "with the rule to ask for");
	refused(request, "\"why\":\"because\"", "and the reason");
	ok(strcmp(seen.why, "denied") == 0 && !seen.connected, "and its end is reported");
	ok(accept4(server, NULL, NULL, SOCK_NONBLOCK) < 0, "nothing went out");
	unsigned asks = seen.asks;
	refused("CONNECT 127.0.0.1:443 HTTP/1.1\r\n\r\n", " 403 ", "an address is refused without a question");
	refused("CONNECT [::1]:443 HTTP/1.1\r\n\r\n", " 400 ", "also in brackets");
	refused("CONNECT localhost:22 HTTP/1.1\r\n\r\n", "only if the list names it", "and so is a port outside the list");
	refused("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", " 400 ", "and a request without a proxy address");
	is_int(seen.asks, asks, "no question was asked");
	ok(seen.end_ticket == 0, "and the end has no ticket");
	stop();

	start(NULL, 0, false, true);
	snprintf(request, sizeof request, "CONNECT localhost:%u HTTP/1.1\r\n\r\n", server_port);
	refused(request, "destination_ip_prohibited", "a name that leads inside is refused after the lookup");
	is_str(seen.why, "address", "and said so");
	refused("CONNECT no-such-name.invalid:443 HTTP/1.1\r\n\r\n", "dns_error", "a name that leads nowhere");
	stop();
}

static void test_list(void)
{
	static const char *const allow[] = { "localhost" };
	char request[200];
	snprintf(request, sizeof request, "CONNECT localhost:%u HTTP/1.1\r\n\r\n", server_port);
	start(allow, 1, true, false);
	refused(request, " 200 ", "without a policy check the list decides");
	refused("CONNECT other.invalid:443 HTTP/1.1\r\n\r\n", "not on the list", "a host outside the list is refused");
	stop();
	start(NULL, 0, true, false);
	refused(request, "not on the list", "an empty list allows nothing");
	stop();
	close(accepted());
}

static void test_waiting(void)
{
	struct buf in = BUF_INIT;
	char request[200];
	start(NULL, 0, true, true);
	seen.mode = WAIT;
	snprintf(request, sizeof request, "CONNECT localhost:%u HTTP/1.1\r\n\r\n", server_port);
	int fd = client(request);
	UNTIL(seen.asks);
	turns(50);
	ok(seen.asks == 1 && recv(fd, request, 1, MSG_DONTWAIT) < 0, "a question may stay open");
	egress_answer(seen.e, seen.ticket + 1, true, NULL);
	turns(10);
	ok(accept4(server, NULL, NULL, SOCK_NONBLOCK) < 0, "another ticket's answer is not its answer");
	egress_answer(seen.e, seen.ticket, true, NULL);
	int peer = accepted();
	ok(peer >= 0 && until_text(fd, &in, " 200 "), "the late answer counts");
	close(peer);
	close(fd);
	UNTIL(seen.ends);
	fd = client("CONNECT localhost:443 HTTP/1.1\r\n\r\n");
	UNTIL(seen.asks == 2);
	close(fd);
	UNTIL(seen.ends == 2);
	is_str(seen.why, "cancelled", "a box that gives up takes its question back");
	egress_answer(seen.e, seen.ticket, true, NULL);
	stop();
	buf_release(&in);
}

static void test_plain(void)
{
	struct buf in = BUF_INIT;
	char request[400], want[300];
	start(NULL, 0, true, true);
	snprintf(request, sizeof request,
		 "POST http://localhost:%u/a?b HTTP/1.1\r\nHost: localhost:%u\r\nProxy-Connection: "
		 "x\r\nContent-Length: 5\r\n\r\n"
		 "helloPOST http://elsewhere/ HTTP/1.1\r\n\r\n",
		 server_port, server_port);
	int fd = client(request), peer = accepted();
	until_text(peer, &in, "hello");
	turns(20);
	until_text(peer, &in, "hello");
	snprintf(want, sizeof want,
		 "POST /a?b HTTP/1.1\r\nHost: localhost:%u\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello",
		 server_port);
	is_str(buf_cstr(&in), want, "a plain request is rewritten, and nothing passes after its body");
	is_str(seen.path, "/a?b", "the question names the path");
	buf_reset(&in);
	ok(send(peer, "HTTP/1.1 204 No\r\n\r\n", 19, 0) == 19, "the server answers");
	close(peer);
	until_text(fd, &in, NULL);
	is_str(buf_cstr(&in), "HTTP/1.1 204 No\r\n\r\n", "and its answer comes back");
	close(fd);
	turns(10);
	stop();
	buf_release(&in);
}

static void test_sni(void)
{
	/* a hello for "evil.example", and one that is cut short */
	static const char hello[] = "\x16\x03\x01\x00\x44\x01\x00\x00\x40\x03\x03"
				    "0123456789abcdef0123456789abcdef\x00\x00\x02\x13\x01\x01\x00\x00\x15"
				    "\x00\x00\x00\x11\x00\x0f\x00\x00\x0c"
				    "evil.example";
	struct buf in = BUF_INIT;
	char request[200], b[10];
	start(NULL, 0, true, true);
	snprintf(request, sizeof request, "CONNECT localhost:%u HTTP/1.1\r\n\r\n", server_port);
	int fd = client(request), peer = accepted();
	until_text(fd, &in, "\r\n\r\n");
	ok(send(fd, hello, 30, 0) == 30, "a TLS hello begins");
	turns(20);
	ok(recv(peer, b, sizeof b, MSG_DONTWAIT) < 0 && errno == EAGAIN, "nothing goes out before its name is known");
	ok(send(fd, hello + 30, sizeof hello - 1 - 30, 0) == sizeof hello - 1 - 30, "it names another host");
	UNTIL(seen.ends);
	is_str(seen.why, "sni", "the connection is closed");
	buf_reset(&in);
	until_text(fd, &in, "\x70");
	ok(in.len >= 7 && !memcmp(in.data + in.len - 7, "\x15\x03\x03\x00\x02\x02\x70", 7), "the client gets an alert that names the reason");
	buf_reset(&in);
	ok(until_text(peer, &in, NULL) && in.len == 0, "without a byte");
	close(peer);
	close(fd);
	stop();
	buf_release(&in);
}

/* A server that says nothing: how long that may last, and what the client gets then. */
static void test_silence(void)
{
	struct buf in = BUF_INIT;
	char request[200];
	idle_us = 300000;
	start(NULL, 0, true, true);
	snprintf(request, sizeof request, "GET http://localhost:%u/ HTTP/1.1\r\nHost: localhost:%u\r\n\r\n", server_port, server_port);
	int fd = client(request), peer = accepted();
	ok(until_text(fd, &in, "\r\n\r\n") && !strncmp(buf_cstr(&in), "HTTP/1.1 504 ", 13), "a server that stays silent becomes a 504");
	ok(strstr(buf_cstr(&in), "error=connection_read_timeout") != NULL, "whose proxy status names the cause");
	is_str(seen.why, "idle", "as does its end");
	close(peer);
	close(fd);
	stop();
	idle_us = 0;
	buf_release(&in);
}

/* More connections than may be open: they wait for one to end and are served then. */
static void test_full(void)
{
	struct buf in = BUF_INIT;
	char request[200];
	max_conns = 2;
	start(NULL, 0, true, true);
	snprintf(request, sizeof request, "CONNECT localhost:%u HTTP/1.1\r\n\r\n", server_port);
	int fd[3], peer[3];
	for (int i = 0; i < 2; i++) {
		fd[i] = client(request);
		peer[i] = accepted();
		until_text(fd[i], &in, "\r\n\r\n");
	}
	fd[2] = client(request);
	turns(50);
	is_int(egress_conns(seen.e), 2, "the third of two connections waits");
	close(fd[0]);
	close(peer[0]);
	peer[2] = accepted();
	buf_reset(&in);
	ok(until_text(fd[2], &in, " 200 "), "and is let through when one has ended");
	for (int i = 1; i < 3; i++) {
		close(fd[i]);
		close(peer[i]);
	}
	stop();
	max_conns = 0;
	buf_release(&in);
}

static void test_much(void)
{
	struct buf in = BUF_INIT;
	char request[200];
	start(NULL, 0, true, true);
	snprintf(request, sizeof request, "CONNECT localhost:%u HTTP/1.1\r\n\r\n", server_port);
	int fd = client(request), peer = accepted();
	until_text(fd, &in, "\r\n\r\n");
	enum { MUCH = 8 << 20 };
	size_t sent = 0, got = 0;
	static char block[65536];
	for (int i = 0; i < 200000 && got < MUCH; i++) {
		ssize_t n = sent < MUCH ? send(peer, block, sizeof block, MSG_DONTWAIT | MSG_NOSIGNAL) : 0;
		sent += n > 0 ? (size_t)n : 0;
		loop_turn(loop, 0);
		if (n > 0 && sent < MUCH / 2)
			continue; /* the reader is late: what does not fit must wait at the sender */
		n = recv(fd, block, sizeof block, MSG_DONTWAIT);
		got += n > 0 ? (size_t)n : 0;
	}
	ok(got >= MUCH, "much goes through (%zu)", got);
	egress_free(&seen.e);
	is_int(recv(fd, block, 1, 0) >= 0, 1, "the end of the proxy is the end of its connections");
	close(peer);
	close(fd);
	turns(5);
	buf_release(&in);
}

static void need_localhost(void)
{
	struct addrinfo *found = NULL;
	if (getaddrinfo("localhost", NULL, NULL, &found) != 0)
		skip_all("the name localhost does not resolve here: give it a line in /etc/hosts");
	freeaddrinfo(found);
}

int main(void)
{
	struct err err = ERR_INIT;
	need_localhost();
	if (loop_new(&loop, &err) < 0)
		return 1;
	server = listener(&server_port);
	test_connect();
	test_denied();
	test_list();
	test_waiting();
	test_plain();
	test_sni();
	test_silence();
	test_full();
	test_much();
	close(server);
	loop_turn(loop, 0);
	loop_free(loop);
	return done_testing();
}
