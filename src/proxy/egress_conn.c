/* One connection of a box through the egress proxy, from its request to its end. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json.h"
#include "base/mem.h"
#include "proxy/egress_priv.h"

enum { BUF_HIGH = 256 << 10, READ_MAX = 64 << 10, ALERT_UNRECOGNIZED_NAME = 112 };
static const int64_t head_us = 30000000, connect_us = 15000000, last_us = 3000000;

static void on_client(void *self, int fd, unsigned events);
static void on_server(void *self, int fd, unsigned events);
static void egress_conn_advance(struct egress_conn *c);

/* --- life --- */

static void egress_conn_leave(struct egress_conn *c)
{
	if (--c->busy || c->e)
		return;
	egress_head_release(&c->head);
	buf_release(&c->up);
	buf_release(&c->down);
	free(c);
}

static void egress_conn_tell_end(struct egress_conn *c, const char *why)
{
	if (c->told || !c->e || !c->e->ops)
		return;
	c->told = true;
	c->end.why = why;
	c->end.host = c->host[0] ? c->host : NULL;
	c->end.port = c->head.port;
	if (c->e->ops->ended)
		c->e->ops->ended(c->e->self, c->ticket, &c->end);
}

void egress_conn_close(struct egress_conn *c, const char *why)
{
	struct egress *e = c->e;
	if (!e)
		return;
	c->busy++;
	egress_conn_tell_end(c, why);
	for (size_t i = 0; i < e->nr_conns; i++)
		if (e->conn[i] == c)
			e->conn[i] = e->conn[--e->nr_conns];
	c->e = NULL;
	egress_room_changed(e);
	egress_lookup_cancel(&c->lookup);
	loop_fd_free(&c->client_watch);
	loop_fd_free(&c->server_watch);
	fd_close(&c->client);
	fd_close(&c->server);
	egress_conn_leave(c);
}

static void set_deadline(struct egress_conn *c, int64_t after_us)
{
	c->deadline_us = after_us ? loop_now_us(c->e->loop) + after_us : 0;
}

static void egress_conn_watch(struct egress_conn *c)
{
	unsigned client = 0, server = 0;
	if (!c->client_eof && (c->up.len < BUF_HIGH || c->state == EGRESS_LAST))
		client |= LOOP_READ;
	if (c->down.len)
		client |= LOOP_WRITE;
	if (c->state == EGRESS_CONNECT || (c->state == EGRESS_PUMP && c->up.len && c->peeked))
		server |= LOOP_WRITE;
	if (c->state == EGRESS_PUMP && !c->server_eof && c->down.len < BUF_HIGH)
		server |= LOOP_READ;
	if (client != c->client_events)
		loop_fd_events(c->client_watch, client);
	if (c->server_watch && server != c->server_events)
		loop_fd_events(c->server_watch, server);
	c->client_events = client;
	c->server_events = server;
}

/* --- answers of our own --- */

static const char *reason_of(int status)
{
	return status == 400   ? "Bad Request"
	       : status == 403 ? "Forbidden"
	       : status == 502 ? "Bad Gateway"
	       : status == 503 ? "Service Unavailable"
			       : "Gateway Timeout";
}

/* The reason phrase: of a failed CONNECT most clients print that alone, so the cause is part of
 * it. */
static void put_reason(struct buf *out, int status, const char *why)
{
	buf_printf(out, "HTTP/1.1 %d %s (sandglass: ", status, reason_of(status));
	for (size_t i = 0; why[i] && i < 160; i++)
		buf_putc(out, why[i] >= ' ' && why[i] < 127 ? why[i] : '?');
	buf_puts(out, ")\r\n");
}

/* A parameter of Proxy-Status: a string of RFC 8941. */
static void put_details(struct buf *out, const char *why)
{
	buf_puts(out, "; details=\"");
	for (size_t i = 0; why[i] && i < 160; i++) {
		if (why[i] == '"' || why[i] == '\\')
			buf_putc(out, '\\');
		buf_putc(out, why[i] >= ' ' && why[i] < 127 ? why[i] : '?');
	}
	buf_putc(out, '"');
}

