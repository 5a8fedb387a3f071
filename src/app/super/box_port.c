#include "app/super/box_port.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "app/host/op.h"
#include "app/super/super_box.h"
#include "base/fd.h"

enum { AHEAD_MAX = 256 << 10, READ_MAX = 64 << 10, LINKS_MAX = 256 };

struct side { /* one end of a link and what is to be sent to it */
	struct link *link;
	int fd;
	struct loop_fd *watch;
	struct buf out;
	bool eof, shut; /* nothing more comes from it; it has been told that nothing more goes to it */
};

struct link {
	struct link *next;
	struct box_port *port; /* NULL: it goes as soon as the box has answered */
	struct side side[2];   /* who came, and the box */
	bool dialling;
};

struct box_port {
	struct box_port *next;
	struct super *s;
	uint64_t box;
	uint16_t port, host_port;
	int fd;
	struct loop_fd *watch;
	struct link *links;
	size_t nr_links;
};

/* --- links -------------------------------------------------------------------------------------------------------- */

static void link_free(struct link *l)
{
	for (struct link **at = l->port ? &l->port->links : NULL; at && *at; at = &(*at)->next)
		if (*at == l) {
			*at = l->next;
			l->port->nr_links--;
			break;
		}
	for (int i = 0; i < 2; i++) {
		loop_fd_free(&l->side[i].watch);
		fd_close(&l->side[i].fd);
		buf_release(&l->side[i].out);
	}
	l->port = NULL;
	if (!l->dialling)
		free(l);
}

static struct side *other(struct side *d)
{
	return d == &d->link->side[0] ? &d->link->side[1] : &d->link->side[0];
}

static void watch_side(struct side *d)
{
	if (d->watch)
		loop_fd_events(d->watch, (d->out.len ? (unsigned)LOOP_WRITE : 0U) |
						 (!d->eof && other(d)->out.len < AHEAD_MAX ? (unsigned)LOOP_READ : 0U));
}

