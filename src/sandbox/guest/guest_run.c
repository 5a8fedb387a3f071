/* Runs: the supervisor's side of one process in a box, from prepare to on_exit. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "base/mem.h"
#include "sandbox/guest/guest_run_priv.h"

enum { TTY_MAX = 256 << 10, KILL_AFTER_MS = 2000 };

/* --- memory --- */

void run_end_close(struct end *e)
{
	loop_fd_free(&e->watch);
	fd_close(&e->fd);
	buf_release(&e->held);
	e->over = true;
}

static void trace_close(struct guest_run *r)
{
	loop_fd_free(&r->trace_watch);
	fd_close(&r->trace);
}

static void guest_run_forget(struct guest_run *r)
{
	struct guest *g = r->g;
	for (size_t i = 0; g && i < g->nr_runs; i++)
		if (g->run[i] == r)
			g->run[i] = g->run[--g->nr_runs];
	r->g = NULL;
}

static void guest_run_detach(struct guest_run *r)
{
	for (int i = 0; i < 4; i++)
		run_end_close(&r->end[i]);
	trace_close(r);
	loop_timer_free(&r->timer);
	guest_run_forget(r);
}

void run_leave(struct guest_run *r)
{
	if (--r->busy || !r->freed)
		return;
	buf_release(&r->in);
	free(r);
}

void guest_run_free(struct guest_run *r)
{
	if (!r)
		return;
	r->busy++;
	if (r->g && !r->ended)
		guest_send(r->g, GF_DROP, r->id, NULL);
	guest_run_detach(r);
	r->freed = true;
	run_leave(r);
}

void guest_runs_detach(struct guest *g)
{
	while (g->nr_runs)
		guest_run_detach(g->run[0]);
}

/* --- the end --- */

static void tell_exit(struct guest_run *r, bool lost)
{
	struct guest *g = r->g;
	if (r->exited || !g)
		return;
	r->exited = true;
	r->ended = true;
	loop_timer_free(&r->timer);
	struct err why = ERR_INIT;
	if (!lost && r->ops->on_lost && guest_run_failure(r, &why))
		r->ops->on_lost(r->self, &why);
	for (int i = 1; i < 4; i++) {
		struct end *e = &r->end[i];
		if (e->fd >= 0 && !lost && r->how.left) {
			int fd = e->fd;
			loop_fd_free(&e->watch);
			e->fd = -1;
			guest_sink_new(g, fd);
		}
	}
	guest_run_detach(r);
	r->ops->on_exit(r->self, r->how.code, r->how.signal, lost, (int)r->how.left);
}

/* Everything from before the end has been handed over? */
static bool guest_run_drained(const struct guest_run *r)
{
	for (int i = 1; i < 4; i++)
		if (r->end[i].held.len || (r->end[i].fd >= 0 && !r->end[i].over && r->end[i].drain))
			return false;
	return true;
}

void run_check_end(struct guest_run *r)
{
	if (r->ended && !r->exited && guest_run_drained(r))
		tell_exit(r, false);
}

/* --- frames --- */

struct guest_run *run_find(const struct guest *g, uint64_t id)
{
	for (size_t i = g->nr_runs; i-- > 0;)
		if (g->run[i]->id == id)
			return g->run[i];
	return NULL;
}

static bool is_terminal(int fd)
{
	struct stat st;
	struct termios t;
	struct err err = ERR_INIT;
	return fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) && tcgetattr(fd, &t) == 0 &&
	       fd_nonblock(fd, &err) == 0;
}

void guest_run_prepared(struct guest *g, const struct frame *f, int *fds, size_t nr)
{
	struct unpack u = { .p = f->body, .left = f->len };
	uint32_t pid = unpack_u32(&u);
	struct guest_run *r = run_find(g, f->id);
	bool want_fd = r && r->pty && !r->framed;
	if (!unpack_done(&u) || pid > INT32_MAX) {
		guest_broken(g, "a damaged frame about a run");
		return;
	}
	if (!r || r->pid)
		return;
	if (want_fd && (nr != 1 || !is_terminal(fds[0]))) {
		guest_broken(g, "no terminal");
		return;
	}
	r->pid = (int)pid;
	if (want_fd) {
		r->end[GUEST_TTY].fd = fds[0];
		fds[0] = -1;
		if (r->size.ws_col)
			guest_resize(r, &r->size);
	}
	r->busy++;
	run_write_in(r);
	run_update(r);
	run_leave(r);
}

