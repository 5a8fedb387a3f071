/* The client against a server that answers with scripted bytes: a thread with plain sockets. */
#include "http/client.h"
#include "http/retry.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/mem.h"
#include "loop/loop.h"

#include "../tap.h"

/* --- the server: one answer per connection, or several by keep-alive ------------------------------------------- */

struct server {
	int fd;
	uint16_t port;
	pthread_t thread;
	const char *const *answer; /* pieces; NULL ends an answer; "~" waits 30 ms, "_" 250 ms; "!" closes; "#" waits without end */
	int connections;
	struct buf got; /* all requests */
};

static bool read_request(struct server *s, int fd)
{
	size_t start = s->got.len;
	for (;;) {
		char b[4096];
		ssize_t n = read(fd, b, sizeof b);
		if (n <= 0)
			return false;
		buf_append(&s->got, b, (size_t)n);
		const char *text = buf_cstr(&s->got) + start, *end = strstr(text, "\r\n\r\n");
		if (!end)
			continue;
		const char *cl = strcasestr(text, "content-length: ");
		size_t want = cl && cl < end ? (size_t)strtoul(cl + 16, NULL, 10) : 0;
		while (s->got.len - start < (size_t)(end + 4 - text) + want) {
			n = read(fd, b, sizeof b);
			if (n <= 0)
				return false;
			buf_append(&s->got, b, (size_t)n);
			text = buf_cstr(&s->got) + start;
			end = strstr(text, "\r\n\r\n");
		}
		return true;
	}
}

/* False: the connection is done with. */
static bool play(struct server *s, int fd)
{
	for (; *s->answer; s->answer++) {
		const char *a = *s->answer;
		if (strcmp(a, "~") == 0 || strcmp(a, "_") == 0)
			usleep(*a == '_' ? 250000 : 30000);
		else if (strcmp(a, "!") == 0) {
			s->answer += 2;
			return false;
		} else if (strcmp(a, "#") == 0) {
			struct pollfd p = { fd, POLLRDHUP, 0 };
			poll(&p, 1, 5000);
			s->answer += 2;
			return false;
		} else if (write(fd, a, strlen(a)) < 0)
			return false;
	}
	s->answer++;
	return true;
}

static void *serve(void *self)
{
	struct server *s = self;
	while (*s->answer) {
		int fd = accept(s->fd, NULL, NULL);
		if (fd < 0)
			break;
		s->connections++;
		while (*s->answer && read_request(s, fd) && play(s, fd))
			;
		close(fd);
	}
	return NULL;
}

static void start(struct server *s, const char *const *answer)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof a;
	*s = (struct server){ .fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), .answer = answer };
	if (bind(s->fd, (struct sockaddr *)&a, sizeof a) < 0 || listen(s->fd, 16) < 0)
		exit(1);
	getsockname(s->fd, (struct sockaddr *)&a, &len);
	s->port = ntohs(a.sin_port);
	pthread_create(&s->thread, NULL, serve, s);
}

static void stop(struct server *s)
{
	shutdown(s->fd, SHUT_RDWR);
	pthread_join(s->thread, NULL);
	close(s->fd);
	buf_release(&s->got);
}

/* --- what a call saw -------------------------------------------------------------------------------------------- */

struct saw {
	struct http_call *call;
	struct buf body, head, text, trailers;
	int heads, ends, status, cancel_at; /* cancel at the nth data */
	int datas;
	bool pause_once;
	enum http_how how;
	struct http_end end;
	struct retry_hint hint;
};

static void on_head(void *self, const struct http_head *h)
{
	struct saw *s = self;
	s->heads++;
	s->status = h->status;
	for (size_t i = 0; i < h->nr; i++)
		buf_printf(&s->head, "%s=%s;", h->header[i].name, h->header[i].value);
	s->hint = retry_hint(h, 1000000000);
}

static void on_data(void *self, const void *p, size_t len)
{
	struct saw *s = self;
	buf_append(&s->body, p, len);
	if (++s->datas == s->cancel_at)
		http_cancel(&s->call);
	else if (s->pause_once && s->datas == 1)
		http_pause(s->call, true);
}

