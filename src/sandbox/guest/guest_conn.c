/* Connections into and out of a box where no descriptor can be passed: each is a framed stream here
 * and one end of a local socket for the caller. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/mem.h"
#include "sandbox/guest/guest_priv.h"

struct guest_conn {
	struct guest *g;
	uint64_t id;
	int fd; /* -1: a listener, known by its path */
	struct loop_fd *watch;
	struct buf out; /* came from the box, not yet written */
	size_t credit;	/* what we may send */
	size_t owed;
	bool in_over, eof_wanted, eof_done;
	char *dir; /* of a listener: private directory with the socket "s" */
};

static void guest_conn_on_events(void *self, int fd, unsigned events);

static void guest_conn_free(struct guest_conn *c)
{
	struct guest *g = c->g;
	for (size_t i = 0; i < g->nr_conns; i++)
		if (g->conn[i] == c)
			g->conn[i] = g->conn[--g->nr_conns];
	loop_fd_free(&c->watch);
	fd_close(&c->fd);
	buf_release(&c->out);
	if (c->dir) {
		struct err err = ERR_INIT;
		(void)!dir_remove(c->dir, &err);
		free(c->dir);
	}
	free(c);
}

void guest_conns_free(struct guest *g)
{
	while (g->nr_conns)
		guest_conn_free(g->conn[0]);
}

static struct guest_conn *guest_conn_find(const struct guest *g, uint64_t id)
{
	for (size_t i = 0; i < g->nr_conns; i++)
		if (g->conn[i]->id == id)
			return g->conn[i];
	return NULL;
}

static struct guest_conn *conn_new(struct guest *g, uint64_t id, int fd)
{
	struct guest_conn *c = NEW(struct guest_conn);
	*c = (struct guest_conn){ .g = g, .id = id, .fd = fd, .credit = GUEST_WINDOW };
	GROW(g->conn, g->nr_conns, g->cap_conns);
	g->conn[g->nr_conns++] = c;
	if (fd >= 0)
		c->watch = loop_fd_new(g->loop, fd, LOOP_READ, guest_conn_on_events, c);
	return c;
}

static void guest_conn_update(struct guest_conn *c)
{
	loop_fd_events(c->watch, (!c->in_over && c->credit ? (unsigned)LOOP_READ : 0U) |
					 (c->out.len && !c->eof_done ? (unsigned)LOOP_WRITE : 0U));
}

static void guest_conn_drop(struct guest_conn *c)
{
	guest_send(c->g, GF_DROP, c->id, NULL);
	guest_conn_free(c);
}

static void guest_conn_give_back(struct guest_conn *c, size_t used)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	c->owed += used;
	if (c->owed < GUEST_WINDOW / 4)
		return;
	pack_u8(&b, GUEST_CONN);
	buf_u32le(&b, (uint32_t)c->owed);
	c->owed = 0;
	guest_send(c->g, GF_CREDIT, c->id, &b);
}

