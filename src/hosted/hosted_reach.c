/* The way in to a server in a hosted sandbox. Providers offer it at an HTTP address that
 * requires a credential. A client gets one end of a socket pair. Its request there goes to that
 * address with the credentials added. There is one request per connection (an upgrade keeps it
 * for good); the bytes after it pass unchanged. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "hosted/hosted_plugin_priv.h"
#include "supervisor/core/core.h"
#include "base/clock.h"
#include "base/fd.h"
#include "http/head.h"
#include "http/wire.h"

enum { AHEAD_MAX = 256 << 10, READ_SIZE = 64 << 10, LOOK_MS = 1000 };

struct reach {
	struct reach *next;
	struct lessor *lessor;
	uint64_t box;
	char *url;
	json_t *headers; /* templates by name */
	int fd;
	struct loop_fd *watch;
	struct loop_timer *look; /* is who has said all still there? */
	struct wire *wire;	 /* NULL: the head of the request is not there yet */
	struct buf in, out;	 /* of the head; towards who dialled */
	char *method;
	int64_t began_us, bytes;
	bool in_over, there_over; /* nothing more comes from who dialled; from the provider */
};

static void reach_free(struct reach *a)
{
	for (struct reach **p = &a->lessor->rent->reaches; *p; p = &(*p)->next)
		if (*p == a) {
			*p = a->next;
			break;
		}
	loop_fd_free(&a->watch);
	loop_timer_free(&a->look);
	fd_close(&a->fd);
	wire_free(&a->wire);
	buf_release(&a->in);
	buf_release(&a->out);
	json_decref(a->headers);
	free(a->method);
	free(a->url);
	free(a);
}

static void hosted_reach_over(struct reach *a, const char *why)
{
	const struct call_note n = { .fn = "address",
				     .method = a->method ? a->method : "?",
				     .url = a->url,
				     .why = why,
				     .bytes = a->bytes,
				     .took_us = clock_mono_us() - a->began_us,
				     .tries = 1 };
	hosted_plugin_note(a->lessor, a->box, &n);
	reach_free(a);
}

void reaches_end(struct rent *r)
{
	while (r->reaches)
		hosted_reach_over(r->reaches, "the session ends");
}

static void hosted_reach_watch(struct reach *a)
{
	bool room = !a->wire || wire_unsent(a->wire) < AHEAD_MAX;
	loop_fd_events(a->watch, (a->out.len ? (unsigned)LOOP_WRITE : 0U) |
					 (!a->in_over && room ? (unsigned)LOOP_READ : 0U));
	if (a->wire)
		wire_pause(a->wire, a->out.len >= AHEAD_MAX);
}

/* false: @a is gone. */
static bool hosted_reach_flush(struct reach *a)
{
	while (a->out.len) {
		ssize_t n = send(a->fd, a->out.data, a->out.len, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno != EAGAIN) {
			hosted_reach_over(a, "the client has disconnected");
			return false;
		}
		if (n < 0)
			break;
		buf_drop(&a->out, (size_t)n);
	}
	if (!a->out.len && a->there_over) {
		hosted_reach_over(a, NULL);
		return false;
	}
	hosted_reach_watch(a);
	return true;
}

/* An answer of ours, the last one. */
static void hosted_reach_refuse(struct reach *a, int status, const char *word, const char *why)
{
	buf_printf(
		&a->out,
		"HTTP/1.1 %d %s\r\nContent-Type: text/plain\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n%s\n",
		status, word, strlen(why) + 1, why);
	a->there_over = a->in_over = true;
	(void)hosted_reach_flush(a);
}

/* --- the other side --- */

static void hosted_reach_on_up(void *self)
{
	(void)self;
}

static void on_room(void *self)
{
	struct reach *a = self;
	if (!a->there_over)
		hosted_reach_watch(a);
}

static void hosted_reach_on_data(void *self, const void *bytes, size_t len)
{
	struct reach *a = self;
	a->bytes += (int64_t)len;
	buf_append(&a->out, bytes, len);
	(void)hosted_reach_flush(a);
}

static void hosted_reach_on_end(void *self, enum http_how how, const char *text)
{
	struct reach *a = self;
	a->there_over = true;
	if (how != HTTP_OK && !a->bytes)
		hosted_reach_refuse(a, 502, "Bad Gateway", text);
	else
		(void)hosted_reach_flush(a);
}

/* --- the request --- */

/* Those that belong to the way from one to the next, and those that are put in. */
static bool hosted_reach_is_ours(const struct reach *a, const char *name, bool upgrade)
{
	const char *own;
	json_t *v;
	json_object_foreach(a->headers, own, v) if (!strcasecmp(own, name)) return true;
	return !strcmp(name, "host") || !strcmp(name, "keep-alive") ||
	       (!upgrade && (!strcmp(name, "connection") || !strcmp(name, "upgrade")));
}

