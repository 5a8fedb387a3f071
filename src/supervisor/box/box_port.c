#include "supervisor/box/box_port.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "supervisor/core/parts.h"
#include "supervisor/box/box_ops.h"
#include "supervisor/box/super_box.h"
#include "base/fd.h"
#include "base/tcp_peer.h"

enum { AHEAD_MAX = 256 << 10, READ_MAX = 64 << 10, LINKS_MAX = 256, LOOK_MS = 1000 };

struct side { /* one end of a link, and the bytes queued for it */
	struct link *link;
	int fd;
	struct loop_fd *watch;
	struct buf out;
	int64_t bytes; /* that came from it */
	/* eof: no more bytes come from it; shut: it was shut down for writing */
	bool eof, shut;
};

struct link {
	struct link *next;
	struct super *s;
	struct box_port *port; /* NULL: it goes as soon as the box has answered */
	struct side side[2];   /* who came, and the box */
	uint64_t box;
	uid_t uid;     /* whose came */
	bool dialling; /* the box stays until it has answered */
	/* runs while a side has said its last word and may still be there to listen */
	struct loop_timer *look;
};

struct box_port {
	struct box_port *next;
	struct super *s;
	uint64_t box, action, agent; /* the action that opened it, and whose that was */
	uint16_t port, host_port;
	/* reasons (bits) for which a client was refused since one was accepted: each is recorded
	 * once */
	unsigned turned;
	int fd;
	struct loop_fd *watch;
	struct link *links;
	size_t nr_links;
};

/* Records a connection: one event each. Takes @body. */
static void box_port_tell(struct box_port *p, json_t *body, const char *why)
{
	json_put_int(body, "port", p->port);
	json_put_int(body, "host_port", p->host_port);
	json_put_str(body, "why", why);
	record_append_json(p->s->record, EV_PORT_CLOSED, p->action, p->agent, p->box, 0, body);
}

/* --- links ------------------------------------------------------------------------------------ */

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
	loop_timer_free(&l->look);
	l->port = NULL;
	if (!l->dialling)
		free(l);
}

/* @why: NULL when both sides had said all that they wanted to. */
static void link_over(struct link *l, const char *why)
{
	json_t *body = json_object();
	json_put_int(body, "uid", l->uid);
	json_put_flag(body, "connected", l->side[1].fd >= 0);
	json_put_int(body, "up_bytes", l->side[0].bytes);
	json_put_int(body, "down_bytes", l->side[1].bytes);
	box_port_tell(l->port, body, why);
	link_free(l);
}

static struct side *box_port_other(struct side *d)
{
	return d == &d->link->side[0] ? &d->link->side[1] : &d->link->side[0];
}

static void watch_side(struct side *d)
{
	if (d->watch)
		loop_fd_events(d->watch, (d->out.len ? (unsigned)LOOP_WRITE : 0U) |
						 (!d->eof && box_port_other(d)->out.len < AHEAD_MAX
							  ? (unsigned)LOOP_READ
							  : 0U));
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
	if (box_port_other(d)->eof && !d->shut) {
		d->shut = true;
		shutdown(d->fd, SHUT_WR);
	}
	return true;
}

static bool box_port_read_in(struct side *d)
{
	struct side *to = box_port_other(d);
	buf_reserve(&to->out, READ_MAX);
	ssize_t n = recv(d->fd, to->out.data + to->out.len, READ_MAX, MSG_DONTWAIT);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	to->out.len += (size_t)n;
	d->bytes += n;
	d->eof = n == 0;
	return true;
}

/* True if the client has left. A client that has ended its sending gives no signal, so this is
 * tested. */
static bool is_gone(const struct side *d)
{
	struct pollfd p = { .fd = d->fd };
	struct err none = ERR_INIT;
	uid_t uid;
	if (!d->eof || d->shut)
		return false;
	if (poll(&p, 1, 0) > 0 && (p.revents & (POLLERR | POLLHUP)))
		return true;
	return d == &d->link->side[0] && tcp_peer_uid(d->fd, &uid, &none) < 0;
}

static const char *broken_by(const struct side *d)
{
	return d == &d->link->side[0] ? "the client closed the connection"
				      : "the sandbox closed the connection";
}

