#include "sandbox/effect_dial.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/fd.h"

enum { AGAIN_MS = 50, FLOOD_MS = 5, READ_SIZE = 64 << 10, AHEAD_MAX = 256 << 10 };

struct dialled {
	struct dialled *next;
	struct slot *slot;
	struct action *action; /* NULL: it has ended while the driver was asked */
	int fd;		       /* -1: not connected yet */
	struct loop_fd *watch;
	struct loop_timer *timer; /* until it is tried, or looked at, again */
	struct buf out;
	int64_t until_us, in, sent;
	bool asking; /* the driver; the box stays until it has answered */
	bool eof_wanted, eof_done, unread, flooded;
	bool said_all; /* its side has ended; queued bytes still go out */
};

bool is_dial(const struct action_spec *spec)
{
	return spec->kind == ACT_CONNECT && spec->tool && !strcmp(spec->tool, "dial") &&
	       !spec->leaves_box;
}

static void effect_dial_on_events(void *self, int fd, unsigned events);

static void effect_dial_drop(struct dialled *d)
{
	struct slot *s = d->slot;
	for (struct dialled **p = &s->dials; *p; p = &(*p)->next)
		if (*p == d) {
			*p = d->next;
			break;
		}
	loop_fd_free(&d->watch);
	loop_timer_free(&d->timer);
	fd_close(&d->fd);
	buf_release(&d->out);
	free(d);
}

/* The action ends now; what belongs to it goes when the driver has answered. */
static void effect_dial_end(struct dialled *d, enum action_end how, const struct err *err)
{
	struct action *a = d->action;
	json_t *body = json_object();
	json_put_int(body, "in_bytes", d->sent);
	json_put_int(body, "out_bytes", d->in);
	d->action = NULL;
	action_set_tag(a, NULL);
	if (!d->asking)
		effect_dial_drop(d);
	if (err) {
		json_decref(body);
		action_fail(a, err);
	} else {
		action_ended(a, how, body);
	}
}

static void effect_dial_update(struct dialled *d)
{
	if (d->watch)
		loop_fd_events(d->watch,
			       (d->unread || d->flooded || d->said_all ? 0U : (unsigned)LOOP_READ) |
				       (d->out.len ? (unsigned)LOOP_WRITE : 0U));
}

static void on_flood_over(void *self)
{
	struct dialled *d = self;
	d->flooded = action_flooded(d->action);
	if (d->flooded)
		loop_timer_set(d->timer, FLOOD_MS, 0);
	effect_dial_update(d);
}

