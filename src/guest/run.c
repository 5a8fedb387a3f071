/* Runs: one leader each, from PREPARE to ENDED. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
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
#include "guest/inner.h"

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
	if (r->slot)
		r->slot->used = 0;
	free(r);
}

static void send_ended(struct inner *g, const struct inner_run *r)
{
	struct buf b = BUF_INIT;
	guest_ended_pack(&b, &r->ended);
	inner_send(g, GF_ENDED, r->id, &b, -1);
	buf_release(&b);
}

static void refuse(struct inner *g, uint64_t id, unsigned step, int sys)
{
	struct inner_run r = { .id = id, .ended = { .code = 126, .step = (uint8_t)step, .sys = (uint32_t)sys } };
	send_ended(g, &r);
}

/* Additions override what the guest was started with. Borrows; the array is owned. */
static char **merge_env(const struct guest_prepare_body *b)
{
	size_t own = 0, nr = 0;
	while (environ[own])
		own++;
	char **env = xcalloc(own + b->nr_env + 1, sizeof *env);
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
};

static void ends_close(int *fds, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		fd_close(&fds[i]);
}

static unsigned open_tty(const struct guest_prepare_body *b, struct ends *e)
{
	struct winsize size = { .ws_col = b->cols, .ws_row = b->rows };
	int lock = 0;
	e->master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (e->master < 0)
		e->master = open("/dev/pts/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (e->master < 0 || ioctl(e->master, TIOCSPTLCK, &lock) < 0)
		return GS_PTY;
	e->tty = ioctl(e->master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (e->tty < 0)
		return GS_PTY;
	if (b->cols && b->rows)
		ioctl(e->master, TIOCSWINSZ, &size);
	return GS_NONE;
}

static unsigned open_pipes(const struct guest_prepare_body *b, struct ends *e)
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

static unsigned open_ends(struct inner *g, const struct guest_prepare_body *b, const struct frame *f, struct ends *e)
{
	bool pass = b->flags & GUEST_FDS, in = b->flags & GUEST_STDIN, tty = b->flags & GUEST_PTY;
	size_t want = !pass || tty ? 0 : in ? 3 : 2;
	*e = (struct ends){ .child = { -1, -1, -1 }, .ours = { -1, -1, -1 }, .tty = -1, .master = -1 };
	if (!inner_take_fds(g, f, e->child + 3 - want, want) || (pass && !g->socket)) {
		errno = EBADMSG;
		return GS_PROTOCOL;
	}
	return tty ? open_tty(b, e) : pass ? GS_NONE : open_pipes(b, e);
}

static pid_t start_child(struct inner *g, const struct guest_prepare_body *b, const struct ends *e, struct inner_slot *slot)
{
	char **env = merge_env(b);
	pid_t pid = _Fork();
	if (pid == 0)
		inner_child_main(g, &(struct inner_child){ .body = b,
							    .env = env,
							    .fd = { e->child[0], e->child[1], e->child[2] },
							    .tty = e->tty,
							    .slot = slot });
	free(env);
	return pid;
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
			inner_pump_new(g, i == 0 ? PUMP_WRITE : PUMP_READ, r->id, (unsigned)i, e->ours[i], r);
		e->ours[i] = -1;
	}
}

/* Returns the step that failed, with errno. */
static unsigned prepare(struct inner *g, const struct frame *f, const struct guest_prepare_body *b, struct ends *e)
{
	unsigned step = open_ends(g, b, f, e);
	if (step)
		return step;
	if (!g->rules.attached) {
		errno = ENOENT;
		return GS_NO_RULES;
	}
	struct inner_slot *slot = slot_take(g);
	errno = EAGAIN;
	if (!slot)
		return GS_FORK;
	bool go = b->flags & GUEST_GO && !g->frozen;
	slot->go = go;
	pid_t pid = start_child(g, b, e, slot);
	if (pid < 0) {
		slot->used = 0;
		return GS_FORK;
	}
	struct inner_run *r = run_new(g, f->id);
	r->pid = pid;
	r->slot = slot;
	r->gone = b->flags & GUEST_GO;
	ends_close(e->child, 3);
	fd_close(&e->tty);
	struct buf body = BUF_INIT;
	buf_u32le(&body, (uint32_t)pid);
	inner_send(g, GF_PREPARED, r->id, &body, b->flags & GUEST_FDS ? e->master : -1);
	buf_release(&body);
	if (!(b->flags & GUEST_FDS))
		start_pumps(g, r, e);
	return GS_NONE;
}

void inner_prepare(struct inner *g, const struct frame *f)
{
	struct guest_prepare_body b;
	struct ends e = { .child = { -1, -1, -1 }, .ours = { -1, -1, -1 }, .tty = -1, .master = -1 };
	struct err err = ERR_INIT;
	if (inner_run_find(g, f->id) || guest_prepare_unpack(f->body, f->len, &b, &err) < 0) {
		g->over = true;
		return;
	}
	unsigned step = prepare(g, f, &b, &e);
	if (step)
		refuse(g, f->id, step, errno);
	ends_close(e.child, 3);
	ends_close(e.ours, 3);
	fd_close(&e.tty);
	fd_close(&e.master);
	guest_prepare_release(&b);
}

static void wake(struct inner_run *r)
{
	__atomic_store_n(&r->slot->go, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &r->slot->go, FUTEX_WAKE, 1, NULL, NULL, 0);
}

void inner_go(struct inner *g, struct inner_run *r)
{
	r->gone = true;
	if (!g->frozen)
		wake(r);
}

void inner_thawed(struct inner *g)
{
	for (size_t i = 0; i < g->nr_runs; i++)
		if (g->run[i]->gone && !g->run[i]->slot->go)
			wake(g->run[i]);
}

void inner_signal(struct inner *g, struct inner_run *r, int signo, bool all)
{
	if (!r->reaped && kill(-r->pid, signo) < 0)
		kill(r->pid, signo); /* it has not got as far as its own session */
	if (all)
		inner_signal_all(g, r->pid, signo);
}

void inner_drop_run(struct inner *g, struct inner_run *r)
{
	r->dropped = true;
	inner_signal(g, r, SIGKILL, true);
	if (r->reaped) { /* what is left is not asked for any more */
		r->draining++;
		inner_pump_run_ended(g, r);
		inner_run_drained(g, r);
	}
}

static void finish(struct inner *g, struct inner_run *r)
{
	send_ended(g, r);
	inner_pump_run_done(g, r);
	run_remove(g, r);
}

void inner_run_drained(struct inner *g, struct inner_run *r)
{
	if (--r->draining == 0)
		finish(g, r);
}

static void on_end(struct inner *g, struct inner_run *r, int status, const struct rusage *use)
{
	struct guest_ended_body *e = &r->ended;
	e->step = (uint8_t)__atomic_load_n(&r->slot->step, __ATOMIC_ACQUIRE);
	e->sys = e->step ? r->slot->sys : 0;
	e->code = WIFEXITED(status) ? (uint16_t)WEXITSTATUS(status) : 0;
	e->signal = WIFSIGNALED(status) ? (uint8_t)WTERMSIG(status) : 0;
	e->cpu_us = (uint64_t)(use->ru_utime.tv_sec + use->ru_stime.tv_sec) * 1000000 +
		    (uint64_t)(use->ru_utime.tv_usec + use->ru_stime.tv_usec);
	e->max_bytes = (uint64_t)use->ru_maxrss * 1024;
	r->reaped = true;
	e->left = inner_left(g, r->pid, e->signal != 0);
	r->draining = 1; /* ours, so that a pump that is done at once does not finish the run */
	inner_pump_run_ended(g, r);
	inner_run_drained(g, r);
}

bool inner_reap(struct inner *g)
{
	struct rusage use;
	int status;
	pid_t pid;
	while ((pid = wait4(-1, &status, WNOHANG, &use)) > 0) {
		for (size_t i = 0; i < g->nr_runs; i++)
			if (g->run[i]->pid == pid && !g->run[i]->reaped) {
				on_end(g, g->run[i], status, &use);
				break;
			}
	}
	return !(pid < 0 && errno == ECHILD);
}
