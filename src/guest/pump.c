/* Framed streams: one pump per descriptor, with credit in both directions (wire/guest.h, 5). */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

#include "base/mem.h"
#include "guest/guest_priv.h"

enum { ECHO_LOOKS = 4 };

struct inner_pump {
	enum inner_pump_kind kind;
	uint64_t id;
	unsigned stream;
	int fd;
	struct inner_run *run; /* NULL: of nobody, or the run has ended */
	size_t credit;	       /* what we may still send */
	size_t owed;	       /* what we have used and not yet given back */
	struct buf out;	       /* came, not yet written */
	bool in_over;	       /* nothing more to read */
	bool eof_wanted;       /* the other side sends no more: shut down when out is empty */
	bool eof_done;
	bool draining; /* the run has ended: @drain bytes are from before */
	bool sink;     /* read and throw away */
	bool pass, dead;
	bool silent;	/* as the supervisor knows it: this terminal does not echo */
	unsigned looks; /* how often its echo is still looked at without a reason */
	size_t drain;
};

struct inner_pump *inner_pump_new(struct inner *g, enum inner_pump_kind kind, uint64_t id,
				  unsigned stream, int fd, struct inner_run *r)
{
	struct inner_pump *p = NEW(struct inner_pump);
	struct err err = ERR_INIT;
	*p = (struct inner_pump){
		.kind = kind, .id = id, .stream = stream, .fd = fd, .run = r, .credit = GUEST_WINDOW
	};
	if (fd_nonblock(fd, &err) < 0)
		p->dead = true;
	GROW(g->pump, g->nr_pumps, g->cap_pumps);
	g->pump[g->nr_pumps++] = p;
	return p;
}

void inner_pump_connecting(struct inner_pump *p, bool pass)
{
	p->pass = pass;
}

static bool pump_reads(const struct inner_pump *p)
{
	return p->kind == PUMP_READ || p->kind == PUMP_TTY || p->kind == PUMP_CONN;
}

static bool pump_writes(const struct inner_pump *p)
{
	return p->kind == PUMP_WRITE || p->kind == PUMP_TTY || p->kind == PUMP_CONN;
}

static struct inner_pump *pump_find(const struct inner *g, uint64_t id, unsigned stream)
{
	for (size_t i = 0; i < g->nr_pumps; i++)
		if (g->pump[i]->id == id && g->pump[i]->stream == stream && !g->pump[i]->dead &&
		    !g->pump[i]->sink)
			return g->pump[i];
	return NULL;
}

static void send_stream(struct inner *g, enum guest_frame type, const struct inner_pump *p,
			const void *bytes, size_t len)
{
	struct buf b = BUF_INIT;
	pack_u8(&b, (uint8_t)p->stream);
	buf_append(&b, bytes, len);
	inner_send(g, type, p->id, &b, -1);
	buf_release(&b);
}

static void pump_give_back(struct inner *g, struct inner_pump *p, size_t used)
{
	p->owed += used;
	if (p->owed < GUEST_WINDOW / 4 || p->dead)
		return;
	unsigned char n[4] = { (unsigned char)p->owed, (unsigned char)(p->owed >> 8),
			       (unsigned char)(p->owed >> 16), (unsigned char)(p->owed >> 24) };
	p->owed = 0;
	send_stream(g, GF_CREDIT, p, n, sizeof n);
}

static void finish_conn(struct inner_pump *p)
{
	if (p->kind == PUMP_CONN && p->in_over && p->eof_done)
		p->dead = true;
}

/* The reader has gone: later bytes are dropped, and their credit given back, so that the sender can
 * finish. */
static void pump_broken(struct inner *g, struct inner_pump *p)
{
	size_t lost = p->out.len;
	buf_reset(&p->out);
	p->eof_done = true;
	pump_give_back(g, p, lost);
	if (p->kind == PUMP_WRITE)
		fd_close(&p->fd);
	finish_conn(p);
}