static void on_end(void *self, const struct http_end *e)
{
	struct saw *s = self;
	s->ends++;
	s->how = e->how;
	s->end = *e;
	buf_puts(&s->text, e->text);
	for (size_t i = 0; i < e->nr_trailers; i++)
		buf_printf(&s->trailers, "%s=%s;", e->trailer[i].name, e->trailer[i].value);
	s->call = NULL;
}

static void begin(struct http *h, struct saw *s, struct http_request *r)
{
	struct http_handler on = { on_head, on_data, on_end, s };
	s->call = http_send(h, r, &on);
}

static void until(struct loop *l, const struct saw *s, int turns)
{
	for (int i = 0; i < turns && !s->ends; i++)
		loop_turn(l, 50);
}

static void saw_release(struct saw *s)
{
	buf_release(&s->body);
	buf_release(&s->head);
	buf_release(&s->text);
	buf_release(&s->trailers);
}

static void get(struct http *h, struct loop *l, const struct server *srv, const char *path, struct saw *s,
		struct http_request r)
{
	char *url = mem_printf("http://127.0.0.1:%u%s", srv->port, path);
	r.url = url;
	begin(h, s, &r);
	free(url); /* all is copied */
	until(l, s, 100);
}

/* --- cases ------------------------------------------------------------------------------------------------------ */

static void plain(struct http *h, struct loop *l)
{
	static const char *const answers[] = {
		"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nX-A:  b \r\nContent-Length: 5\r\n\r\nhe", "~", "llo", NULL,
		"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno", NULL,
		"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n", NULL,
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", "~", "2\r\nde\r\n0\r\nX-End: fine\r\n\r\n", NULL, NULL,
	};
	struct server srv;
	struct saw a = { 0 }, b = { 0 }, c = { 0 }, d = { 0 };
	start(&srv, answers);
	get(h, l, &srv, "/x", &a, (struct http_request){ 0 });
	is_int(a.how, HTTP_OK, "an answer");
	is_str(buf_cstr(&a.body), "hello", "whole, though it came in pieces");
	is_str(buf_cstr(&a.head), "content-type=text/plain;x-a=b;content-length=5;", "headers in lower case, trimmed");
	ok(a.heads == 1 && a.ends == 1 && a.end.bytes == 5 && a.end.first_us >= 0, "head and end once");
	const char *const headers[] = { "x-api-key: k123", "Content-Type: application/json", NULL };
	get(h, l, &srv, "/y", &b,
	    (struct http_request){ .headers = headers, .body = "{\"a\":1}", .body_len = 7 });
	is_int(b.status, 404, "a failure status is an answer");
	ok(b.how == HTTP_OK && b.end.reused, "over the connection that was open");
	ok(strstr(buf_cstr(&srv.got), "POST /y HTTP/1.1") && strstr(buf_cstr(&srv.got), "x-api-key: k123") &&
		   strstr(buf_cstr(&srv.got), "{\"a\":1}"),
	   "method, headers and body went out");
	ok(!strstr(buf_cstr(&srv.got), "Expect:") && !strcasestr(buf_cstr(&srv.got), "accept-encoding"),
	   "no waiting for 100, no compression asked for");
	get(h, l, &srv, "/z", &c, (struct http_request){ 0 });
	ok(c.status == 302 && c.how == HTTP_OK, "a redirect is not followed");
	get(h, l, &srv, "/c", &d, (struct http_request){ 0 });
	is_str(buf_cstr(&d.body), "abcde", "chunks are taken apart");
	is_str(buf_cstr(&d.trailers), "x-end=fine;", "fields after them are trailers");
	ok(!strstr(buf_cstr(&d.head), "x-end") && !a.end.nr_trailers, "and nothing else");
	is_int(srv.connections, 1, "one connection for all");
	stop(&srv);
	saw_release(&a);
	saw_release(&b);
	saw_release(&c);
	saw_release(&d);
}