void guest_run_echo(struct guest *g, const struct frame *f)
{
	struct unpack u = { .p = f->body, .left = f->len };
	unsigned on = unpack_u8(&u);
	struct guest_run *r = run_find(g, f->id);
	if (!unpack_done(&u) || on > 1)
		guest_broken(g, "a damaged frame about a terminal");
	else if (r && r->pty)
		r->silent = !on;
}

void guest_run_stopped(struct guest *g, const struct frame *f)
{
	struct unpack u = { .p = f->body, .left = f->len };
	unsigned signo = unpack_u8(&u);
	struct guest_run *r = run_find(g, f->id);
	if (!unpack_done(&u) || (int)signo > SIGRTMAX)
		guest_broken(g, "a damaged frame about a stop");
	else if (r && r->job && !r->ended && r->ops->on_stop)
		r->ops->on_stop(r->self, (int)signo);
}

bool guest_silent(const struct guest_run *r)
{
	struct termios t;
	int fd = r->end[GUEST_TTY].fd;
	if (!r->pty)
		return false;
	if (r->framed || fd < 0)
		return r->silent;
	return tcgetattr(fd, &t) == 0 && !(t.c_lflag & ECHO);
}

void guest_run_ended(struct guest *g, const struct frame *f)
{
	struct guest_ended_body b;
	struct err err = ERR_INIT;
	struct guest_run *r = run_find(g, f->id);
	if (guest_ended_unpack(f->body, f->len, &b, &err) < 0) {
		guest_broken(g, "a damaged end of a run");
		return;
	}
	if (b.oom != GUEST_OOM_UNKNOWN)
		g->oom = b.oom;
	if (!r || r->ended)
		return;
	b.code = b.code > 255 ? 255 : b.code;
	b.signal = b.signal > SIGRTMAX ? SIGKILL : b.signal;
	b.left = b.left > 1 << 22 ? 1 << 22 : b.left;
	r->how = b;
	r->ended = true;
	r->busy++;
	buf_reset(&r->in);
	run_end_close(&r->end[GUEST_IN]);
	for (int i = 1; i < 4; i++) {
		struct end *e = &r->end[i];
		int there = 0;
		if (e->fd < 0 || e->over)
			continue;
		if (i == GUEST_TTY)
			/* what a terminal holds cannot be asked; a read of it finds out */
			there = TTY_MAX;
		else if (ioctl(e->fd, FIONREAD, &there) < 0 || there < 0)
			there = 0;
		e->drain = (size_t)there;
		if (!r->paused)
			run_read_some(r, e);
		if (r->freed || !r->g)
			break;
	}
	if (r->g) {
		run_check_end(r);
		run_update(r);
	}
	run_leave(r);
}

/* Output still in the pipes is real: it is delivered before the loss is reported, paused or not. */
static void guest_run_lose(struct guest_run *r)
{
	r->busy++;
	r->paused = false;
	for (int i = 1; i < 4; i++) {
		struct end *e = &r->end[i];
		if (r->framed && e->held.len) {
			struct buf held = e->held;
			e->held = BUF_INIT;
			run_deliver(r, (unsigned)i, held.data, held.len);
			buf_release(&held);
		} else if (e->fd >= 0 && !r->freed) {
			r->ended = false;
			run_read_some(r, e);
		}
		if (r->freed)
			break;
	}
	if (!r->freed) {
		r->how.code = 0;
		r->how.signal = SIGKILL;
		r->how.left = 0;
		tell_exit(r, true);
	}
	run_leave(r);
}

void guest_runs_lost(struct guest *g)
{
	while (g->nr_runs && !g->freed)
		guest_run_lose(g->run[0]);
}

/* --- what it executes --- */

static void guest_run_on_trace(void *self, int fd, unsigned events)
{
	struct guest_run *r = self;
	struct err err = ERR_INIT;
	int fds[FD_PASS_MAX];
	size_t nr = 0;
	uint32_t why = 0;
	(void)events;
	ssize_t n = fd_recv(fd, &why, sizeof why, fds, &nr, &err);
	if (n < 0 && err.sys == EAGAIN)
		return;
	int listener = n == sizeof why && nr == 1 && !why ? fds[0] : -1;
	for (size_t i = 0; i < nr; i++)
		if (fds[i] != listener)
			fd_close(&fds[i]);
	trace_close(r);
	if (listener >= 0 || n > 0) /* else it ended before it came so far */
		r->ops->on_trace(r->self, listener, why < 4096 ? (int)why : EIO);
}

/* Returns the end for the child, or -1. */
static int open_trace(struct guest_run *r)
{
	int pair[2];
	struct err err = ERR_INIT;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -1;
	r->trace = pair[0];
	if (fd_nonblock(r->trace, &err) < 0) {
		fd_close(&pair[1]);
		return -1;
	}
	r->trace_watch = loop_fd_new(r->g->loop, r->trace, LOOP_READ, guest_run_on_trace, r);
	return pair[1];
}

