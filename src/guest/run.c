/* Runs: one leader each, from PREPARE to ENDED. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <linux/futex.h>

#include "base/mem.h"
#include "guest/guest_priv.h"
#include "guest/sys.h"

struct inner_run *inner_run_find(const struct inner *g, uint64_t id)
{
	for (size_t i = 0; i < g->nr_runs; i++)
		if (g->run[i]->id == id)
			return g->run[i];
	return NULL;
}

bool inner_preparing(const struct inner *g)
{
	for (size_t i = 0; i < g->nr_runs; i++)
		if (!g->run[i]->gone && !g->run[i]->reaped)
			return true;
	return false;
}

static struct inner_slot *slot_take(struct inner *g)
{
	for (size_t i = 0; i < INNER_RUNS; i++)
		if (!g->slot[i].used) {
			g->slot[i] = (struct inner_slot){ .used = 1 };
			return &g->slot[i];
		}
	return NULL;
}

static void child_free(struct inner_child **cp)
{
	struct inner_child *c = *cp;
	*cp = NULL;
	if (!c)
		return;
	guest_prepare_release(&c->body);
	free(c->frame);
	free(c->env);
	free(c);
}

/* Removes data of ended children. */
static void guest_run_sweep(struct inner *g)
{
	for (size_t i = 0; i < g->nr_runs; i++)
		if (g->run[i]->child &&
		    !__atomic_load_n(&g->run[i]->slot->shares, __ATOMIC_ACQUIRE))
			child_free(&g->run[i]->child);
}

static struct inner_run *run_new(struct inner *g, uint64_t id)
{
	struct inner_run *r = NEW(struct inner_run);
	r->id = id;
	GROW(g->run, g->nr_runs, g->cap_runs);
	g->run[g->nr_runs++] = r;
	return r;
}

static void run_remove(struct inner *g, struct inner_run *r)
{
	for (size_t i = 0; i < g->nr_runs; i++)
		if (g->run[i] == r)
			g->run[i] = g->run[--g->nr_runs];
	r->slot->used = 0;
	child_free(&r->child);
	inner_mark_free(&r->mark);
	free(r);
}

static void forget_left(struct inner *g, pid_t pid)
{
	for (size_t i = 0; i < INNER_OVER; i++)
		if (g->ended[i].pid == pid)
			g->ended[i].pid = 0;
}

static void send_ended(struct inner *g, const struct inner_run *r)
{
	struct buf b = BUF_INIT;
	guest_ended_pack(&b, &r->ended);
	inner_send(g, GF_ENDED, r->id, &b, -1);
	buf_release(&b);
}

static void guest_run_refuse(struct inner *g, uint64_t id, unsigned step, int sys)
{
	struct inner_run r = { .id = id,
			       .ended = { .code = 126,
					  .step = (uint8_t)step,
					  .sys = (uint32_t)sys,
					  .oom = GUEST_OOM_UNKNOWN } };
	send_ended(g, &r);
}

/* Additions override what the guest was started with. Borrows; the array is owned. */
static char **merge_env(const struct guest_prepare_body *b)
{
	size_t own = 0, nr = 0;
	while (environ[own])
		own++;
	char **env = mem_calloc(own + b->nr_env + 1, sizeof *env);
	for (size_t i = 0; i < own; i++) {
		size_t name = strcspn(environ[i], "=");
		bool over = false;
		for (size_t k = 0; k < b->nr_env && !over; k++)
			over = strncmp(b->env[k], environ[i], name) == 0 && b->env[k][name] == '=';
		if (!over)
			env[nr++] = environ[i];
	}
	for (size_t k = 0; k < b->nr_env; k++)
		env[nr++] = (char *)(uintptr_t)b->env[k];
	return env;
}

