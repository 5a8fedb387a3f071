/* The listener and the list of connections. One connection: egress_conn.c. */
#include "proxy/egress.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "proxy/egress_priv.h"

enum { SWEEP_MS = 1000, FULL_US = 10000000 };

/* Takes what waits at the listener; past max_conns only if @refuse, which answers them with 503. */
static void accept_waiting(struct egress *e, bool refuse)
{
	for (int i = 0; i < 32 && (refuse || e->nr_conns < e->max_conns); i++) {
		int client = accept4(e->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (client < 0) {
			e->starved = errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
				     errno == ENOMEM;
			return;
		}
		if (e->nr_conns == 0)
			loop_timer_set(e->sweep, SWEEP_MS, SWEEP_MS);
		egress_conn_new(e, client, NULL);
	}
}

/* A full house accepts nobody: connections wait in the kernel's queue until one ends. */
static void listener_watch(struct egress *e)
{
	bool full = e->nr_conns >= e->max_conns || e->starved;
	if (full && !e->full_since_us)
		e->full_since_us = loop_now_us(e->loop);
	else if (!full)
		e->full_since_us = 0;
	if (e->watch && full != e->paused)
		loop_fd_events(e->watch, full ? 0 : LOOP_READ);
	e->paused = full;
	if (full) /* the sweep looks again */
		loop_timer_set(e->sweep, SWEEP_MS, SWEEP_MS);
}

void egress_room_changed(struct egress *e)
{
	if (e->paused && e->nr_conns < e->max_conns && !e->starved)
		listener_watch(e);
}

static void on_sweep(void *self)
{
	struct egress *e = self;
	int64_t now = loop_now_us(e->loop);
	for (size_t i = e->nr_conns; i-- > 0;)
		if (i < e->nr_conns)
			egress_conn_check(e->conn[i], now);
	if (e->full_since_us && now - e->full_since_us > FULL_US && e->nr_conns >= e->max_conns)
		accept_waiting(e, true); /* nobody leaves: say why instead of letting them wait */
	e->starved = false;
	listener_watch(e);
	if (!e->nr_conns && !e->paused)
		loop_timer_stop(e->sweep);
}

static void on_listener(void *self, int fd, unsigned events)
{
	struct egress *e = self;
	(void)fd;
	(void)events;
	accept_waiting(e, false);
	listener_watch(e);
}

struct egress *egress_new(struct loop *l, int listener, const struct egress_opts *o,
			  const struct egress_ops *ops, void *self)
{
	struct egress *e = NEW(struct egress);
	struct err err = ERR_INIT;
	e->loop = l;
	e->listener = listener;
	e->ops = ops;
	e->self = self;
	e->http = o->http;
	e->local = o->local;
	e->max_bytes = o->max_bytes ? o->max_bytes : 4ULL << 30;
	e->idle_us = o->idle_us ? o->idle_us : 15 * 60 * INT64_C(1000000);
	e->max_conns = o->max_conns ? o->max_conns : 1024;
	e->allow = mem_calloc(o->nr_allow + 1, sizeof *e->allow);
	for (e->nr_allow = 0; e->nr_allow < o->nr_allow; e->nr_allow++)
		e->allow[e->nr_allow] = mem_strdup(o->allow[e->nr_allow]);
	if (o->nr_ports) {
		e->ports = mem_dup(o->ports, o->nr_ports * sizeof *o->ports);
		e->nr_ports = o->nr_ports;
	}
	e->sweep = loop_timer_new(l, on_sweep, e);
	if (fd_nonblock(listener, &err) == 0)
		e->watch = loop_fd_new(l, listener, LOOP_READ, on_listener, e);
	return e;
}

void egress_free(struct egress **ep)
{
	struct egress *e = *ep;
	*ep = NULL;
	if (!e)
		return;
	e->ops = NULL;
	while (e->nr_conns)
		egress_conn_close(e->conn[0], "closed");
	loop_fd_free(&e->watch);
	fd_close(&e->listener);
	loop_timer_free(&e->sweep);
	for (size_t i = 0; i < e->nr_allow; i++)
		free(e->allow[i]);
	free(e->allow);
	free(e->ports);
	free(e->conn);
	free(e);
}

/* A port of its own on the allow list is as good as one on the list of ports. */
bool egress_port_ok(const struct egress *e, const char *host, const struct egress_head *h)
{
	for (size_t i = 0; i < e->nr_ports; i++)
		if (e->ports[i] == h->port)
			return h->connect || e->http;
	for (size_t i = 0; i < e->nr_allow; i++) {
		const char *const one = e->allow[i];
		if (strchr(one, ':') && egress_listed(&one, 1, host, h->port))
			return h->connect || e->http;
	}
	if (e->nr_ports)
		return false;
	return h->connect ? h->port == 443 : e->http && h->port == 80;
}

void egress_answer(struct egress *e, uint64_t ticket, bool allow, const char *why)
{
	for (size_t i = 0; i < e->nr_conns; i++)
		if (e->conn[i]->ticket == ticket && e->conn[i]->state == EGRESS_ASKING) {
			egress_conn_answer(e->conn[i], allow, why);
			return;
		}
}

void egress_take(struct egress *e, int fd, const char *target)
{
	CLEANUP(free_ptr)
	char *head = mem_printf("CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", target, target);
	if (e->nr_conns == 0)
		loop_timer_set(e->sweep, SWEEP_MS, SWEEP_MS);
	egress_conn_new(e, fd, head);
}

size_t egress_conns(const struct egress *e)
{
	return e->nr_conns;
}
