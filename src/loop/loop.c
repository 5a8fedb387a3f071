#include "loop/loop.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
#include <uv.h>

#include "base/clock.h"
#include "base/mem.h"

struct deferred {
	loop_fn *fn;
	void *self;
};

struct loop {
	uv_loop_t uv;
	uv_check_t check;     /* end of a turn: deferred calls */
	uv_prepare_t prepare; /* before sleeping: what callbacks of timers deferred */
	/* the limit of loop_turn: one for all, since a closing handle keeps the next turn from
	 * waiting */
	uv_timer_t turn;
	uv_idle_t idle; /* keeps the loop from sleeping while something is deferred */
	struct deferred *item;
	size_t nr, cap;
	int64_t now_us;
	bool running;
	/* a callback of ours ran in this turn before it slept: it must not sleep now, because the
	 * caller's condition may be true */
	bool ran;
};

/* libuv reports when a handle's memory may go: each of our handles is freed by its close
 * callback. */
struct loop_fd {
	uv_poll_t uv; /* first: the close callback frees the whole */
	int fd;
	loop_fd_fn *fn;
	void *self;
};

struct loop_timer {
	uv_timer_t uv;
	struct loop *loop;
	loop_fn *fn;
	void *self;
};

struct loop_wake {
	uv_async_t uv;
	loop_fn *fn;
	void *self;
};

struct loop_signal {
	uv_signal_t uv;
	loop_signal_fn *fn;
	void *self;
};

struct loop_job {
	uv_work_t uv;
	loop_fn *work, *done;
	void *self;
};

static void run_deferred(struct loop *l)
{
	l->now_us = clock_mono_us();
	/* calls deferred meanwhile belong to the next round, else one caller could keep the loop
	 * here endlessly */
	size_t nr = l->nr;
	l->ran |= nr > 0;
	for (size_t i = 0; i < nr; i++) {
		struct deferred d = l->item[i];
		d.fn(d.self);
	}
	for (size_t i = nr; i < l->nr; i++)
		l->item[i - nr] = l->item[i];
	l->nr -= nr;
}

static void loop_on_idle(uv_idle_t *h)
{
	(void)h; /* its being active is all that is needed */
}

static void arm_idle(struct loop *l)
{
	if (l->nr || l->ran)
		uv_idle_start(&l->idle, loop_on_idle);
	else
		uv_idle_stop(&l->idle);
}

static void loop_on_check(uv_check_t *h)
{
	struct loop *l = h->data;
	run_deferred(l);
	l->ran = false;
	arm_idle(l);
}

static void on_prepare(uv_prepare_t *h)
{
	struct loop *l = h->data;
	run_deferred(l);
	arm_idle(l);
}

int loop_new(struct loop **out, struct err *err)
{
	struct loop *l = NEW(struct loop);
	int rc = uv_loop_init(&l->uv);
	if (rc < 0) {
		free(l);
		return err_set(err, ERR_IO, "can't create an event loop: %s", uv_strerror(rc));
	}
	uv_check_init(&l->uv, &l->check);
	uv_prepare_init(&l->uv, &l->prepare);
	uv_idle_init(&l->uv, &l->idle);
	uv_timer_init(&l->uv, &l->turn);
	l->check.data = l->prepare.data = l->idle.data = l->turn.data = l;
	uv_check_start(&l->check, loop_on_check);
	uv_prepare_start(&l->prepare, on_prepare);
	uv_unref((uv_handle_t *)&l->check);
	uv_unref((uv_handle_t *)&l->prepare);
	l->now_us = clock_mono_us();
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* a write past a limit fails like one to a full disk */
	*out = l;
	return 0;
}

void loop_free(struct loop *l)
{
	if (!l)
		return;
	while (l->nr)
		run_deferred(l);
	uv_close((uv_handle_t *)&l->check, NULL);
	uv_close((uv_handle_t *)&l->prepare, NULL);
	uv_close((uv_handle_t *)&l->idle, NULL);
	uv_close((uv_handle_t *)&l->turn, NULL);
	uv_run(&l->uv, UV_RUN_DEFAULT);
	int rc = uv_loop_close(&l->uv);
	assert(rc == 0);
	(void)rc;
	free(l->item);
	free(l);
}

void loop_run(struct loop *l)
{
	l->running = true;
	while (l->running) {
		l->ran = false;
		uv_run(&l->uv, UV_RUN_ONCE);
	}
}

/* libuv looks at its timers also before it sleeps, and forgets those that are over: a limit that
 * ends there (this process had no processor meanwhile) would leave a sleep without end. */
static void on_turn_timer(uv_timer_t *t)
{
	struct loop *l = t->data;
	l->ran = true;
}

static void free_handle(uv_handle_t *h)
{
	free(h);
}

void loop_turn(struct loop *l, int timeout_ms)
{
	if (timeout_ms == 0) {
		uv_run(&l->uv, UV_RUN_NOWAIT);
		return;
	}
	l->ran = false;
	if (timeout_ms > 0) {
		uv_update_time(&l->uv);
		uv_timer_start(&l->turn, on_turn_timer, (uint64_t)timeout_ms, 0);
	}
	uv_run(&l->uv, UV_RUN_ONCE);
	uv_timer_stop(&l->turn);
}

void loop_stop(struct loop *l)
{
	l->running = false;
	uv_stop(&l->uv);
}

