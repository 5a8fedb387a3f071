#include "http/server.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "loop/loop.h"
#include "http/server_priv.h"

static void http_server_take_in(struct http_visit *v);

static size_t http_server_room; /* taken; loop thread */

bool http_room_take(size_t bytes)
{
	if (bytes > HTTP_ROOM_MAX - http_server_room)
		return false;
	http_server_room += bytes;
	return true;
}

void http_room_give(size_t bytes)
{
	assert(bytes <= http_server_room);
	http_server_room -= bytes;
}

void visit_drop_body(struct http_visit *v)
{
	buf_release(&v->body);
	http_room_give(v->room);
	v->room = 0;
}

void http_visit_take_body(struct http_visit *v, struct buf *out)
{
	*out = v->body;
	v->body = BUF_INIT;
	v->room = 0;
}

static void visit_free(struct http_visit *v)
{
	for (struct http_visit **at = &v->server->visits; *at; at = &(*at)->next)
		if (*at == v) {
			*at = v->next;
			break;
		}
	v->server->nr--;
	loop_fd_free(&v->watch);
	loop_timer_free(&v->timer);
	loop_timer_free(&v->kick);
	fd_close(&v->sock);
	buf_release(&v->in);
	visit_drop_body(v);
	buf_release(&v->out);
	http_ask_release(&v->ask);
	free(v->host);
	free(v);
}

/* Told and freed outside of whatever is running. */
void http_server_die(struct http_visit *v)
{
	if (v->state == DEAD)
		return;
	v->tell = v->state == BUSY;
	v->state = DEAD;
	loop_fd_free(&v->watch);
	loop_timer_stop(v->timer);
	loop_timer_set(v->kick, 0, 0);
}

static void http_server_watch(struct http_visit *v)
{
	unsigned out = v->out.len > v->sent ? (unsigned)LOOP_WRITE : 0U;
	/* while the owner is at work nothing is read, but it is seen when the client goes */
	if (v->watch)
		loop_fd_events(v->watch,
			       out | (v->state == BUSY ? (unsigned)LOOP_HUP : (unsigned)LOOP_READ));
}

static void http_server_limit(struct http_visit *v)
{
	if (v->out.len > v->sent)
		loop_timer_set(v->timer, TAKE_MS, 0);
	else if (v->state == HEAD && !v->in.len)
		loop_timer_set(v->timer, IDLE_MS, 0);
	else if (v->state == HEAD || v->state == BODY)
		loop_timer_set(v->timer, ARRIVE_MS, 0);
	else if (v->state == LINGER)
		loop_timer_set(v->timer, LINGER_MS, 0);
	else
		loop_timer_stop(v->timer);
}