static void broken(struct http *h, struct loop *l)
{
	static const char *const answers[] = {
		"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhalf", "!", NULL,
		"!", NULL,
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "!", NULL,
		"nonsense\r\n\r\n", "!", NULL, NULL,
	};
	struct server srv;
	start(&srv, answers);
	struct saw a = { 0 }, b = { 0 }, c = { 0 }, d = { 0 }, e = { 0 }, f = { 0 };
	get(h, l, &srv, "/", &a, (struct http_request){ 0 });
	ok(a.how == HTTP_CUT && a.status == 200 && a.end.bytes == 4, "cut in the body: %s", buf_cstr(&a.text));
	get(h, l, &srv, "/", &b, (struct http_request){ 0 });
	ok(b.how == HTTP_CUT && b.status == 0, "no answer at all: %s", buf_cstr(&b.text));
	get(h, l, &srv, "/", &c, (struct http_request){ 0 });
	ok(c.how == HTTP_CUT, "an invalid chunk: %s", buf_cstr(&c.text));
	get(h, l, &srv, "/", &d, (struct http_request){ 0 });
	ok(d.how == HTTP_CUT, "not HTTP: %s", buf_cstr(&d.text));
	stop(&srv);
	struct http_request r = { .url = "http://127.0.0.1:1/" };
	begin(h, &e, &r);
	until(l, &e, 50);
	ok(e.how == HTTP_UNREACHED, "nobody listens: %s", buf_cstr(&e.text));
	r.url = "file:///etc/passwd";
	begin(h, &f, &r);
	ok(f.ends == 0, "nothing is called inside send");
	until(l, &f, 50);
	ok(f.how == HTTP_REFUSED && f.body.len == 0, "other schemes are refused: %s", buf_cstr(&f.text));
	struct saw *all[] = { &a, &b, &c, &d, &e, &f };
	for (size_t i = 0; i < 6; i++) {
		ok(all[i]->ends == 1, "one end");
		saw_release(all[i]);
	}
}

static void limits(struct http *h, struct loop *l)
{
	static const char *const answers[] = {
		"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nabc", "#", NULL,
		"#", NULL,
		"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\na", "_", "b", "_", "c", "_", "d", "_", "e", "_", "f", NULL,
		"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\na", "#", NULL, NULL,
	};
	struct server srv;
	start(&srv, answers);
	struct saw a = { 0 }, b = { 0 }, c = { 0 }, d = { 0 };
	get(h, l, &srv, "/", &a, (struct http_request){ .idle_us = 100000 });
	ok(a.how == HTTP_SLOW && a.status == 200, "idle: %s", buf_cstr(&a.text));
	ok(strstr(buf_cstr(&a.text), "nothing more came"), "the error reports it");
	get(h, l, &srv, "/", &b, (struct http_request){ .first_us = 100000 });
	ok(b.how == HTTP_SLOW && b.status == 0 && b.end.first_us == -1, "first byte: %s", buf_cstr(&b.text));
	get(h, l, &srv, "/", &c, (struct http_request){ .idle_us = 1000000 });
	ok(c.how == HTTP_OK && strcmp(buf_cstr(&c.body), "abcdef") == 0, "a slow stream is not idle");
	get(h, l, &srv, "/", &d, (struct http_request){ .total_us = 150000 });
	ok(d.how == HTTP_SLOW, "total: %s", buf_cstr(&d.text));
	stop(&srv);
	saw_release(&a);
	saw_release(&b);
	saw_release(&c);
	saw_release(&d);
}

static void cancel_and_pause(struct http *h, struct loop *l)
{
	static const char *const answers[] = {
		"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\na", "~", "bcdef", "~", NULL,
		"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nabc", "~", "def", NULL, NULL,
	};
	struct server srv;
	start(&srv, answers);
	struct saw a = { .cancel_at = 1 }, b = { .pause_once = true }, c = { 0 };
	get(h, l, &srv, "/", &a, (struct http_request){ 0 });
	ok(a.ends == 0 && a.call == NULL, "a cancelled call is not told its end");
	is_str(buf_cstr(&a.body), "a", "and no more data");
	is_int(http_open_calls(h), 0, "it is gone");
	char *url = mem_printf("http://127.0.0.1:%u/", srv.port);
	struct http_request r = { .url = url, .idle_us = 50000 };
	begin(h, &b, &r);
	for (int i = 0; i < 8; i++)
		loop_turn(l, 30);
	is_str(buf_cstr(&b.body), "abc", "paused after the first piece, idle or not");
	ok(b.ends == 0, "and not ended");
	http_pause(b.call, false);
	until(l, &b, 50);
	is_str(buf_cstr(&b.body), "abcdef", "continues from its position");
	stop(&srv);
	begin(h, &c, &r);
	http_cancel(&c.call);
	http_cancel(&c.call);
	for (int i = 0; i < 3; i++)
		loop_turn(l, 10);
	ok(c.ends == 0 && http_open_calls(h) == 0, "cancelled before it began");
	free(url);
	saw_release(&a);
	saw_release(&b);
	saw_release(&c);
}

