#include "sandbox/trace.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <linux/seccomp.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"

/* then others have their turn */
enum { AT_ONCE = 64, AT_ONCE_US = 2000, FLOOD_MS = 5, LOOK_MS = 500 };

#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS	   SECCOMP_IOW(4, __u64)
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP 1UL
#endif

struct held {
	uint64_t id; /* of the notification */
	struct trace_call call;
	void *tag;
	bool decided, allow; /* while it was frozen: answered when it comes again */
};

struct trace {
	struct loop *loop;
	int fd;
	struct loop_fd *watch;
	struct loop_timer *flood, *look;
	const struct trace_ops *ops;
	void *self;
	bool ask, freed;
	unsigned busy;
	struct held **held;
	size_t nr_held, cap_held;
	struct trace_counts counts;
};

/* The kernel's structures may be larger than those we know. */
union notif {
	struct seccomp_notif n;
	char room[512];
};
union answer {
	struct seccomp_notif_resp r;
	char room[512];
};

static bool is_listener(int fd)
{
	char path[64], text[64] = "";
	struct seccomp_notif_sizes size;
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	return readlink(path, text, sizeof text - 1) > 0 &&
	       !strcmp(text, "anon_inode:seccomp notify") &&
	       syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &size) == 0 &&
	       size.seccomp_notif <= sizeof(union notif) &&
	       size.seccomp_notif_resp <= sizeof(union answer);
}

static void held_free(struct trace *t, struct held *h)
{
	for (size_t i = 0; i < t->nr_held; i++)
		if (t->held[i] == h)
			t->held[i] = t->held[--t->nr_held];
	json_decref(h->call.body);
	free(h);
}

static void sandbox_trace_leave(struct trace *t)
{
	if (--t->busy == 0 && t->freed)
		free(t);
}

/* false: the caller has died or was interrupted, which brings its call again. */
static bool sandbox_trace_answer(const struct trace *t, uint64_t id, bool allow)
{
	union answer a = { .r = { .id = id } };
	if (allow)
		a.r.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
	else
		a.r.error = -EPERM;
	return ioctl(t->fd, SECCOMP_IOCTL_NOTIF_SEND, &a) == 0;
}