static void pump_write_out(struct inner *g, struct inner_pump *p)
{
	while (p->out.len && !p->eof_done) {
		ssize_t n = write(p->fd, p->out.data, p->out.len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		if (n < 0) {
			pump_broken(g, p);
			return;
		}
		buf_drop(&p->out, (size_t)n);
		pump_give_back(g, p, (size_t)n);
	}
	if (p->eof_wanted && !p->eof_done && !p->out.len) {
		p->eof_done = true;
		if (p->kind == PUMP_CONN)
			shutdown(p->fd, SHUT_WR);
		else if (p->kind == PUMP_WRITE)
			p->dead = true;
		finish_conn(p);
	}
}

void inner_pump_data(struct inner *g, const struct frame *f)
{
	struct unpack u = { .p = f->body, .left = f->len };
	unsigned stream = unpack_u8(&u);
	if (u.bad || u.left > GUEST_CHUNK) {
		g->over = true;
		return;
	}
	struct inner_pump *p = pump_find(g, f->id, stream);
	if (!p)
		return;
	if (!pump_writes(p) || p->out.len + u.left > GUEST_WINDOW || p->eof_wanted) {
		g->over = true;
		return;
	}
	if (p->eof_done) {
		pump_give_back(g, p, u.left);
		return;
	}
	buf_append(&p->out, u.p, u.left);
	pump_write_out(g, p);
	if (p->kind == PUMP_TTY)
		p->looks = ECHO_LOOKS;
}

void inner_pump_eof(struct inner *g, const struct frame *f)
{
	struct unpack u = { .p = f->body, .left = f->len };
	unsigned stream = unpack_u8(&u);
	struct inner_pump *p = pump_find(g, f->id, stream);
	if (!unpack_done(&u) || (p && !pump_writes(p))) {
		g->over = true;
	} else if (p) {
		p->eof_wanted = true;
		pump_write_out(g, p);
	}
}

static void pump_drained(struct inner *g, struct inner_pump *p)
{
	if (!p->draining)
		return;
	p->draining = false;
	p->sink = true;
	inner_run_drained(g, p->run);
}

static void pump_end_reading(struct inner *g, struct inner_pump *p)
{
	p->in_over = true;
	if (p->kind == PUMP_CONN) {
		send_stream(g, GF_EOF, p, NULL, 0);
		finish_conn(p);
		return;
	}
	pump_drained(g, p);
	if (p->kind == PUMP_READ || p->sink)
		p->dead = true;
}

/* A program turns the echo off before or just after it asks for a password; nothing tells us, so we
 * look before what it prints goes out, when something is typed, and a few times after that. */
static void look_at_echo(struct inner *g, struct inner_pump *p)
{
	struct termios t;
	if (p->kind != PUMP_TTY || p->sink || p->dead || tcgetattr(p->fd, &t) < 0 ||
	    p->silent == !(t.c_lflag & ECHO))
		return;
	p->silent = !p->silent;
	struct buf b = BUF_INIT;
	pack_u8(&b, !p->silent);
	inner_send(g, GF_ECHO, p->id, &b, -1);
	buf_release(&b);
}

bool inner_pump_looks(struct inner *g)
{
	for (size_t i = 0; i < g->nr_pumps; i++)
		if (g->pump[i]->looks && !g->pump[i]->dead)
			return true;
	return false;
}

void inner_pump_look(struct inner *g)
{
	for (size_t i = 0; i < g->nr_pumps; i++)
		if (g->pump[i]->looks) {
			g->pump[i]->looks--;
			look_at_echo(g, g->pump[i]);
		}
}

/* One read of what credit allows. */
static void pump_read_in(struct inner *g, struct inner_pump *p)
{
	UNSET char bytes[GUEST_CHUNK - 1];
	size_t want = sizeof bytes;
	if (!p->sink && want > p->credit)
		want = p->credit;
	if (p->draining && want > p->drain)
		want = p->drain;
	ssize_t n = want ? read(p->fd, bytes, want) : 0;
	if (n < 0 && errno == EINTR)
		return;
	if (n < 0 && errno == EAGAIN) {
		pump_drained(g, p);
		return;
	}
	if (n <= 0 && want) {
		pump_end_reading(g, p); /* a terminal whose other side has closed says EIO */
		return;
	}
	if (n > 0 && !p->sink) {
		p->credit -= (size_t)n;
		if (p->kind == PUMP_TTY) {
			look_at_echo(g, p);
			p->looks = ECHO_LOOKS;
		}
		send_stream(g, GF_DATA, p, bytes, (size_t)n);
		if (p->kind == PUMP_TTY && p->run)
			inner_came_out(g, p->run, bytes, (size_t)n);
	}
	if (p->draining) {
		p->drain -= (size_t)n;
		if (!p->drain)
			pump_drained(g, p);
	}
}

static void drain_now(struct inner *g, struct inner_pump *p)
{
	while (p->draining && p->credit && !g->over)
		pump_read_in(g, p);
}

void inner_pump_credit(struct inner *g, const struct frame *f)
{
	struct unpack u = { .p = f->body, .left = f->len };
	unsigned stream = unpack_u8(&u);
	uint32_t more = unpack_u32(&u);
	struct inner_pump *p = pump_find(g, f->id, stream);
	if (!unpack_done(&u) ||
	    (p && (!pump_reads(p) || more > GUEST_WINDOW || p->credit + more > GUEST_WINDOW)))
		g->over = true;
	else if (p) {
		p->credit += more;
		drain_now(g, p);
	}
}

void inner_pump_resize(struct inner *g, uint64_t id, const struct winsize *size)
{
	struct inner_pump *p = pump_find(g, id, GUEST_TTY);
	if (p)
		ioctl(p->fd, TIOCSWINSZ, size);
}

bool inner_pump_drop(struct inner *g, uint64_t id)
{
	for (size_t i = 0; i < g->nr_pumps; i++)
		if (g->pump[i]->id == id && !g->pump[i]->run && g->pump[i]->stream == GUEST_CONN) {
			g->pump[i]->dead = true;
			return true;
		}
	return false;
}

/* A pipe tells what it holds. A terminal does not (bytes may be on their way inside the kernel),
 * but a read there waits for those, so that "nothing" is true; the bound is more than it can
 * hold. */
void inner_pump_run_ended(struct inner *g, struct inner_run *r)
{
	for (size_t i = 0; i < g->nr_pumps; i++) {
		struct inner_pump *p = g->pump[i];
		int there = 0;
		if (p->run != r || p->dead)
			continue;
		if (p->kind == PUMP_WRITE) {
			p->dead = true;
		} else if (r->dropped) {
			p->sink = true;
			if (p->draining) {
				p->draining = false;
				inner_run_drained(g, r);
			}
		} else if (!p->draining && !p->sink && !p->in_over) {
			ioctl(p->fd, FIONREAD, &there);
			p->drain =
				p->kind == PUMP_TTY ? 256 << 10 : (size_t)(there > 0 ? there : 0);
			p->draining = true;
			r->draining++;
			if (!p->drain)
				pump_drained(g, p);
			drain_now(g, p);
		}
	}
}

void inner_pump_run_done(struct inner *g, struct inner_run *r)
{
	for (size_t i = 0; i < g->nr_pumps; i++) {
		struct inner_pump *p = g->pump[i];
		if (p->run != r)
			continue;
		p->run = NULL;
		p->sink = true;
		if (!r->ended.left || p->in_over)
			p->dead = true;
	}
}

static void accept_one(struct inner *g, struct inner_pump *p)
{
	int fd = accept4(p->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd < 0)
		return;
	uint64_t id = GUEST_OWN_ID | ++g->last_conn;
	struct buf b = BUF_INIT;
	buf_u64le(&b, id);
	inner_send(g, GF_ACCEPTED, p->id, &b, -1);
	buf_release(&b);
	inner_pump_new(g, PUMP_CONN, id, GUEST_CONN, fd, NULL);
}

static void pump_connected(struct inner *g, struct inner_pump *p)
{
	int sys = 0;
	socklen_t len = sizeof sys;
	if (getsockopt(p->fd, SOL_SOCKET, SO_ERROR, &sys, &len) < 0)
		sys = errno;
	p->dead = true;
	int fd = p->fd;
	p->fd = -1;
	inner_dialled(g, p->id, fd, p->pass, sys);
}

size_t inner_pump_poll(struct inner *g, struct pollfd *fds)
{
	size_t nr = 0;
	for (size_t i = 0; i < g->nr_pumps; i++) { /* bury the dead */
		struct inner_pump *p = g->pump[i];
		if (p->dead) {
			fd_close(&p->fd);
			buf_release(&p->out);
			free(p);
			continue;
		}
		g->pump[nr++] = p;
	}
	g->nr_pumps = nr;
	for (size_t i = 0; i < nr; i++) {
		struct inner_pump *p = g->pump[i];
		short events = 0;
		if ((pump_reads(p) && !p->in_over && (p->sink || p->credit)) ||
		    p->kind == PUMP_LISTEN)
			events |= POLLIN;
		if (p->kind == PUMP_CONNECTING || (pump_writes(p) && p->out.len && !p->eof_done))
			events |= POLLOUT;
		fds[i] = (struct pollfd){ .fd = events ? p->fd : -1, .events = events };
	}
	return nr;
}

void inner_pump_serve(struct inner *g, const struct pollfd *fds, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		struct inner_pump *p = g->pump[i];
		short got = fds[i].revents;
		if (!got || p->dead)
			continue;
		if (p->kind == PUMP_LISTEN)
			accept_one(g, p);
		else if (p->kind == PUMP_CONNECTING)
			pump_connected(g, p);
		else {
			if (got & (POLLOUT | POLLERR))
				pump_write_out(g, p);
			if (!p->dead && got & (POLLIN | POLLHUP | POLLERR) &&
			    fds[i].events & POLLIN)
				pump_read_in(g, p);
		}
	}
}