/* Sends a refusal and tells the end. @kind is an error type of RFC 9209. */
static void egress_conn_refuse(struct egress_conn *c, int status, const char *kind, const char *end,
			       const char *why)
{
	json_t *body = json_object();
	struct buf text = BUF_INIT;
	json_put_str(body, "error",
		     status == 403   ? "net.egress"
		     : status == 400 ? "net.request"
				     : "net.failed");
	if (c->host[0]) {
		char ask[EGRESS_HOST_MAX + 32];
		json_put_str(body, "host", c->host);
		json_put_int(body, "port", c->head.port);
		snprintf(ask, sizeof ask, "net.egress %s:%u", c->host, c->head.port);
		if (status == 403)
			json_put_str(body, "ask", ask);
	}
	json_put(body, "why", json_bytes_z(why));
	json_dump_buf(body, &text);
	json_release(&body);
	buf_putc(&text, '\n');
	buf_reset(&c->down);
	put_reason(&c->down, status, why);
	buf_printf(
		&c->down,
		"Content-Type: application/json\r\nContent-Length: %zu\r\nProxy-Status: sandglass; error=%s",
		text.len, kind);
	put_details(&c->down, why);
	buf_puts(&c->down, "\r\nConnection: close\r\n\r\n");
	buf_append(&c->down, text.data, text.len);
	buf_release(&text);
	buf_reset(&c->up);
	loop_fd_free(&c->server_watch);
	fd_close(&c->server);
	c->state = EGRESS_LAST;
	set_deadline(c, last_us);
	egress_conn_tell_end(c, end);
}

/* Ends a connection that has been let through. Where the client can still read a reason it gets
 * one: as the answer to a plain http request, or as a TLS alert (@alert) before the server has said
 * anything. */
static void egress_conn_cut(struct egress_conn *c, int status, const char *kind,
			    unsigned char alert, const char *end, const char *why)
{
	bool silent = c->state == EGRESS_PUMP && c->end.down_bytes == 0;
	bool tls = c->up.len > 0 && c->up.data[0] == 22;
	if (silent && (!c->head.connect || (alert && !tls))) {
		egress_conn_refuse(c, status, kind, end, why);
	} else if (silent && alert) {
		const char record[7] = { 21, 3, 3, 0, 2, 2, (char)alert };
		buf_append(&c->down, record, sizeof record);
		buf_reset(&c->up);
		loop_fd_free(&c->server_watch);
		fd_close(&c->server);
		c->state = EGRESS_LAST;
		set_deadline(c, last_us);
		egress_conn_tell_end(c, end);
	} else {
		egress_conn_close(c, end);
	}
}

/* --- the way out --- */

static void connect_next(struct egress_conn *c);

static void name_address(struct egress_conn *c, const struct egress_addr *a)
{
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
	memcpy(&in, &a->sa, sizeof in);
	memcpy(&in6, &a->sa, sizeof in6);
	inet_ntop(a->sa.ss_family,
		  a->sa.ss_family == AF_INET ? (void *)&in.sin_addr : (void *)&in6.sin6_addr,
		  c->end.address, sizeof c->end.address);
}

/* The request as the server should see it: origin form, its own Host, nothing that was meant for
 * us. */
static void egress_conn_rewrite(struct egress_conn *c)
{
	struct buf b = BUF_INIT;
	struct egress_head *h = &c->head;
	buf_printf(&b, "%s %s HTTP/1.1\r\nHost: %s", h->method, h->path, c->host);
	if (h->port != 80)
		buf_printf(&b, ":%u", h->port);
	buf_puts(&b, "\r\nConnection: close\r\n");
	buf_append(&b, h->fields.data, h->fields.len);
	buf_puts(&b, "\r\n");
	buf_append(&b, c->up.data, c->up.len);
	buf_release(&c->up);
	c->up = b;
}

static void tell_sends(struct egress_conn *c, size_t from)
{
	if (c->e->ops && c->e->ops->sends && c->up.len > from)
		c->e->ops->sends(c->e->self, c->ticket, c->up.data + from, c->up.len - from);
}