/* false: the link is over. */
static bool send_out(struct side *d)
{
	while (d->out.len) {
		ssize_t n = send(d->fd, d->out.data, d->out.len, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN;
		buf_drop(&d->out, (size_t)n);
	}
	if (other(d)->eof && !d->shut) {
		d->shut = true;
		shutdown(d->fd, SHUT_WR);
	}
	return true;
}

static bool read_in(struct side *d)
{
	struct side *to = other(d);
	buf_reserve(&to->out, READ_MAX);
	ssize_t n = recv(d->fd, to->out.data + to->out.len, READ_MAX, MSG_DONTWAIT);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	to->out.len += (size_t)n;
	d->eof = n == 0;
	return true;
}

static void on_side(void *self, int fd, unsigned events)
{
	struct side *d = self;
	struct link *l = d->link;
	(void)fd;
	bool alive = !(events & LOOP_WRITE) || send_out(d);
	if (alive && (events & (LOOP_READ | LOOP_HUP)) && !d->eof && other(d)->out.len < AHEAD_MAX)
		alive = read_in(d) && (other(d)->fd < 0 || send_out(other(d)));
	if (!alive || (l->side[0].shut && l->side[1].shut)) {
		link_free(l);
		return;
	}
	watch_side(&l->side[0]);
	watch_side(&l->side[1]);
}

static void on_dialled(void *self, json_t *result, const struct err *err)
{
	struct link *l = self;
	int fd = result ? (int)json_int(result, "fd", -1) : -1;
	(void)err; /* nobody listens there: the connection ends */
	l->dialling = false;
	struct err none = ERR_INIT;
	if (!l->port || fd < 0 || fd_nonblock(fd, &none) < 0) {
		fd_close(&fd);
		link_free(l);
		return;
	}
	l->side[1].fd = fd;
	l->side[1].watch = loop_fd_new(l->port->s->loop, fd, 0, on_side, &l->side[1]);
	watch_side(&l->side[0]);
	watch_side(&l->side[1]);
}

static void on_come(void *self, int fd, unsigned events)
{
	struct box_port *p = self;
	int yes = 1, sock = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct box *b = boxes_get(p->s->boxes, p->box);
	(void)events;
	if (sock < 0)
		return;
	if (!b || p->nr_links >= LINKS_MAX) {
		close(sock);
		return;
	}
	setsockopt(sock, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
	struct link *l = NEW(struct link);
	*l = (struct link){ .next = p->links, .port = p, .side = { { .fd = sock }, { .fd = -1 } }, .dialling = true };
	l->side[0].link = l->side[1].link = l;
	l->side[0].watch = loop_fd_new(p->s->loop, sock, 0, on_side, &l->side[0]);
	p->links = l;
	p->nr_links++;
	b->driver->dial(b, p->port, on_dialled, l);
}

/* --- listeners ---------------------------------------------------------------------------------------------------- */

static void port_free(struct box_port *p)
{
	while (p->links)
		link_free(p->links);
	loop_fd_free(&p->watch);
	fd_close(&p->fd);
	free(p);
}

void box_ports_gone(struct super *s, uint64_t box)
{
	for (struct box_port **at = &s->box_ports; *at;) {
		struct box_port *p = *at;
		if (box && p->box != box) {
			at = &p->next;
			continue;
		}
		*at = p->next;
		port_free(p);
	}
}

static int port_listen(struct box_port *p, struct err *err)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(at);
	p->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (p->fd < 0 || bind(p->fd, (struct sockaddr *)&at, len) < 0 || listen(p->fd, 64) < 0 ||
	    getsockname(p->fd, (struct sockaddr *)&at, &len) < 0)
		return err_sys(err, "cannot listen on this machine for port %u of the box", p->port);
	p->host_port = ntohs(at.sin_port);
	p->watch = loop_fd_new(p->s->loop, p->fd, LOOP_READ, on_come, p);
	return 0;
}

static struct box_port *port_of(struct super *s, uint64_t box, uint16_t port, struct err *err)
{
	for (struct box_port *p = s->box_ports; p; p = p->next)
		if (p->box == box && p->port == port)
			return p;
	struct box_port *p = NEW(struct box_port);
	*p = (struct box_port){ .next = s->box_ports, .s = s, .box = box, .port = port, .fd = -1 };
	if (port_listen(p, err) < 0) {
		port_free(p);
		return NULL;
	}
	s->box_ports = p;
	return p;
}

static void start(void *self, struct action *a)
{
	struct super *s = self;
	const struct action_spec *spec = action_spec(a);
	struct box *b = boxes_get(s->boxes, spec->box);
	struct err err = ERR_INIT;
	struct box_port *p = NULL;
	if (!b)
		err_set(&err, ERR_CLOSED, "the box is gone");
	else if (!(b->driver->caps & CAP_DIAL) || !b->driver->dial)
		err_set(&err, ERR_UNSUPPORTED, "a port of a box of '%s' cannot be reached from here", b->driver->name);
	else
		p = port_of(s, spec->box, (uint16_t)spec->port, &err);
	if (!p) {
		action_fail(a, &err);
		return;
	}
	json_t *body = json_object(), *result = json_object();
	CLEANUP(free_ptr) char *url = xasprintf("http://127.0.0.1:%u", p->host_port);
	json_put_str(result, "url", url);
	json_put(body, "result", result);
	action_ended(a, END_OK, body);
}

static void cancel(void *self, struct action *a, const char *how)
{
	(void)self;
	(void)a;
	(void)how; /* it ends in its start */
}

static void url_done(struct call *c, const struct action_result *res)
{
	if (!call_outcome(c, res))
		return;
	json_t *v = json_copy(json_object_get(res->body, "result"));
	json_put_int(v, "event", (int64_t)res->id);
	call_answer(c, v);
}

void op_box_url(struct call *c)
{
	static struct effector effector = { .name = "port", .start = start, .cancel = cancel };
	uint64_t id;
	if (!call_box(c, &id))
		return;
	int64_t port = json_int(c->args, "port", 0);
	if (port < 1 || port > 65535) {
		call_fail(c, "script", NULL, NULL, 0, "%lld is no port", (long long)port);
		return;
	}
	effector.self = c->super;
	struct action_spec spec = { .kind = ACT_PORT, .tool = "port", .box = id, .host = boxes_name(c->super->boxes, id),
				    .port = (uint16_t)port, .leaves_box = true, .parallel = true };
	call_action(c, &spec, &effector, url_done);
}