static bool sandbox_trace_waits(const struct trace *t, uint64_t id)
{
	return ioctl(t->fd, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
}

/* --- what waits for a decision --- */

static void sandbox_trace_look(void *self)
{
	struct trace *t = self;
	t->busy++;
	for (size_t i = t->nr_held; i-- > 0 && !t->freed;) {
		struct held *h = t->held[i];
		if (sandbox_trace_waits(t, h->id) || kill(h->call.pid, 0) == 0 || errno != ESRCH)
			continue;
		void *tag = h->tag;
		held_free(t, h);
		t->ops->gone(t->self, tag);
	}
	if (!t->freed && !t->nr_held)
		loop_timer_stop(t->look);
	sandbox_trace_leave(t);
}

static void sandbox_trace_hold(struct trace *t, uint64_t id, struct trace_call *c, void *tag)
{
	struct held *h = NEW(struct held);
	*h = (struct held){ .id = id, .call = *c, .tag = tag };
	GROW(t->held, t->nr_held, t->cap_held);
	t->held[t->nr_held++] = h;
	if (!t->look)
		t->look = loop_timer_new(t->loop, sandbox_trace_look, t);
	loop_timer_set(t->look, LOOK_MS, LOOK_MS);
}

/* The call of a process that was interrupted while it waited. */
static struct held *held_before(struct trace *t, const struct trace_call *c)
{
	for (size_t i = 0; i < t->nr_held; i++)
		if (t->held[i]->call.pid == c->pid && json_equal(t->held[i]->call.body, c->body) &&
		    !sandbox_trace_waits(t, t->held[i]->id))
			return t->held[i];
	return NULL;
}

static void finish_held(struct trace *t, struct held *h)
{
	if (!sandbox_trace_answer(t, h->id, h->allow))
		return;
	struct held mine = *h;
	json_incref(mine.call.body);
	held_free(t, h);
	if (mine.allow)
		t->ops->ran(t->self, &mine.call, mine.tag);
	else
		t->ops->gone(t->self, mine.tag);
	json_decref(mine.call.body);
}

void trace_answer(struct trace *t, void *tag, bool allow)
{
	for (size_t i = 0; i < t->nr_held; i++) {
		struct held *h = t->held[i];
		if (h->tag != tag || h->decided)
			continue;
		h->decided = true;
		h->allow = allow;
		t->busy++;
		finish_held(t, h);
		sandbox_trace_leave(t);
		return;
	}
}

/* --- what comes --- */

static void sandbox_trace_let_go(struct trace *t, uint64_t id, struct trace_call *c)
{
	t->ops->whose(t->self, c);
	if (!sandbox_trace_answer(t, id, true))
		return;
	t->counts.told++;
	t->ops->ran(t->self, c, NULL);
}

static void sandbox_trace_take_call(struct trace *t, const struct seccomp_notif *n)
{
	struct trace_call c = { 0 };
	void *tag = NULL;
	enum trace_say say;
	bool full = t->counts.told >= TRACE_EVENTS || t->counts.missed >= TRACE_MISSES;
	if (full && (!t->ask || n->data.nr == SYS_connect)) {
		(*(n->data.nr == SYS_connect ? &t->counts.connects : &t->counts.execs))++;
		sandbox_trace_answer(t, n->id, true);
		return;
	}
	bool known = trace_read(n, &c);
	struct held *h = known && t->nr_held ? held_before(t, &c) : NULL;
	if (!sandbox_trace_waits(t, n->id)) { /* what was read may be another's memory */
	} else if (!known) {
		t->counts.missed += !c.connect;
		sandbox_trace_answer(t, n->id, true);
	} else if (h) {
		h->id = n->id;
		if (h->decided)
			finish_held(t, h);
	} else if (t->ask && !c.connect && (say = t->ops->asked(t->self, &c, &tag)) != TRACE_GO) {
		t->counts.told++;
		if (say == TRACE_HOLD) {
			sandbox_trace_hold(t, n->id, &c, tag);
			return;
		}
		sandbox_trace_answer(t, n->id, false);
	} else if (full) {
		t->counts.execs++;
		sandbox_trace_answer(t, n->id, true);
	} else {
		sandbox_trace_let_go(t, n->id, &c);
	}
	json_decref(c.body);
}

static void sandbox_trace_go_on(void *self)
{
	struct trace *t = self;
	if (t->ops->flooded(t->self)) {
		loop_timer_set(t->flood, FLOOD_MS, 0);
		return;
	}
	loop_fd_events(t->watch, LOOP_READ);
}

static bool sandbox_trace_flooded(struct trace *t)
{
	if (!t->ops->flooded || !t->ops->flooded(t->self))
		return false;
	if (!t->flood)
		t->flood = loop_timer_new(t->loop, sandbox_trace_go_on, t);
	loop_timer_set(t->flood, FLOOD_MS, 0);
	loop_fd_events(t->watch, 0);
	return true;
}

static void sandbox_trace_over(struct trace *t)
{
	loop_fd_free(&t->watch);
	while (t->nr_held && !t->freed) {
		struct held *h = t->held[0];
		void *tag = h->tag;
		held_free(t, h);
		t->ops->gone(t->self, tag);
	}
	if (!t->freed)
		t->ops->over(t->self);
}

/* RECV blocks while no call waits, so poll first. */
static void sandbox_trace_on_events(void *self, int fd, unsigned events)
{
	struct trace *t = self;
	int64_t until = clock_awake_us() + AT_ONCE_US;
	(void)events;
	t->busy++;
	for (int i = 0; i < AT_ONCE && !t->freed && clock_awake_us() < until; i++) {
		union notif n = { .n = { 0 } };
		struct pollfd p = { .fd = fd, .events = POLLIN };
		if (poll(&p, 1, 0) <= 0)
			break;
		if (p.revents & POLLIN) {
			if (ioctl(fd, SECCOMP_IOCTL_NOTIF_RECV, &n) == 0)
				sandbox_trace_take_call(t, &n.n);
		} else {
			sandbox_trace_over(t);
			break;
		}
		if (!t->freed && sandbox_trace_flooded(t))
			break;
	}
	sandbox_trace_leave(t);
}

int trace_new(struct loop *l, int listener, bool ask, const struct trace_ops *ops, void *self,
	      struct trace **out, struct err *err)
{
	CLEANUP(fd_close) int fd = listener;
	if (!is_listener(fd))
		return err_set(err, ERR_INVALID, "the sandbox sent no listener of its filter");
	uint64_t flags = SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP; /* faster where the kernel knows it */
	(void)ioctl(fd, SECCOMP_IOCTL_NOTIF_SET_FLAGS, flags);
	struct trace *t = NEW(struct trace);
	*t = (struct trace){ .loop = l, .fd = fd, .ask = ask, .ops = ops, .self = self };
	fd = -1;
	t->watch = loop_fd_new(l, t->fd, LOOP_READ | LOOP_HUP, sandbox_trace_on_events, t);
	*out = t;
	return 0;
}

void trace_free(struct trace **tp)
{
	struct trace *t = take(tp);
	if (!t)
		return;
	t->busy++;
	loop_fd_free(&t->watch);
	loop_timer_free(&t->flood);
	loop_timer_free(&t->look);
	while (t->nr_held)
		held_free(t, t->held[0]);
	free(t->held);
	t->held = NULL;
	fd_close(&t->fd);
	t->freed = true;
	sandbox_trace_leave(t);
}

void trace_untold(const struct trace *t, struct trace_counts *out)
{
	*out = t->counts;
}