static void egress_conn_connected(struct egress_conn *c)
{
	tell_sends(c, 0);
	c->state = EGRESS_PUMP;
	c->end.connected = true;
	setsockopt(c->server, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
	set_deadline(c, c->e->idle_us);
	if (c->head.connect) {
		buf_puts(&c->down, "HTTP/1.1 200 Connection established\r\n\r\n");
	} else {
		c->peeked = true;
		egress_conn_rewrite(c);
	}
}

static void connect_failed(struct egress_conn *c, int sys)
{
	loop_fd_free(&c->server_watch);
	fd_close(&c->server);
	if (c->next_addr < c->nr_addrs)
		connect_next(c);
	else
		egress_conn_refuse(c, sys == ETIMEDOUT ? 504 : 502,
				   sys == ETIMEDOUT ? "connection_timeout" : "connection_refused",
				   "connect", strerror(sys));
}

static void connect_next(struct egress_conn *c)
{
	const struct egress_addr *a = &c->addr[c->next_addr++];
	c->state = EGRESS_CONNECT;
	set_deadline(c, connect_us);
	name_address(c, a);
	c->server = socket(a->sa.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (c->server < 0 || (connect(c->server, (const struct sockaddr *)&a->sa, a->len) < 0 &&
			      errno != EINPROGRESS)) {
		connect_failed(c, errno);
		return;
	}
	c->server_events = LOOP_WRITE;
	c->server_watch = loop_fd_new(c->e->loop, c->server, LOOP_WRITE, on_server, c);
}

static void on_lookup(void *self, const struct egress_addr *addr, size_t nr, const char *why)
{
	struct egress_conn *c = self;
	bool open = true;
	c->lookup = NULL;
	c->busy++;
	for (size_t i = 0; i < nr; i++)
		open = open && addr[i].open;
	if (nr == 0) {
		egress_conn_refuse(c, 502, "dns_error", "lookup", why);
	} else if (!open && !c->e->local) {
		egress_conn_refuse(c, 403, "destination_ip_prohibited", "address",
				   "the name leads to an address that is not of the open internet");
	} else {
		memcpy(c->addr, addr, nr * sizeof *addr);
		c->nr_addrs = nr;
		connect_next(c);
	}
	egress_conn_advance(c);
	egress_conn_leave(c);
}

void egress_conn_answer(struct egress_conn *c, bool allow, const char *why)
{
	c->busy++;
	if (allow) {
		c->state = EGRESS_LOOKUP;
		set_deadline(c, connect_us);
		c->lookup = egress_lookup_start(c->e->loop, c->host, c->head.port, on_lookup, c);
	} else {
		egress_conn_refuse(c, 403, "http_request_denied", "denied",
				   why ? why : "not allowed");
	}
	egress_conn_advance(c);
	egress_conn_leave(c);
}

/* --- the request --- */

static bool passes_body(const struct egress_conn *c)
{
	return c->head.chunked || c->head.length > 0;
}

/* Leaves in up only what belongs to the body (plain http). @from: where new bytes begin. */
static bool frame_body(struct egress_conn *c, size_t from)
{
	size_t came = c->up.len - from, keep = came;
	if (c->head.connect)
		return true;
	if (c->body_done) {
		keep = 0;
	} else if (c->head.chunked) {
		ssize_t n = egress_chunks_feed(&c->chunks, c->up.data + from, came);
		if (n < 0)
			return false;
		keep = (size_t)n;
		c->body_done = c->chunks.done;
	} else {
		keep = came < c->body_left ? came : (size_t)c->body_left;
		c->body_left -= keep;
		c->body_done = c->body_left == 0;
	}
	c->up.len = from + keep;
	return true;
}

static void egress_conn_ask(struct egress_conn *c)
{
	struct egress *e = c->e;
	struct egress_want w = {
		.host = c->host,
		.port = c->head.port,
		.method = c->head.method,
		.path = c->head.path,
	};
	if (!c->head.connect) {
		w.fields = buf_cstr(&c->head.fields);
		w.fields_len = c->head.fields.len;
	}
	w.listed = egress_listed((const char *const *)e->allow, e->nr_allow, c->host, c->head.port);
	c->state = EGRESS_ASKING;
	c->ticket = ++e->last_ticket;
	set_deadline(c, 0);
	if (e->ops && e->ops->ask)
		e->ops->ask(e->self, c->ticket, &w);
	else
		egress_conn_answer(c, w.listed, "not on the list of hosts");
}

static void egress_conn_refuse_port(struct egress_conn *c)
{
	char why[EGRESS_HOST_MAX + 80];
	snprintf(why, sizeof why, "port %u is allowed only if the list names it: '%s:%u'",
		 c->head.port, c->host, c->head.port);
	egress_conn_refuse(c, 403, "http_request_denied", "port",
			   c->head.connect || c->e->http ? why : "plain http is not allowed");
}

static void egress_conn_on_head(struct egress_conn *c)
{
	const char *why;
	int rc = egress_head_parse(c->up.data, c->up.len, &c->head, &why);
	if (rc < 0) {
		egress_conn_refuse(c, 400, "http_request_error", "malformed", why);
		return;
	}
	if (rc == 0)
		return;
	buf_drop(&c->up, c->head.len);
	c->body_left = c->head.length;
	c->body_done = !c->head.connect && !passes_body(c);
	if (!egress_name(c->head.host, c->host)) {
		egress_conn_refuse(c, 403, "http_request_denied", "name",
				   "the host is not a name (addresses are not allowed)");
	} else if (!egress_port_ok(c->e, c->host, &c->head)) {
		egress_conn_refuse_port(c);
	} else if (!frame_body(c, 0)) {
		egress_conn_refuse(c, 400, "http_request_error", "malformed",
				   "the body is not chunked as it should be");
	} else {
		egress_conn_ask(c);
	}
}

/* Rule 6. */
static void egress_conn_peek(struct egress_conn *c)
{
	char name[EGRESS_HOST_MAX + 1];
	if (c->peeked || !c->up.len)
		return;
	if (c->up.data[0] != 22 && c->head.port != 443) {
		c->peeked = true;
		return;
	}
	int rc = egress_sni(c->up.data, c->up.len, name);
	if (rc < 0 || (rc > 0 && strcmp(name, c->host) != 0))
		egress_conn_cut(c, 403, "http_request_denied", ALERT_UNRECOGNIZED_NAME, "sni",
				"only TLS for the host that was asked for passes here");
	else
		c->peeked = rc > 0;
}

/* --- pumping --- */

static bool egress_conn_broken(int sys)
{
	return sys != EAGAIN && sys != EINTR;
}

static void read_client(struct egress_conn *c)
{
	size_t from = c->up.len;
	buf_reserve(&c->up, READ_MAX);
	ssize_t n = recv(c->client, c->up.data + from, READ_MAX, MSG_DONTWAIT);
	if (n < 0) {
		if (egress_conn_broken(errno))
			egress_conn_close(c, c->state == EGRESS_PUMP ? "lost" : "cancelled");
		return;
	}
	c->up.len += (size_t)n;
	if (c->state == EGRESS_LAST) {
		buf_reset(&c->up);
		c->client_eof = n == 0;
		return;
	}
	if (n == 0) {
		c->client_eof = true;
		if (c->state != EGRESS_PUMP || (!c->head.connect && !c->body_done))
			egress_conn_close(c, "cancelled");
		return;
	}
	if (c->state == EGRESS_HEAD)
		egress_conn_on_head(c);
	else if (!frame_body(c, from))
		egress_conn_close(c, "malformed");
	else if (c->state == EGRESS_PUMP)
		tell_sends(c, from);
}

static void read_server(struct egress_conn *c)
{
	buf_reserve(&c->down, READ_MAX);
	ssize_t n = recv(c->server, c->down.data + c->down.len, READ_MAX, MSG_DONTWAIT);
	if (n < 0) {
		if (egress_conn_broken(errno))
			egress_conn_close(c, "lost");
		return;
	}
	c->server_eof = n == 0;
	c->down.len += (size_t)n;
	c->end.down_bytes += (uint64_t)n;
}

/* false if the connection has gone. */
static bool egress_conn_flush(struct egress_conn *c, int fd, struct buf *b, uint64_t *count)
{
	while (b->len) {
		ssize_t n = send(fd, b->data, b->len, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			break;
		if (n < 0) {
			egress_conn_close(c, "lost");
			return false;
		}
		buf_drop(b, (size_t)n);
		if (count)
			*count += (uint64_t)n;
	}
	return true;
}

static void egress_conn_shut(struct egress_conn *c)
{
	if (c->state == EGRESS_PUMP && c->head.connect && c->client_eof && !c->up.len &&
	    !c->up_shut) {
		c->up_shut = true;
		shutdown(c->server, SHUT_WR);
	}
	bool last = c->state == EGRESS_LAST || (c->state == EGRESS_PUMP && c->server_eof);
	if (last && !c->down.len && !c->down_shut) {
		c->down_shut = true;
		shutdown(c->client, SHUT_WR);
	}
	if (c->down_shut && (c->client_eof || !c->head.connect))
		if (c->state == EGRESS_PUMP || c->client_eof)
			egress_conn_close(c, "closed");
}

/* Moves what can be moved after any change. */
static void egress_conn_advance(struct egress_conn *c)
{
	if (!c->e)
		return;
	if (c->state == EGRESS_PUMP) {
		egress_conn_peek(c);
		if (!c->e ||
		    (c->peeked && !egress_conn_flush(c, c->server, &c->up, &c->end.up_bytes)))
			return;
		if (c->end.up_bytes + c->end.down_bytes > c->e->max_bytes) {
			egress_conn_cut(c, 403, "http_request_denied", 0, "bytes",
					"more bytes than one connection may carry");
			if (!c->e)
				return;
		}
	}
	if (!egress_conn_flush(c, c->client, &c->down, NULL))
		return;
	egress_conn_shut(c);
	if (c->e)
		egress_conn_watch(c);
}

static void on_client(void *self, int fd, unsigned events)
{
	struct egress_conn *c = self;
	(void)fd;
	c->busy++;
	if (c->state == EGRESS_PUMP)
		set_deadline(c, c->e->idle_us);
	if (events & (LOOP_READ | LOOP_HUP) && !c->client_eof)
		read_client(c);
	egress_conn_advance(c);
	egress_conn_leave(c);
}

static void on_server(void *self, int fd, unsigned events)
{
	struct egress_conn *c = self;
	int sys = 0;
	socklen_t len = sizeof sys;
	c->busy++;
	if (c->state == EGRESS_CONNECT) {
		if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &sys, &len) < 0)
			sys = errno;
		if (sys)
			connect_failed(c, sys);
		else
			egress_conn_connected(c);
	} else if (c->state == EGRESS_PUMP) {
		set_deadline(c, c->e->idle_us);
		if (events & (LOOP_READ | LOOP_HUP) && !c->server_eof)
			read_server(c);
	}
	egress_conn_advance(c);
	egress_conn_leave(c);
}

void egress_conn_check(struct egress_conn *c, int64_t now_us)
{
	if (!c->deadline_us || now_us < c->deadline_us)
		return;
	char why[64];
	c->busy++;
	switch (c->state) {
	case EGRESS_HEAD:
		egress_conn_close(c, "idle");
		break;
	case EGRESS_LOOKUP:
		egress_lookup_cancel(&c->lookup);
		egress_conn_refuse(c, 504, "dns_timeout", "lookup",
				   "looking up the name takes too long");
		break;
	case EGRESS_CONNECT:
		connect_failed(c, ETIMEDOUT);
		break;
	case EGRESS_PUMP:
		snprintf(why, sizeof why, "no byte came for %lld s",
			 (long long)(c->e->idle_us / 1000000));
		egress_conn_cut(c, 504, "connection_read_timeout", 0, "idle", why);
		break;
	case EGRESS_LAST:
		egress_conn_close(c, "closed");
		break;
	case EGRESS_ASKING:
		break;
	}
	egress_conn_advance(c);
	egress_conn_leave(c);
}

void egress_conn_new(struct egress *e, int fd, const char *head)
{
	struct egress_conn *c = NEW(struct egress_conn);
	c->e = e;
	c->client = fd;
	c->server = -1;
	GROW(e->conn, e->nr_conns, e->cap_conns);
	e->conn[e->nr_conns++] = c;
	c->client_events = LOOP_READ;
	c->client_watch = loop_fd_new(e->loop, fd, LOOP_READ, on_client, c);
	set_deadline(c, head_us);
	c->busy++;
	if (e->nr_conns > e->max_conns) {
		egress_conn_refuse(c, 503, "connection_limit_reached", "full",
				   "too many connections at once");
	} else if (head) {
		buf_puts(&c->up, head);
		egress_conn_on_head(c);
	}
	egress_conn_advance(c);
	egress_conn_leave(c);
}