/* A connection that was kept and dies when the next request has gone out. */
static void once(struct http *h, struct loop *l)
{
	static const char *const answers[] = {
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", NULL, "!", NULL,
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", NULL, "!", NULL,
		"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nagain", NULL, NULL,
	};
	struct server srv;
	start(&srv, answers);
	struct saw a = { 0 }, b = { 0 }, c = { 0 }, d = { 0 };
	get(h, l, &srv, "/first", &a, (struct http_request){ .once = true });
	get(h, l, &srv, "/paid", &b, (struct http_request){ .body = "x", .body_len = 1, .once = true });
	const char *sent = strstr(buf_cstr(&srv.got), "POST /paid");
	ok(a.how == HTTP_OK && b.how == HTTP_CUT && b.status == 0 && strstr(buf_cstr(&b.text), "died before"), "a kept connection dies: %s", buf_cstr(&b.text));
	get(h, l, &srv, "/second", &c, (struct http_request){ 0 });
	ok(sent && !strstr(strstr(buf_cstr(&srv.got), "POST /paid") + 1, "POST /paid"), "with once it went out one time");
	get(h, l, &srv, "/free", &d, (struct http_request){ 0 });
	ok(c.how == HTTP_OK && strcmp(buf_cstr(&d.body), "again") == 0, "without it libcurl has asked again");
	stop(&srv);
	saw_release(&a);
	saw_release(&b);
	saw_release(&c);
	saw_release(&d);
}

enum { MANY = 100 };

struct crowd {
	int fd, nr;
};

/* Answers only after all clients have asked. A client that waits for another's connection waits without end. */
static void *serve_crowd(void *self)
{
	struct crowd *w = self;
	int fd[MANY];
	for (w->nr = 0; w->nr < MANY; w->nr++) {
		char b[4096];
		fd[w->nr] = accept(w->fd, NULL, NULL);
		if (fd[w->nr] < 0 || read(fd[w->nr], b, sizeof b) <= 0)
			return NULL;
	}
	static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";
	for (int i = 0; i < MANY; i++) {
		if (write(fd[i], answer, sizeof answer - 1) < 0)
			perror("write");
		close(fd[i]);
	}
	return NULL;
}

static void crowd(struct http *h, struct loop *l)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof a;
	struct crowd w = { .fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) };
	static struct saw s[MANY];
	int good = 0;
	pthread_t t;
	if (bind(w.fd, (struct sockaddr *)&a, sizeof a) < 0 || listen(w.fd, MANY) < 0)
		exit(1);
	getsockname(w.fd, (struct sockaddr *)&a, &len);
	pthread_create(&t, NULL, serve_crowd, &w);
	char *url = mem_printf("http://127.0.0.1:%u/", ntohs(a.sin_port));
	struct http_request r = { .url = url, .body = "x", .body_len = 1, .first_us = 30000000 };
	for (int i = 0; i < MANY; i++)
		begin(h, &s[i], &r);
	for (int i = 0; i < MANY; i++)
		until(l, &s[i], 800);
	shutdown(w.fd, SHUT_RDWR);
	pthread_join(t, NULL);
	for (int i = 0; i < MANY; i++) {
		good += s[i].how == HTTP_OK && s[i].ends == 1 && strcmp(buf_cstr(&s[i].body), "ok") == 0;
		saw_release(&s[i]);
	}
	is_int(good, MANY, "100 streams of plain HTTP run at once: none waits for another");
	close(w.fd);
	free(url);
}

static void *serve_unix(void *self)
{
	int fd = accept(*(int *)self, NULL, NULL);
	char b[2000];
	ssize_t n = read(fd, b, sizeof b);
	static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
	if (n > 0 && write(fd, answer, sizeof answer - 1) < 0)
		perror("write");
	close(fd);
	return NULL;
}