/* --- verbs --- */

static bool guest_run_open_pipes(struct guest_run *r, bool in, int child[3])
{
	for (int i = in ? 0 : 1; i < 3; i++) {
		int p[2];
		struct err err = ERR_INIT;
		if (pipe2(p, O_CLOEXEC) < 0)
			return false;
		child[i] = p[i == 0 ? 0 : 1];
		r->end[i].fd = p[i == 0 ? 1 : 0];
		if (fd_nonblock(r->end[i].fd, &err) < 0)
			return false;
	}
	return true;
}

static void pack_prepare(const struct run_opts *o, unsigned flags, struct buf *b)
{
	uint32_t nr_env = 0;
	while (o->env && o->env[nr_env])
		nr_env++;
	buf_u16le(b, (uint16_t)flags);
	buf_u16le(b, o->cols);
	buf_u16le(b, o->rows);
	buf_u16le(b, o->xpixel);
	buf_u16le(b, o->ypixel);
	pack_str(b, o->cwd ? o->cwd : "");
	buf_u32le(b, (uint32_t)o->nr_argv);
	for (size_t i = 0; i < o->nr_argv; i++)
		pack_str(b, o->argv[i]);
	buf_u32le(b, nr_env);
	for (size_t i = 0; i < nr_env; i++)
		pack_str(b, o->env[i]);
}

static void guest_run_fail_later(void *self)
{
	struct guest_run *r = self;
	if (!r->freed && r->g)
		tell_exit(r, r->how.step == GS_NONE);
	run_leave(r);
}

/* The run fails before a frame about it is sent. */
static void guest_run_fail(struct guest_run *r, unsigned step, int sys)
{
	r->ended = true;
	r->how = (struct guest_ended_body){ .code = step ? 126 : 0,
					    .signal = step ? 0 : SIGKILL,
					    .step = (uint8_t)step,
					    .sys = (uint32_t)sys };
	r->busy++;
	loop_defer(r->g->loop, guest_run_fail_later, r);
}

struct guest_run *guest_prepare(struct guest *g, const struct run_opts *o,
				const struct run_ops *ops, void *self)
{
	struct guest_run *r = NEW(struct guest_run);
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	int child[4] = { -1, -1, -1, -1 };
	*r = (struct guest_run){ .g = g,
				 .id = guest_next_id(g),
				 .ops = ops,
				 .self = self,
				 .pty = o->pty,
				 .job = o->job,
				 .framed = g->framed,
				 .trace = -1 };
	r->timeout_us = o->timeout_us;
	for (unsigned i = 0; i < 4; i++)
		r->end[i] = (struct end){ .run = r, .nr = i, .fd = -1, .credit = GUEST_WINDOW };
	r->in_over = !o->pty && !o->stdin_open;
	GROW(g->run, g->nr_runs, g->cap_runs);
	g->run[g->nr_runs++] = r;
	unsigned flags = (o->pty ? GUEST_PTY : 0U) | (r->framed ? 0U : GUEST_FDS) |
			 (o->stdin_open && !o->pty ? GUEST_STDIN : 0U) |
			 (o->ours ? GUEST_OURS : 0U) | (o->offline ? GUEST_OFFLINE : 0U) |
			 (o->job && o->pty ? GUEST_JOB : 0U) |
			 (o->cwd_no_link ? GUEST_CWD_NO_LINK : 0U) |
			 (o->trace && !r->framed ? GUEST_TRACE : 0U) |
			 (o->trace == TRACE_MUST ? GUEST_TRACE_MUST : 0U);
	pack_prepare(o, flags, &b);
	if (g->gone) {
		guest_run_fail(r, GS_NONE, 0);
	} else if (b.len > GUEST_MAX_IN || o->nr_argv == 0 || o->nr_argv > GUEST_MAX_STRINGS) {
		guest_run_fail(r, GS_EXEC, E2BIG);
	} else if (!r->framed && !r->pty && !guest_run_open_pipes(r, o->stdin_open, child)) {
		guest_run_fail(r, GS_PIPE, errno);
	} else if (r->framed ? o->trace == TRACE_MUST
			     : o->trace && (child[3] = open_trace(r)) < 0) {
		guest_run_fail(r, GS_TRACE, r->framed ? EOPNOTSUPP : errno);
	} else {
		size_t first = r->framed || r->pty ? 3 : o->stdin_open ? 0 : 1;
		stream_send_fds(g->stream, GF_PREPARE, r->id, b.data, b.len, child + first,
				3 - first + (child[3] >= 0));
		run_update(r);
		return r;
	}
	for (int i = 0; i < 4; i++)
		fd_close(&child[i]);
	return r;
}