void http_server_send_some(struct http_visit *v)
{
	bool drained = false;
	while (v->state != DEAD && v->out.len > v->sent) {
		ssize_t n = send(v->sock, v->out.data + v->sent, v->out.len - v->sent,
				 MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			break;
		if (n < 0) {
			http_server_die(v);
			return;
		}
		v->sent += (size_t)n;
	}
	if (v->sent == v->out.len) {
		drained = v->sent && v->state == BUSY && v->begun && v->server->ops->drained;
		buf_release(&v->out);
		v->sent = 0;
		if (v->state == LINGER)
			shutdown(v->sock, SHUT_WR);
	}
	if (v->out.len - v->sent > HTTP_QUEUE_MAX)
		http_server_die(v);
	if (v->state == DEAD)
		return;
	http_server_watch(v);
	http_server_limit(v);
	v->drained |= drained;
}

/* --- requests --------------------------------------------------------------------------------- */

static void http_server_refuse(struct http_visit *v, int status, const char *why)
{
	CLEANUP(free_ptr) char *text = mem_printf("%s\n", why);
	v->last = true;
	http_reply(v, status, "text/plain; charset=utf-8", NULL, text, strlen(text));
}

/* false: more bytes are needed, or it is over. */
static bool http_server_take_head(struct http_visit *v)
{
	const char *why = NULL;
	int status = 0;
	/* between requests some clients send one */
	while (v->in.len >= 2 && !memcmp(v->in.data, "\r\n", 2))
		buf_drop(&v->in, 2);
	int rc = v->in.len ? http_ask_parse(v->in.data, v->in.len, &v->ask, &status, &why) : 0;
	if (rc < 0)
		http_server_refuse(v, status, why);
	if (rc <= 0)
		return false;
	buf_drop(&v->in, v->ask.len);
	v->last = !v->ask.keep;
	v->chunks = (struct http_chunks){ 0 };
	v->state = BODY;
	if (v->ask.connect && (v->host || !v->server->ops->connect)) {
		http_server_refuse(v, 405, "CONNECT is not served here");
		return false;
	}
	if (v->host && !v->ask.authority) {
		v->ask.authority = v->host;
		v->ask.authority_len = strlen(v->host);
	}
	if (v->ask.length > v->server->body_max) {
		http_server_refuse(v, 413, "the body of the request is too long");
		return false;
	}
	if (v->ask.waits && (v->ask.length || v->ask.chunked)) {
		buf_puts(&v->out, "HTTP/1.1 100 Continue\r\n\r\n");
		http_server_send_some(v);
	}
	return v->state == BODY;
}

static bool http_server_has_room(struct http_visit *v)
{
	size_t more = v->body.len - v->room;
	if (!http_room_take(more)) {
		http_server_refuse(
			v, 503,
			"the bodies of all requests take too much memory (at most 512 MiB)");
		return false;
	}
	v->room += more;
	return true;
}

/* false: more bytes are needed, or it is over. */
static bool http_server_take_body(struct http_visit *v)
{
	size_t max = v->server->body_max;
	if (v->ask.chunked) {
		ssize_t n = http_chunks_feed(&v->chunks, v->in.data, v->in.len, max, &v->body);
		if (n < 0) {
			http_server_refuse(v, v->body.len > max ? 413 : 400,
					   v->body.len > max ? "the body of the request is too long"
							     : "the body is not in chunks");
			return false;
		}
		buf_drop(&v->in, (size_t)n);
		return http_server_has_room(v) && v->chunks.done;
	}
	size_t lacks = (size_t)v->ask.length - v->body.len,
	       n = v->in.len < lacks ? v->in.len : lacks;
	buf_append(&v->body, v->in.data, n);
	buf_drop(&v->in, n);
	return http_server_has_room(v) && v->body.len == v->ask.length;
}

static void http_server_take_in(struct http_visit *v)
{
	v->inside = true;
	while (v->state == HEAD || v->state == BODY) {
		if (v->state == HEAD && !http_server_take_head(v))
			break;
		if (!http_server_take_body(v))
			break;
		v->state = BUSY;
		if (v->ask.connect)
			v->server->ops->connect(v->server->self, v);
		else
			v->server->ops->request(v->server->self, v);
	}
	v->inside = false;
	if (v->state == LINGER)
		buf_release(&v->in);
	if (v->state == DEAD)
		return;
	http_server_watch(v);
	http_server_limit(v);
}

static void http_server_read_some(struct http_visit *v)
{
	buf_reserve(&v->in, READ_CHUNK);
	ssize_t n = recv(v->sock, v->in.data + v->in.len, READ_CHUNK, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		http_server_die(v);
		return;
	}
	if (v->state == LINGER)
		return;
	v->in.len += (size_t)n;
	v->in.data[v->in.len] = 0;
	http_server_take_in(v);
}

static bool take_flag(bool *flag)
{
	bool was = *flag;
	*flag = false;
	return was;
}

static void http_server_on_socket(void *self, int fd, unsigned events)
{
	struct http_visit *v = self;
	(void)fd;
	if (events & LOOP_WRITE)
		http_server_send_some(v);
	if (v->state == DEAD)
		return;
	if (take_flag(&v->drained) && v->state == BUSY && !(events & LOOP_HUP)) {
		v->server->ops->drained(v->server->self, v);
		return;
	}
	if (v->state == BUSY) {
		if (events & LOOP_HUP)
			http_server_die(v);
	} else if (events & (LOOP_READ | LOOP_HUP)) {
		http_server_read_some(v);
	}
}

static void http_server_on_kick(void *self)
{
	struct http_visit *v = self;
	if (v->state != DEAD) {
		http_server_take_in(v);
		return;
	}
	if (v->tell)
		v->server->ops->gone(v->server->self, v);
	visit_free(v);
}

static void http_server_on_late(void *self)
{
	http_server_die(self);
}

void http_server_add(struct http_server *s, int sock, const char *host)
{
	if (s->nr >= HTTP_CLIENTS_MAX) {
		close(sock);
		return;
	}
	struct http_visit *v = NEW(struct http_visit);
	*v = (struct http_visit){ .next = s->visits, .server = s, .sock = sock };
	v->host = host ? mem_strdup(host) : NULL;
	v->timer = loop_timer_new(s->loop, http_server_on_late, v);
	v->kick = loop_timer_new(s->loop, http_server_on_kick, v);
	v->watch = loop_fd_new(s->loop, sock, LOOP_READ, http_server_on_socket, v);
	s->visits = v;
	s->nr++;
	http_server_limit(v);
}

static void on_accept(void *self, int fd, unsigned events)
{
	struct http_server *s = self;
	int yes = 1, sock;
	(void)events;
	while ((sock = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
		setsockopt(sock, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
		http_server_add(s, sock, NULL);
	}
	if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
		loop_fd_events(s->watch, 0);
		loop_timer_set(s->again, AGAIN_MS, 0);
	}
}

static void http_server_on_again(void *self)
{
	struct http_server *s = self;
	loop_fd_events(s->watch, LOOP_READ);
}

/* --- listening -------------------------------------------------------------------------------- */

static bool is_local(const struct sockaddr *a)
{
	if (a->sa_family == AF_INET)
		return (ntohl(((const struct sockaddr_in *)(const void *)a)->sin_addr.s_addr) >>
			24) == 127;
	return a->sa_family == AF_INET6 &&
	       IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)(const void *)a)->sin6_addr);
}