static void box_port_on_look(void *self)
{
	struct link *l = self;
	for (int i = 0; i < 2; i++)
		if (is_gone(&l->side[i])) {
			link_over(l, broken_by(&l->side[i]));
			return;
		}
}

static void on_side(void *self, int fd, unsigned events)
{
	struct side *d = self;
	struct link *l = d->link;
	(void)fd;
	bool alive = !(events & LOOP_WRITE) || send_out(d);
	if (alive && (events & (LOOP_READ | LOOP_HUP)) && !d->eof &&
	    box_port_other(d)->out.len < AHEAD_MAX)
		alive = box_port_read_in(d) &&
			(box_port_other(d)->fd < 0 || send_out(box_port_other(d)));
	if (!alive || (l->side[0].shut && l->side[1].shut)) {
		link_over(l, alive ? NULL : broken_by(d));
		return;
	}
	if (d->eof && !l->look) {
		l->look = loop_timer_new(l->s->loop, box_port_on_look, l);
		loop_timer_set(l->look, LOOK_MS, LOOK_MS);
	}
	watch_side(&l->side[0]);
	watch_side(&l->side[1]);
}

static void box_port_on_dialled(void *self, json_t *result, const struct err *err)
{
	struct link *l = self;
	struct super *s = l->s;
	uint64_t box = l->box;
	int fd = result ? (int)json_int(result, "fd", -1) : -1;
	l->dialling = false;
	struct err none = ERR_INIT;
	if (!l->port || fd < 0 || fd_nonblock(fd, &none) < 0) {
		fd_close(&fd);
		if (l->port)
			link_over(l, err ? err->text : "the sandbox can't be reached");
		else
			link_free(l);
	} else {
		l->side[1].fd = fd;
		l->side[1].watch = loop_fd_new(s->loop, fd, 0, on_side, &l->side[1]);
		watch_side(&l->side[0]);
		watch_side(&l->side[1]);
	}
	boxes_hold_answer(s->boxes, box, false);
}

/* Reasons to refuse a client: only this user and root may connect, and no client while the
 * sandbox is paused. */
enum reason { WELCOME, NOBODYS, ANOTHERS, PAUSED, FROZEN, FULL };
static const char *const REASON[] = {
	[NOBODYS] = "its owner is unknown", [ANOTHERS] = "another user's", [PAUSED] = "paused",
	[FROZEN] = "the sandbox is frozen", [FULL] = "too many at once",
};

static enum reason box_port_unwelcome(const struct box_port *p, int sock, uid_t *uid)
{
	struct err none = ERR_INIT;
	if (tcp_peer_uid(sock, uid, &none) < 0)
		return NOBODYS;
	if (*uid != 0 && *uid != geteuid())
		return ANOTHERS;
	if (gate_paused(p->s->gate, p->agent))
		return PAUSED;
	if (boxes_frozen(p->s->boxes, p->box))
		return FROZEN;
	return p->nr_links >= LINKS_MAX ? FULL : WELCOME;
}

static void turn_away(struct box_port *p, enum reason reason, uid_t uid)
{
	if (p->turned & 1U << reason)
		return;
	p->turned |= 1U << reason;
	json_t *body = json_object();
	if (reason != NOBODYS)
		json_put_int(body, "uid", uid);
	json_put_flag(body, "turned_away", true);
	box_port_tell(p, body, REASON[reason]);
}