/* false: a credential is not there. */
static bool hosted_reach_put_head(const struct reach *a, const struct http_ask *q, struct buf *out)
{
	const char *host = strstr(a->url, "://") + 3, *path = host + strcspn(host, "/?#"), *own;
	size_t base = strcspn(path, "?#");
	bool upgrade = http_ask_field(q, "upgrade") != NULL;
	json_t *v;
	while (base && path[base - 1] == '/')
		base--;
	buf_printf(out, "%s %.*s%s HTTP/1.1\r\nHost: %.*s\r\n", q->method, (int)base, path,
		   q->target, (int)(path - host), host);
	json_object_foreach(a->headers, own, v)
	{
		CLEANUP(free_ptr)
		char *template =
			mem_printf("%s: %s", own, json_is_string(v) ? json_string_value(v) : "");
		CLEANUP(buf_release) struct buf line = BUF_INIT;
		bool good = lessor_fill(a->lessor, template, &line);
		buf_printf(out, "%.*s\r\n", (int)line.len, buf_cstr(&line));
		explicit_bzero(line.data, line.cap);
		if (!good)
			return false;
	}
	for (size_t i = 0; i < q->nr; i++)
		if (!hosted_reach_is_ours(a, q->field[i].name, upgrade))
			buf_printf(out, "%s: %s\r\n", q->field[i].name, q->field[i].value);
	buf_puts(out, upgrade ? "\r\n" : "Connection: close\r\n\r\n");
	return true;
}

static void hosted_reach_go(struct reach *a, const struct http_ask *q)
{
	const struct wire_handler handler = { .up = hosted_reach_on_up,
					      .room = on_room,
					      .data = hosted_reach_on_data,
					      .end = hosted_reach_on_end,
					      .self = a };
	CLEANUP(buf_release) struct buf head = BUF_INIT;
	a->method = mem_strdup(q->method);
	if (!hosted_reach_put_head(a, q, &head)) {
		hosted_reach_refuse(a, 502, "Bad Gateway",
				    "a credential for the way in is not there");
	} else {
		a->wire = wire_new(a->lessor->rent->http, a->url, login_socket(a->lessor, a->url),
				   &handler);
		wire_send(a->wire, head.data, head.len);
		wire_send(a->wire, a->in.data + q->len, a->in.len - q->len);
		buf_release(&a->in);
		hosted_reach_watch(a);
	}
	explicit_bzero(head.data, head.cap);
}

static void hosted_reach_take_in(struct reach *a, const char *bytes, size_t len)
{
	struct http_ask q = { 0 };
	int status = 400;
	const char *why = "";
	if (a->wire) {
		wire_send(a->wire, bytes, len);
		hosted_reach_watch(a);
		return;
	}
	buf_append(&a->in, bytes, len);
	int rc = http_ask_parse(buf_cstr(&a->in), a->in.len, &q, &status, &why);
	if (rc > 0)
		hosted_reach_go(a, &q);
	else if (rc < 0)
		hosted_reach_refuse(a, status, "Refused", why);
	if (rc > 0)
		http_ask_release(&q);
}

/* Once it has said all, LOOP_HUP is on for good, so it is asked now and then: nothing is sent,
 * which fails when it has gone. */
static bool takes_more(const struct reach *a)
{
	return send(a->fd, "", 0, MSG_NOSIGNAL) >= 0;
}

static void hosted_reach_on_look(void *self)
{
	struct reach *a = self;
	if (!takes_more(a))
		hosted_reach_over(a, "the client has disconnected");
}

static void hosted_reach_on_events(void *self, int fd, unsigned events)
{
	struct reach *a = self;
	char bytes[READ_SIZE];
	if (events & LOOP_WRITE && !hosted_reach_flush(a))
		return;
	if (!(events & LOOP_READ) || a->in_over)
		return;
	ssize_t n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0) {
		hosted_reach_take_in(a, bytes, (size_t)n);
	} else if (n < 0 || !a->wire || !takes_more(a)) {
		hosted_reach_over(a, a->wire ? "the client has disconnected" : NULL);
	} else { /* the client has sent all; TLS has no half close, so the answer still comes */
		a->in_over = true;
		a->look = loop_timer_new(a->lessor->rent->super->loop, hosted_reach_on_look, a);
		loop_timer_set(a->look, LOOK_MS, LOOK_MS);
		hosted_reach_watch(a);
	}
}

int lessor_reach(void *self, const json_t *address, uint64_t box, struct err *err)
{
	struct lessor *l = self;
	const char *url = json_str(address, "url", "");
	int pair[2];
	if (strncmp(url, "http", 4) != 0 || !strstr(url, "://"))
		return err_set(err, ERR_PARSE, "%s: no address for the port", l->name);
	if (lessor_may(l, url, err) < 0)
		return -1;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
		return err_sys(err, "can't forward the port");
	struct reach *a = NEW(struct reach);
	*a = (struct reach){ .next = l->rent->reaches,
			     .lessor = l,
			     .box = box,
			     .url = mem_strdup(url),
			     .fd = pair[0],
			     .headers = json_deep_copy(json_object_get(address, "headers")),
			     .began_us = clock_mono_us() };
	a->watch = loop_fd_new(l->rent->super->loop, a->fd, LOOP_READ, hosted_reach_on_events, a);
	l->rent->reaches = a;
	return pair[1];
}