static int bind_to(struct http_server *s, const struct addrinfo *a)
{
	struct sockaddr_storage name = { 0 };
	socklen_t len = sizeof(name);
	int yes = 1;
	s->sock = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s->sock < 0)
		return -1;
	setsockopt(s->sock, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	if (bind(s->sock, a->ai_addr, a->ai_addrlen) < 0 || listen(s->sock, 64) < 0 ||
	    getsockname(s->sock, (struct sockaddr *)&name, &len) < 0) {
		int why = errno;
		fd_close(&s->sock);
		errno = why;
		return -1;
	}
	s->local = is_local(a->ai_addr);
	s->port = ntohs(name.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&name)->sin6_port
						   : ((struct sockaddr_in *)&name)->sin_port);
	return 0;
}

int http_server_new(struct http_server **out, struct loop *l, const char *host, uint16_t port,
		    size_t body_max, const struct http_server_ops *ops, void *self, struct err *err)
{
	const struct addrinfo want = { .ai_socktype = SOCK_STREAM,
				       .ai_flags = AI_PASSIVE | AI_NUMERICSERV };
	struct addrinfo *list = NULL;
	char service[8];
	snprintf(service, sizeof(service), "%u", port);
	int rc = getaddrinfo(host, service, &want, &list);
	if (rc != 0)
		return err_set(err, ERR_NOENT, "can't listen on '%.200s': %s", host,
			       gai_strerror(rc));
	struct http_server *s = NEW(struct http_server);
	*s = (struct http_server){
		.loop = l, .ops = ops, .self = self, .sock = -1, .body_max = body_max
	};
	for (const struct addrinfo *a = list; a && s->sock < 0; a = a->ai_next)
		rc = bind_to(s, a);
	freeaddrinfo(list);
	if (s->sock < 0) {
		free(s);
		return err_sys(err, "can't listen on '%.200s', port %u", host, port);
	}
	s->watch = loop_fd_new(l, s->sock, LOOP_READ, on_accept, s);
	s->again = loop_timer_new(l, http_server_on_again, s);
	*out = s;
	return 0;
}

struct http_server *http_server_on(struct loop *l, int listener, size_t body_max,
				   const struct http_server_ops *ops, void *self)
{
	struct http_server *s = NEW(struct http_server);
	*s = (struct http_server){ .loop = l,
				   .ops = ops,
				   .self = self,
				   .sock = listener,
				   .body_max = body_max,
				   .local = true };
	s->watch = loop_fd_new(l, s->sock, LOOP_READ, on_accept, s);
	s->again = loop_timer_new(l, http_server_on_again, s);
	return s;
}

void http_server_free(struct http_server **sp)
{
	struct http_server *s = *sp;
	*sp = NULL;
	if (!s)
		return;
	while (s->visits)
		visit_free(s->visits);
	loop_fd_free(&s->watch);
	loop_timer_free(&s->again);
	fd_close(&s->sock);
	free(s);
}

size_t http_server_added(const struct http_server *s)
{
	size_t n = 0;
	for (const struct http_visit *v = s->visits; v; v = v->next)
		n += v->host && v->state != DEAD;
	return n;
}

uint16_t http_server_port(const struct http_server *s)
{
	return s->port;
}

bool http_server_local(const struct http_server *s)
{
	return s->local;
}

const struct http_ask *http_visit_ask(const struct http_visit *v)
{
	return &v->ask;
}

const struct buf *http_visit_body(const struct http_visit *v)
{
	return &v->body;
}

void *http_visit_tag(const struct http_visit *v)
{
	return v->tag;
}

void http_visit_set_tag(struct http_visit *v, void *tag)
{
	v->tag = tag;
}