/* The ends of one run's streams: the child's, and ours where the supervisor has no descriptor. */
struct ends {
	int child[3];
	int ours[3];
	int tty, master;
	int trace;
};
#define ENDS_NONE                                                                                  \
	(struct ends)                                                                              \
	{                                                                                          \
		.child = { -1, -1, -1 }, .ours = { -1, -1, -1 }, .tty = -1, .master = -1,          \
		.trace = -1                                                                        \
	}

static void ends_close(int *fds, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		fd_close(&fds[i]);
}

static unsigned open_tty(const struct guest_prepare_body *b, struct ends *e)
{
	const struct winsize size = {
		.ws_col = b->cols, .ws_row = b->rows, .ws_xpixel = b->xpixel, .ws_ypixel = b->ypixel
	};
	return inner_tty_open(&size, &e->master, &e->tty) ? GS_NONE : GS_PTY;
}

static unsigned guest_open_pipes(const struct guest_prepare_body *b, struct ends *e)
{
	for (int i = b->flags & GUEST_STDIN ? 0 : 1; i < 3; i++) {
		int p[2];
		if (pipe2(p, O_CLOEXEC) < 0)
			return GS_PIPE;
		e->child[i] = p[i == 0 ? 0 : 1];
		e->ours[i] = p[i == 0 ? 1 : 0];
	}
	return GS_NONE;
}

static unsigned open_ends(struct inner *g, const struct guest_prepare_body *b,
			  const struct frame *f, struct ends *e)
{
	bool pass = b->flags & GUEST_FDS, in = b->flags & GUEST_STDIN, tty = b->flags & GUEST_PTY;
	size_t want = !pass || tty ? 0 : in ? 3 : 2;
	bool trace = b->flags & GUEST_TRACE;
	int fds[4];
	*e = ENDS_NONE;
	if (!inner_take_fds(g, f, fds, want + trace) || ((pass || trace) && !g->socket)) {
		errno = EBADMSG;
		return GS_PROTOCOL;
	}
	memcpy(e->child + 3 - want, fds, want * sizeof fds[0]);
	if (trace)
		e->trace = fds[want];
	return tty ? open_tty(b, e) : pass ? GS_NONE : guest_open_pipes(b, e);
}

/* The child shares our memory until it execs (a fork would cost a sixth of the whole exec), on a
 * stack of its own. */
static pid_t clone_child(struct inner *g, struct inner_child *c)
{
	if (!SYS_SHARED || c->job) {
		pid_t pid = _Fork();
		if (pid == 0)
			inner_child_main(c);
		return pid;
	}
	char *stack = g->stacks + (size_t)(c->slot - g->slot) * INNER_STACK;
	c->slot->shares = 1;
	return clone(inner_child_main, stack + INNER_STACK,
		     CLONE_VM | CLONE_CHILD_CLEARTID | SIGCHLD, c, NULL, NULL, &c->slot->shares);
}

/* Takes nothing from @f: what the child reads is a copy. NULL if the frame breaks the rules. */
static struct inner_child *child_new(struct inner *g, const struct frame *f)
{
	struct inner_child *c = NEW(struct inner_child);
	struct err err = ERR_INIT;
	c->frame = mem_dup(f->body, f->len);
	c->fd[0] = c->fd[1] = c->fd[2] = c->tty = c->trace = -1;
	c->null_fd = g->null_fd;
	c->die_with_guest = !g->init;
	g->workspace |= access("/workspace", F_OK) == 0;
	c->no_workspace = !g->workspace;
	if (guest_prepare_unpack(c->frame, f->len, &c->body, &err) < 0)
		child_free(&c);
	return c;
}

static void start_pumps(struct inner *g, struct inner_run *r, struct ends *e)
{
	if (e->master >= 0) {
		inner_pump_new(g, PUMP_TTY, r->id, GUEST_TTY, e->master, r);
		e->master = -1;
		return;
	}
	for (int i = 0; i < 3; i++) {
		if (e->ours[i] >= 0)
			inner_pump_new(g, i == 0 ? PUMP_WRITE : PUMP_READ, r->id, (unsigned)i,
				       e->ours[i], r);
		e->ours[i] = -1;
	}
}