/* false: the connection has ended. */
static bool effect_dial_take_bytes(struct dialled *d)
{
	char bytes[READ_SIZE];
	ssize_t n = recv(d->fd, bytes, sizeof bytes, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return true;
	if (n == 0 && d->out.len) {
		d->said_all = true;
		effect_dial_update(d);
		return true;
	}
	if (n <= 0) {
		effect_dial_end(d, END_OK, NULL);
		return false;
	}
	d->in += n;
	action_output(d->action, STREAM_OUT, bytes, (size_t)n);
	if (action_flooded(d->action)) {
		d->flooded = true;
		loop_timer_free(&d->timer);
		d->timer = loop_timer_new(d->slot->boxes->loop, on_flood_over, d);
		loop_timer_set(d->timer, FLOOD_MS, 0);
		effect_dial_update(d);
	}
	return true;
}

/* false: the connection has ended. */
static bool effect_dial_flush(struct dialled *d)
{
	while (d->out.len) {
		ssize_t n = send(d->fd, d->out.data, d->out.len, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno != EAGAIN)
			buf_reset(&d->out); /* reading says how it ended */
		if (n < 0)
			break;
		d->sent += n;
		buf_drop(&d->out, (size_t)n);
	}
	if (!d->out.len && d->said_all) {
		effect_dial_end(d, END_OK, NULL);
		return false;
	}
	if (!d->out.len && d->eof_wanted && !d->eof_done) {
		d->eof_done = true;
		shutdown(d->fd, SHUT_WR);
	}
	effect_dial_update(d);
	return true;
}

static void effect_dial_on_events(void *self, int fd, unsigned events)
{
	struct dialled *d = self;
	(void)fd;
	if ((events & LOOP_WRITE) && !effect_dial_flush(d))
		return;
	if ((events & (LOOP_READ | LOOP_HUP)) && !d->said_all)
		(void)effect_dial_take_bytes(d);
}

static void effect_dial_reach(struct dialled *d);

static void effect_dial_on_again(void *self)
{
	struct dialled *d = self;
	loop_timer_free(&d->timer);
	effect_dial_reach(d);
}

static void effect_dial_on_dialled(void *self, json_t *result, const struct err *err)
{
	struct dialled *d = self;
	struct slot *s = d->slot;
	int fd = result ? (int)json_int(result, "fd", -1) : -1;
	bool over = !d->action || s->closing;
	d->asking = false;
	if (!d->action) {
		fd_close(&fd);
		effect_dial_drop(d);
	} else if (over ||
		   (fd < 0 && (!err || err->code == ERR_CLOSED || err->code == ERR_UNSUPPORTED ||
			       clock_awake_us() >= d->until_us))) {
		struct err why = ERR_INIT;
		fd_close(&fd);
		err_set(&why, err ? err->code : ERR_CLOSED, "port %u of sandbox '%s': %s",
			action_spec(d->action)->port, s->name,
			err ? err->text : "the sandbox is closed");
		effect_dial_end(d, END_FAILED, &why);
	} else if (fd < 0) {
		d->timer = loop_timer_new(s->boxes->loop, effect_dial_on_again, d);
		loop_timer_set(d->timer, AGAIN_MS, 0);
	} else {
		struct err none = ERR_INIT;
		(void)!fd_nonblock(fd, &none);
		d->fd = fd;
		d->watch = loop_fd_new(s->boxes->loop, fd, 0, effect_dial_on_events, d);
		(void)effect_dial_flush(d);
	}
	boxes_hold_answer(s->boxes, s->id, false);
}

static void effect_dial_reach(struct dialled *d)
{
	struct slot *s = d->slot;
	assert(!s->closing);
	d->asking = true;
	boxes_hold_answer(s->boxes, s->id, true);
	s->driver->dial(s->box, action_spec(d->action)->port, effect_dial_on_dialled, d);
}

void dial_start(struct slot *s, struct action *a)
{
	const struct action_spec *spec = action_spec(a);
	struct dialled *d = NEW(struct dialled);
	*d = (struct dialled){ .next = s->dials,
			       .slot = s,
			       .action = a,
			       .fd = -1,
			       .until_us = clock_awake_us() + spec->timeout_us };
	s->dials = d;
	action_set_tag(a, d);
	if (s->driver->dial) {
		effect_dial_reach(d);
		return;
	}
	struct err err = ERR_INIT;
	err_set(&err, ERR_UNSUPPORTED, "backend '%s' can't connect to a port of a sandbox",
		s->driver->name);
	effect_dial_end(d, END_FAILED, &err);
}

void dial_cancel(struct slot *s, struct action *a, const char *how)
{
	(void)s;
	effect_dial_end(action_tag(a), strcmp(how, "kill") ? END_CANCELLED : END_KILLED, NULL);
}

static void end_those(struct slot *s, enum action_end how, bool connected)
{
	for (struct dialled *d = s->dials, *next; d; d = next) {
		next = d->next;
		if (d->action && (connected || d->fd < 0))
			effect_dial_end(d, how, NULL);
	}
}

void dials_stop(struct slot *s)
{
	end_those(s, END_CANCELLED, false);
}

void dials_end(struct slot *s, enum action_end how)
{
	end_those(s, how, true);
}

struct dialled *dial_find(struct boxes *b, uint64_t id)
{
	for (size_t i = 0; i < b->nr; i++)
		for (struct dialled *d = b->item[i]->dials; d; d = d->next)
			if (d->action && action_id(d->action) == id)
				return d;
	return NULL;
}

void dial_send(struct dialled *d, const void *bytes, size_t len, bool eof)
{
	buf_append(&d->out, bytes, len);
	d->eof_wanted |= eof;
	if (d->fd >= 0)
		(void)effect_dial_flush(d);
}

int dial_room(const struct dialled *d, struct err *err)
{
	if (d->out.len < AHEAD_MAX)
		return 0;
	return err_set(
		err, ERR_BUSY,
		"port %u of sandbox '%s' hasn't read the %zu bytes that were written before; read "
		"its output, or write later",
		action_spec(d->action)->port, d->slot->name, d->out.len);
}

void dial_close(struct dialled *d)
{
	effect_dial_end(d, END_OK, NULL);
}

void dial_hold(struct dialled *d, bool held)
{
	d->unread = held;
	effect_dial_update(d);
}