static void on_come(void *self, int fd, unsigned events)
{
	struct box_port *p = self;
	int yes = 1, sock = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct box *b = boxes_get(p->s->boxes, p->box);
	(void)events;
	if (sock < 0)
		return;
	uid_t uid = 0;
	/* no box: it is about to go, and this with it */
	enum reason reason = b ? box_port_unwelcome(p, sock, &uid) : WELCOME;
	if (!b || reason != WELCOME) {
		close(sock);
		if (b)
			turn_away(p, reason, uid);
		return;
	}
	p->turned = 0;
	setsockopt(sock, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
	struct link *l = NEW(struct link);
	*l = (struct link){ .next = p->links,
			    .s = p->s,
			    .port = p,
			    .side = { { .fd = sock }, { .fd = -1 } },
			    .box = p->box,
			    .uid = uid,
			    .dialling = true };
	l->side[0].link = l->side[1].link = l;
	l->side[0].watch = loop_fd_new(p->s->loop, sock, 0, on_side, &l->side[0]);
	p->links = l;
	p->nr_links++;
	boxes_hold_answer(p->s->boxes, p->box, true);
	b->driver->dial(b, p->port, box_port_on_dialled, l);
}

/* --- listeners -------------------------------------------------------------------------------- */

static void port_free(struct box_port *p)
{
	while (p->links)
		link_over(p->links, "the sandbox is closed");
	loop_fd_free(&p->watch);
	fd_close(&p->fd);
	free(p);
}

struct box_ports {
	struct box_port *first;
};

static struct box_ports *box_ports_of(const struct super *s)
{
	static const struct super_part part = { sizeof(struct box_ports), NULL };
	return super_part(s, &part);
}

void box_ports_gone(struct super *s, uint64_t box)
{
	for (struct box_port **at = &box_ports_of(s)->first; *at;) {
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
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(at);
	p->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (p->fd < 0 || bind(p->fd, (struct sockaddr *)&at, len) < 0 || listen(p->fd, 64) < 0 ||
	    getsockname(p->fd, (struct sockaddr *)&at, &len) < 0)
		return err_sys(err, "can't listen on the host for port %u of the sandbox", p->port);
	p->host_port = ntohs(at.sin_port);
	p->watch = loop_fd_new(p->s->loop, p->fd, LOOP_READ, on_come, p);
	return 0;
}

static struct box_port *box_port_of(struct super *s, const struct action *a, struct err *err)
{
	const struct action_spec *spec = action_spec(a);
	uint16_t port = (uint16_t)spec->port;
	struct box_ports *all = box_ports_of(s);
	for (struct box_port *p = all->first; p; p = p->next)
		if (p->box == spec->box && p->port == port)
			return p;
	struct box_port *p = NEW(struct box_port);
	*p = (struct box_port){ .next = all->first,
				.s = s,
				.box = spec->box,
				.action = action_id(a),
				.agent = spec->agent,
				.port = port,
				.fd = -1 };
	if (port_listen(p, err) < 0) {
		port_free(p);
		return NULL;
	}
	all->first = p;
	return p;
}

static void box_port_start(void *self, struct action *a)
{
	struct super *s = self;
	const struct action_spec *spec = action_spec(a);
	struct box *b = boxes_get(s->boxes, spec->box);
	struct err err = ERR_INIT;
	struct box_port *p = NULL;
	if (!b)
		err_set(&err, ERR_CLOSED, "the sandbox has ended");
	else if (!box_can(b, CAP_DIAL | CAP_DIAL_HTTP) || !b->driver->dial)
		err_set(&err, ERR_UNSUPPORTED,
			"can't reach a port in a sandbox of backend '%s' with isolation level %s",
			b->driver->name, b->profile);
	else
		p = box_port_of(s, a, &err);
	if (!p) {
		action_fail(a, &err);
		return;
	}
	json_t *body = json_object(), *result = json_object();
	CLEANUP(free_ptr) char *url = mem_printf("http://127.0.0.1:%u", p->host_port);
	json_put_str(result, "url", url);
	json_put(body, "result", result);
	action_ended(a, END_OK, body);
}

static void box_port_cancel(void *self, struct action *a, const char *how)
{
	(void)self;
	(void)a;
	(void)how; /* it ends in its start */
}

static void url_done(struct call *c, const struct action_result *res)
{
	call_answer_stored(c, res);
}

void op_box_url(struct call *c)
{
	static struct effector effector = { .name = "port",
					    .start = box_port_start,
					    .cancel = box_port_cancel };
	uint64_t id;
	if (!call_box(c, &id))
		return;
	int64_t port = json_int(c->args, "port", 0);
	if (port < 1 || port > 65535) {
		call_fail(c, "script", NULL, NULL, 0, "invalid port: %lld", (long long)port);
		return;
	}
	effector.self = c->super;
	struct action_spec spec = { .kind = ACT_PORT,
				    .tool = "port",
				    .box = id,
				    .host = boxes_name(c->super->boxes, id),
				    .port = (uint16_t)port,
				    .leaves_box = true,
				    .parallel = true };
	call_action(c, &spec, &effector, url_done);
}