/* Returns the step that failed, with errno. Takes @c if none did. */
static unsigned guest_run_prepare(struct inner *g, const struct frame *f, struct inner_child *c,
				  struct ends *e)
{
	unsigned flags = c->body.flags, step = open_ends(g, &c->body, f, e);
	if (step)
		return step;
	if (!g->rules.attached) {
		errno = ENOENT;
		return GS_NO_RULES;
	}
	errno = EAGAIN;
	if (!(c->slot = slot_take(g)))
		return GS_FORK;
	c->env = merge_env(&c->body);
	c->rules = g->rules;
	c->tty = e->tty;
	memcpy(c->fd, e->child, sizeof c->fd);
	c->trace = e->trace;
	c->trace_must = flags & GUEST_TRACE_MUST;
	c->offline = flags & GUEST_OFFLINE;
	c->cwd_no_link = flags & GUEST_CWD_NO_LINK;
	c->job = flags & GUEST_JOB && c->tty >= 0;
	bool ours = flags & GUEST_OURS;
	c->slot->go = flags & GUEST_GO && (!g->frozen || ours);
	pid_t pid = clone_child(g, c);
	if (pid < 0) {
		c->slot->used = 0;
		return GS_FORK;
	}
	struct inner_run *r = run_new(g, f->id);
	r->pid = pid;
	forget_left(g, pid); /* its number is another's now */
	r->child = c;
	r->slot = c->slot;
	r->gone = flags & GUEST_GO;
	r->ours = ours;
	struct buf body = BUF_INIT;
	buf_u32le(&body, (uint32_t)pid);
	inner_send(g, GF_PREPARED, r->id, &body, flags & GUEST_FDS ? e->master : -1);
	buf_release(&body);
	if (!(flags & GUEST_FDS))
		start_pumps(g, r, e);
	return GS_NONE;
}

void inner_prepare(struct inner *g, const struct frame *f)
{
	struct ends e = ENDS_NONE;
	struct inner_child *c = inner_run_find(g, f->id) ? NULL : child_new(g, f);
	if (!c) {
		g->over = true;
		return;
	}
	guest_run_sweep(g);
	unsigned step = guest_run_prepare(g, f, c, &e);
	if (step) {
		guest_run_refuse(g, f->id, step, errno);
		child_free(&c);
	}
	ends_close(e.child, 3);
	ends_close(e.ours, 3);
	fd_close(&e.tty);
	fd_close(&e.master);
	fd_close(&e.trace);
}