/* false if the connection has gone. */
static bool guest_conn_write_out(struct guest_conn *c)
{
	while (c->out.len) {
		ssize_t n = send(c->fd, c->out.data, c->out.len, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			break;
		if (n < 0) {
			guest_conn_drop(c);
			return false;
		}
		buf_drop(&c->out, (size_t)n);
		guest_conn_give_back(c, (size_t)n);
	}
	if (!c->out.len && c->eof_wanted && !c->eof_done) {
		c->eof_done = true;
		shutdown(c->fd, SHUT_WR);
	}
	if (c->in_over && c->eof_done) {
		guest_conn_free(c);
		return false;
	}
	return true;
}

/* false if the connection has gone. */
static bool guest_conn_read_in(struct guest_conn *c)
{
	UNSET char bytes[GUEST_CHUNK - 1];
	ssize_t n = recv(c->fd, bytes, c->credit < sizeof bytes ? c->credit : sizeof bytes,
			 MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return true;
	if (n < 0) {
		guest_conn_drop(c);
		return false;
	}
	if (n > 0) {
		c->credit -= (size_t)n;
		guest_send_stream(c->g, GF_DATA, c->id, GUEST_CONN, bytes, (size_t)n);
		return true;
	}
	c->in_over = true;
	guest_send_stream(c->g, GF_EOF, c->id, GUEST_CONN, NULL, 0);
	if (!c->eof_done)
		return true;
	guest_conn_free(c);
	return false;
}

static void guest_conn_on_events(void *self, int fd, unsigned events)
{
	struct guest_conn *c = self;
	(void)fd;
	if (events & LOOP_WRITE && !guest_conn_write_out(c))
		return;
	if (events & (LOOP_READ | LOOP_HUP) && !c->in_over && c->credit && !guest_conn_read_in(c))
		return;
	guest_conn_update(c);
}

bool guest_conn_data(struct guest *g, uint64_t id, const char *bytes, size_t len)
{
	struct guest_conn *c = guest_conn_find(g, id);
	if (!c || c->fd < 0)
		return false;
	if (c->out.len + len > GUEST_WINDOW || c->eof_wanted) {
		guest_broken(g, "more data than there was room for");
		return true;
	}
	buf_append(&c->out, bytes, len);
	if (guest_conn_write_out(c))
		guest_conn_update(c);
	return true;
}

bool guest_conn_eof(struct guest *g, uint64_t id)
{
	struct guest_conn *c = guest_conn_find(g, id);
	if (!c || c->fd < 0)
		return false;
	c->eof_wanted = true;
	if (guest_conn_write_out(c))
		guest_conn_update(c);
	return true;
}

bool guest_conn_credit(struct guest *g, uint64_t id, uint32_t more)
{
	struct guest_conn *c = guest_conn_find(g, id);
	if (!c || c->fd < 0)
		return false;
	if (c->credit + more > GUEST_WINDOW) {
		guest_broken(g, "credit out of bounds");
		return true;
	}
	c->credit += more;
	guest_conn_update(c);
	return true;
}

int guest_conn_dialled(struct guest *g, uint64_t id, struct err *err)
{
	int pair[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0) {
		err_sys(err, "can't create a socket pair");
		guest_send(g, GF_DROP, id, NULL);
		return -1;
	}
	conn_new(g, id, pair[0]);
	return pair[1];
}

static struct sockaddr_un guest_conn_address(const char *dir)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	snprintf(at.sun_path, sizeof at.sun_path, "%s/s", dir);
	return at;
}

/* The directory is ours alone (0700), so nobody else can pretend to be in the box. */
int guest_conn_listen(struct guest *g, uint64_t id, struct err *err)
{
	char dir[] = "/tmp/sandglass-listen-XXXXXX";
	CLEANUP(fd_close) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || !mkdtemp(dir)) {
		guest_send(g, GF_DROP, id, NULL);
		return err_sys(err, "can't create a listening socket");
	}
	struct guest_conn *c = conn_new(g, id, -1);
	c->dir = mem_strdup(dir);
	struct sockaddr_un at = guest_conn_address(dir);
	if (bind(fd, (struct sockaddr *)&at, sizeof at) < 0 || listen(fd, 256) < 0) {
		err_sys(err, "can't listen in '%s'", dir);
		guest_conn_drop(c);
		return -1;
	}
	int out = fd;
	fd = -1;
	return out;
}

void guest_conn_accepted(struct guest *g, uint64_t listener, uint64_t id)
{
	struct guest_conn *l = guest_conn_find(g, listener);
	CLEANUP(fd_close) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (l && l->dir && fd >= 0) {
		struct sockaddr_un at = guest_conn_address(l->dir);
		if (connect(fd, (struct sockaddr *)&at, sizeof at) == 0) {
			conn_new(g, id, fd);
			fd = -1;
			return;
		}
		if (errno == ECONNREFUSED) /* the caller has closed it */
			guest_conn_drop(l);
	}
	guest_send(g, GF_DROP, id, NULL);
}