static void unix_socket(struct http *h, struct loop *l)
{
	char dir[] = "/tmp/t_client.XXXXXX";
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	if (!mkdtemp(dir))
		exit(1);
	snprintf(a.sun_path, sizeof a.sun_path, "%s/s", dir);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(fd, (struct sockaddr *)&a, sizeof a) < 0 || listen(fd, 1) < 0)
		exit(1);
	pthread_t t;
	pthread_create(&t, NULL, serve_unix, &fd);
	struct saw s = { 0 };
	struct http_request r = { .url = "http://localhost/v1/x", .unix_socket = a.sun_path };
	begin(h, &s, &r);
	until(l, &s, 50);
	ok(s.how == HTTP_OK && strcmp(buf_cstr(&s.body), "ok") == 0, "over a unix socket");
	pthread_join(t, NULL);
	close(fd);
	unlink(a.sun_path);
	rmdir(dir);
	saw_release(&s);
}

static int64_t after(int status, const char *head, const char *body)
{
	struct http_header hd[2];
	struct http_head h = { .status = status, .header = hd, .nr = 0 };
	char copy[200];
	snprintf(copy, sizeof copy, "%s", head);
	char *save = NULL;
	for (char *p = strtok_r(copy, "|", &save); p; p = strtok_r(NULL, "|", &save)) {
		char *eq = strchr(p, '=');
		*eq = 0;
		hd[h.nr++] = (struct http_header){ p, eq + 1 };
	}
	struct retry_case c = { HTTP_OK, status, retry_hint(&h, 784111700), body, false, 1, 0 };
	return retry_after_us(&c, 0xffffffff);
}

static void retries(void)
{
	is_int(after(400, "", ""), -1, "400 is final");
	ok(after(429, "", "") > 0 && after(529, "", "") > 0 && after(503, "", "") > 0, "429, 529, 503 are not");
	is_int(after(429, "retry-after=3", ""), 3000000, "retry-after in seconds");
	is_int(after(429, "retry-after=3|retry-after-ms=250", ""), 250000, "retry-after-ms goes first");
	is_int(after(503, "retry-after=Sun, 06 Nov 1994 08:49:37 GMT", ""), 77000000, "retry-after as a date");
	is_int(after(503, "x-should-retry=false", ""), -1, "x-should-retry: false");
	ok(after(400, "x-should-retry=true", "") > 0, "x-should-retry: true");
	is_int(after(429, "", "{\"error\":{\"code\":\"insufficient_quota\"}}"), -1, "no quota is final");
	is_int(after(503, "retry-after=Sun, 06 Nov 1994 13:49:07 GMT|date=Sun, 06 Nov 1994 13:48:57 GMT", ""), 10000000, "of a clock that is ahead");
	is_int(after(503, "retry-after=Sun, 06 Nov 1994 03:49:07 GMT|date=Sun, 06 Nov 1994 03:48:57 GMT", ""), 10000000, "or behind");
	is_int(after(429, "retry-after=9999", ""), -1, "hours are not waited for");
	struct retry_case c = { .how = HTTP_CUT, .status = 200, .hint = { -1, -1 }, .tries = 1 };
	ok(retry_after_us(&c, 0) == 250000 && retry_after_us(&c, 0xffffffff) < 500001, "a cut stream, with jitter");
	c.tries = 3;
	is_int(retry_after_us(&c, 0), 1000000, "doubled each time");
	c.had_effect = true;
	is_int(retry_after_us(&c, 0), -1, "not if something has been acted on");
	c = (struct retry_case){ .how = HTTP_TLS, .hint = { -1, -1 }, .tries = 1 };
	is_int(retry_after_us(&c, 0), -1, "a certificate does not get better");
	c.how = HTTP_UNREACHED;
	c.tries = RETRY_MAX;
	is_int(retry_after_us(&c, 0), -1, "there is an end");
}

int main(void)
{
	struct loop *l;
	struct http *h;
	struct err err = ERR_INIT;
	if (loop_new(&l, &err) < 0 || http_new(&h, l, &(struct http_settings){ .proxy = "" }, &err) < 0)
		return 1;
	plain(h, l);
	broken(h, l);
	limits(h, l);
	cancel_and_pause(h, l);
	unix_socket(h, l);
	once(h, l);
	crowd(h, l);
	retries();
	http_free(&h);
	loop_turn(l, 0);
	loop_free(l);
	return done_testing();
}