bool loop_alive(const struct loop *l)
{
	return uv_loop_alive(&l->uv);
}

int64_t loop_now_us(const struct loop *l)
{
	return l->now_us;
}

static void loop_on_poll(uv_poll_t *h, int status, int events)
{
	struct loop_fd *w = h->data;
	unsigned ev = 0;
	if (status < 0)
		ev = LOOP_READ | LOOP_WRITE | LOOP_HUP;
	if (events & UV_READABLE)
		ev |= LOOP_READ;
	if (events & UV_WRITABLE)
		ev |= LOOP_WRITE;
	if (events & UV_DISCONNECT)
		ev |= LOOP_HUP;
	w->fn(w->self, w->fd, ev);
}

struct loop_fd *loop_fd_new(struct loop *l, int fd, unsigned events, loop_fd_fn *fn, void *self)
{
	struct loop_fd *w = NEW(struct loop_fd);
	w->fd = fd;
	w->fn = fn;
	w->self = self;
	int rc = uv_poll_init(&l->uv, &w->uv, fd);
	/* a regular file, or a descriptor that is watched already: a bug of the caller */
	if (rc < 0) {
		free(w);
		return NULL;
	}
	w->uv.data = w;
	loop_fd_events(w, events);
	return w;
}

void loop_fd_events(struct loop_fd *w, unsigned events)
{
	int want = 0;
	if (events & LOOP_READ)
		want |= UV_READABLE;
	if (events & LOOP_WRITE)
		want |= UV_WRITABLE;
	if (events & LOOP_HUP)
		want |= UV_DISCONNECT;
	if (want)
		uv_poll_start(&w->uv, want, loop_on_poll);
	else
		uv_poll_stop(&w->uv);
}

void loop_fd_free(struct loop_fd **w)
{
	if (*w)
		uv_close((uv_handle_t *)&(*w)->uv, free_handle);
	*w = NULL;
}

static void loop_on_timer(uv_timer_t *h)
{
	struct loop_timer *t = h->data;
	t->loop->ran = true;
	t->fn(t->self);
}

struct loop_timer *loop_timer_new(struct loop *l, loop_fn *fn, void *self)
{
	struct loop_timer *t = NEW(struct loop_timer);
	uv_timer_init(&l->uv, &t->uv);
	t->uv.data = t;
	t->loop = l;
	t->fn = fn;
	t->self = self;
	return t;
}

void loop_timer_set(struct loop_timer *t, uint64_t after_ms, uint64_t repeat_ms)
{
	uv_update_time(t->uv.loop);
	uv_timer_start(&t->uv, loop_on_timer, after_ms, repeat_ms);
}

void loop_timer_stop(struct loop_timer *t)
{
	uv_timer_stop(&t->uv);
}

void loop_timer_free(struct loop_timer **t)
{
	if (*t)
		uv_close((uv_handle_t *)&(*t)->uv, free_handle);
	*t = NULL;
}

void loop_defer(struct loop *l, loop_fn *fn, void *self)
{
	GROW(l->item, l->nr, l->cap);
	l->item[l->nr++] = (struct deferred){ fn, self };
	uv_idle_start(&l->idle, loop_on_idle);
}

static void on_async(uv_async_t *h)
{
	struct loop_wake *w = h->data;
	w->fn(w->self);
}

struct loop_wake *loop_wake_new(struct loop *l, loop_fn *fn, void *self)
{
	struct loop_wake *w = NEW(struct loop_wake);
	int rc = uv_async_init(&l->uv, &w->uv, on_async);
	assert(rc == 0);
	(void)rc;
	w->uv.data = w;
	w->fn = fn;
	w->self = self;
	return w;
}

void loop_wake_send(struct loop_wake *w)
{
	uv_async_send(&w->uv);
}

void loop_wake_free(struct loop_wake **w)
{
	if (*w)
		uv_close((uv_handle_t *)&(*w)->uv, free_handle);
	*w = NULL;
}

static void loop_on_signal(uv_signal_t *h, int signo)
{
	struct loop_signal *s = h->data;
	s->fn(s->self, signo);
}

struct loop_signal *loop_signal_new(struct loop *l, int signo, loop_signal_fn *fn, void *self)
{
	struct loop_signal *s = NEW(struct loop_signal);
	uv_signal_init(&l->uv, &s->uv);
	s->uv.data = s;
	s->fn = fn;
	s->self = self;
	uv_signal_start(&s->uv, loop_on_signal, signo);
	return s;
}

void loop_signal_free(struct loop_signal **s)
{
	if (*s)
		uv_close((uv_handle_t *)&(*s)->uv, free_handle);
	*s = NULL;
}

static void on_work(uv_work_t *h)
{
	struct loop_job *j = h->data;
	j->work(j->self);
}

static void on_worked(uv_work_t *h, int status)
{
	struct loop_job *j = h->data;
	(void)status; /* jobs are never cancelled */
	j->done(j->self);
	free(j);
}

void loop_job_run(struct loop *l, loop_fn *work, loop_fn *done, void *self)
{
	struct loop_job *j = NEW(struct loop_job);
	j->uv.data = j;
	j->work = work;
	j->done = done;
	j->self = self;
	uv_queue_work(&l->uv, &j->uv, on_work, on_worked);
}