static void guest_run_wake(struct inner_run *r)
{
	__atomic_store_n(&r->slot->go, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &r->slot->go, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* Told to go, and nothing that it has to wait for. */
static bool guest_run_may_go(const struct inner *g, const struct inner_run *r)
{
	return r->gone && !r->after && (!g->frozen || r->ours);
}

static void waits_no_more(const struct inner *g, struct inner_run *r)
{
	r->after = 0;
	inner_mark_free(&r->mark);
	if (guest_run_may_go(g, r))
		guest_run_wake(r);
}

void inner_go(struct inner *g, struct inner_run *r, uint64_t after, const char *mark)
{
	r->gone = true;
	if (!inner_run_find(g, after)) {
		waits_no_more(g, r);
		return;
	}
	r->after = after;
	inner_mark_free(&r->mark);
	if (mark)
		r->mark = inner_mark_new(mark);
}

void inner_came_out(struct inner *g, const struct inner_run *r, const char *bytes, size_t len)
{
	for (size_t i = 0; i < g->nr_runs; i++)
		if (g->run[i]->after == r->id && g->run[i]->mark &&
		    inner_mark_complete(g->run[i]->mark, bytes, len))
			waits_no_more(g, g->run[i]);
}

void inner_thawed(struct inner *g)
{
	for (size_t i = 0; i < g->nr_runs; i++)
		if (guest_run_may_go(g, g->run[i]) && !g->run[i]->slot->go)
			guest_run_wake(g->run[i]);
	for (size_t i = 0; i < g->nr_runs; i++)
		if (g->run[i]->slot->job && !g->run[i]->reaped)
			kill(g->run[i]->pid, SIGCONT);
}

void inner_signal(struct inner *g, struct inner_run *r, int signo, bool all)
{
	pid_t group = __atomic_load_n(&r->slot->job, __ATOMIC_ACQUIRE);
	if (!r->reaped && kill(group > 0 ? -group : -r->pid, signo) < 0)
		kill(r->pid, signo); /* it has not got as far as its own session */
	if (all)
		inner_signal_all(g, r->pid, signo);
}

void inner_drop_run(struct inner *g, struct inner_run *r)
{
	r->dropped = true;
	inner_signal(g, r, SIGKILL, true);
	if (r->reaped) { /* the remaining processes are no longer reported */
		r->draining++;
		inner_pump_run_ended(g, r);
		inner_run_drained(g, r);
	}
}

/* A shell may end because its terminal was taken away, before we hear that it is dropped. */
void inner_drop_left(struct inner *g, uint64_t id)
{
	for (size_t i = 0; i < INNER_OVER; i++)
		if (g->ended[i].id == id && g->ended[i].pid) {
			inner_signal_all(g, g->ended[i].pid, SIGKILL);
			g->ended[i].pid = 0;
		}
}

static void guest_run_finish(struct inner *g, struct inner_run *r)
{
	uint64_t id = r->id;
	if (r->ended.left)
		g->ended[g->nr_ended++ % INNER_OVER] =
			(struct inner_over){ .id = id, .pid = r->pid };
	send_ended(g, r);
	inner_pump_run_done(g, r);
	run_remove(g, r);
	for (size_t i = 0; i < g->nr_runs; i++)
		if (g->run[i]->after == id)
			waits_no_more(g, g->run[i]);
}

void inner_run_drained(struct inner *g, struct inner_run *r)
{
	if (--r->draining == 0)
		guest_run_finish(g, r);
}

static void guest_run_on_end(struct inner *g, struct inner_run *r, int status,
			     const struct rusage *use)
{
	struct guest_ended_body *e = &r->ended;
	e->step = (uint8_t)__atomic_load_n(&r->slot->step, __ATOMIC_ACQUIRE);
	e->sys = e->step ? r->slot->sys : 0;
	e->code = WIFEXITED(status) ? (uint16_t)WEXITSTATUS(status) : 0;
	e->signal = WIFSIGNALED(status) ? (uint8_t)WTERMSIG(status) : 0;
	e->cpu_us = (uint64_t)(use->ru_utime.tv_sec + use->ru_stime.tv_sec) * 1000000 +
		    (uint64_t)(use->ru_utime.tv_usec + use->ru_stime.tv_usec);
	e->max_bytes = (uint64_t)use->ru_maxrss * 1024;
	e->oom = inner_oom_killed(g);
	r->reaped = true;
	e->left = inner_left(g, r->pid);
	r->draining = 1; /* ours, so that a pump that is done at once does not finish the run */
	inner_pump_run_ended(g, r);
	inner_run_drained(g, r);
}

bool inner_reap(struct inner *g)
{
	struct rusage use;
	int status;
	pid_t pid;
	while ((pid = wait4(-1, &status, WNOHANG | WUNTRACED, &use)) > 0) {
		for (size_t i = 0; i < g->nr_runs; i++)
			if (g->run[i]->pid == pid && !g->run[i]->reaped) {
				if (WIFSTOPPED(status))
					inner_job_look(g, g->run[i]);
				else
					guest_run_on_end(g, g->run[i], status, &use);
				break;
			}
	}
	return !(pid < 0 && errno == ECHILD);
}