static void guest_run_send_signal(struct guest_run *r, int signo, bool all)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	pack_u8(&b, (uint8_t)signo);
	pack_u8(&b, all);
	if (r->g && !r->exited)
		guest_send(r->g, GF_SIGNAL, r->id, &b);
}

static void guest_run_on_timeout(void *self)
{
	struct guest_run *r = self;
	guest_run_send_signal(r, r->timed_out ? SIGKILL : SIGTERM, true);
	if (!r->timed_out)
		loop_timer_set(r->timer, KILL_AFTER_MS, 0);
	r->timed_out = true;
}

static void guest_run_go(struct guest_run *r, const struct buf *body)
{
	if (!r->g || r->ended)
		return;
	guest_send(r->g, GF_GO, r->id, body);
	if (r->timeout_us > 0 && !r->timer) {
		r->timer = loop_timer_new(r->g->loop, guest_run_on_timeout, r);
		loop_timer_set(r->timer, (uint64_t)(r->timeout_us + 999) / 1000, 0);
	}
}

void guest_go(struct guest_run *r)
{
	guest_run_go(r, NULL);
}

void guest_go_after(struct guest_run *r, const struct guest_run *before)
{
	CLEANUP(buf_release) struct buf body = BUF_INIT;
	buf_u64le(&body, before->id);
	guest_run_go(r, &body);
}

void guest_go_at(struct guest_run *r, const struct guest_run *before, const char *mark)
{
	CLEANUP(buf_release) struct buf body = BUF_INIT;
	buf_u64le(&body, before->id);
	pack_str(&body, mark);
	guest_run_go(r, &body);
}

void guest_signal(struct guest_run *r, int signo)
{
	if (signo > 0 && signo <= SIGRTMAX)
		guest_run_send_signal(r, signo, false);
}

bool guest_echoes(const struct guest_run *r)
{
	struct termios t;
	return r->pty && !r->framed && r->end[GUEST_TTY].fd >= 0 &&
	       tcgetattr(r->end[GUEST_TTY].fd, &t) == 0 && t.c_lflag & ECHO;
}

void guest_resize(struct guest_run *r, const struct winsize *size)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	if (!r->g || !r->pty)
		return;
	if (r->framed) {
		buf_u16le(&b, size->ws_col);
		buf_u16le(&b, size->ws_row);
		buf_u16le(&b, size->ws_xpixel);
		buf_u16le(&b, size->ws_ypixel);
		guest_send(r->g, GF_RESIZE, r->id, &b);
	} else if (r->end[GUEST_TTY].fd >= 0) {
		(void)ioctl(r->end[GUEST_TTY].fd, TIOCSWINSZ, size);
	} else {
		r->size = *size;
	}
}

/* A remedy for the author of the command; NULL none. */
static const char *remedy_of(unsigned step, int sys)
{
	if (step == GS_EXEC && sys == E2BIG)
		return "put long texts in a file, on standard input, or in one text for sh: a word takes 128 KiB";
	if (step == GS_EXEC && (sys == ENOENT || sys == ENOTDIR))
		return "check the program's name and PATH; if the sandbox has lost its programs, roll it back or open another";
	if (step == GS_EXEC && (sys == EACCES || sys == EPERM))
		return "its file can't be executed: repair its mode (chmod), or open another sandbox";
	if (step == GS_CWD)
		return "give another working directory (cwd = \"/tmp\"), from which this one can be repaired";
	if ((step == GS_FORK || step == GS_PIPE || step == GS_PTY) && sys == EAGAIN)
		return "end processes of this sandbox that still run (its limit of processes is reached), or open another sandbox";
	return NULL;
}

bool guest_run_failure(const struct guest_run *r, struct err *out)
{
	if (!r->how.step)
		return false;
	errno = r->how.sys < 4096 ? (int)r->how.sys : EIO;
	const char *remedy = remedy_of(r->how.step, errno);
	err_sys(out, "%s", guest_step_text(r->how.step));
	if (remedy) {
		CLEANUP(free_ptr) char *cause = mem_strdup(out->text);
		err_set(out, out->code, "%s; %s", cause, remedy);
	}
	return true;
}

bool guest_run_timed_out(const struct guest_run *r)
{
	return r->timed_out;
}

int guest_run_pid(const struct guest_run *r)
{
	return r->pid;
}
