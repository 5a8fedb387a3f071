#include "sandbox/guest/guest_drive.h"

#include <stdlib.h>

#include "base/mem.h"

struct run {
	struct guest_run *g; /* NULL: the box is dead */
	const struct run_ops *ops;
	void *self;
	bool freed, ended;
	const struct guest_drive_more *more;
	void *more_self;
	unsigned nr; /* as more says it */
};

static void guest_drive_on_output(void *self, int stream, const void *bytes, size_t len)
{
	struct run *r = self;
	r->ops->on_output(r->self, stream, bytes, len);
}

static void guest_drive_on_exit_(void *self, int code, int signal, bool lost, int left)
{
	struct run *r = self;
	r->ended = true;
	if (r->more)
		r->more->ends(r->more_self, r->nr);
	r->ops->on_exit(r->self, code, signal, lost, left);
}

static void guest_drive_on_trace(void *self, int listener, int sys)
{
	struct run *r = self;
	r->ops->on_trace(r->self, listener, sys);
}

static void guest_drive_on_lost(void *self, const struct err *why)
{
	struct run *r = self;
	if (r->ops->on_lost)
		r->ops->on_lost(r->self, why);
}

static void guest_drive_on_stop(void *self, int signo)
{
	struct run *r = self;
	if (r->ops->on_stop)
		r->ops->on_stop(r->self, signo);
}

static void guest_drive_lost(void *self)
{
	struct run *r = self;
	if (r->freed)
		free(r);
	else
		guest_drive_on_exit_(r, 0, 0, true, 0);
}

struct run *guest_drive(struct loop *l, struct guest *g, const struct strv *env, const char *cwd,
			const struct run_opts *o, const struct run_ops *ops, void *self)
{
	static const struct run_ops mine = { .on_output = guest_drive_on_output,
					     .on_exit = guest_drive_on_exit_,
					     .on_trace = guest_drive_on_trace,
					     .on_lost = guest_drive_on_lost,
					     .on_stop = guest_drive_on_stop };
	struct run *r = NEW(struct run);
	*r = (struct run){ .ops = ops, .self = self };
	if (!g) {
		loop_defer(l, guest_drive_lost, r);
		return r;
	}
	struct run_opts mapped = *o;
	CLEANUP(strv_release) struct strv all = STRV_INIT;
	strv_copy(&all, env);
	for (size_t i = 0; o->env && o->env[i]; i++)
		strv_push(&all, o->env[i]);
	mapped.env = all.nr ? all.item : NULL;
	mapped.cwd = cwd ? cwd : o->cwd;
	r->g = guest_prepare(g, &mapped, &mine, r);
	return r;
}

void guest_drive_go(struct run *r)
{
	if (r->g)
		guest_go(r->g);
	if (r->g && r->more)
		r->nr = r->more->went(r->more_self, r->g);
}

void guest_drive_go_after(struct run *r, struct guest_run *before)
{
	if (r->g)
		guest_go_after(r->g, before);
}

void guest_drive_go_at(struct run *r, struct guest_run *before, const char *mark)
{
	if (r->g)
		guest_go_at(r->g, before, mark);
}

void guest_drive_more(struct run *r, const struct guest_drive_more *more, void *self)
{
	r->more = r->g ? more : NULL;
	r->more_self = self;
}

void guest_drive_stdin(struct run *r, const void *bytes, size_t len, bool eof)
{
	if (r->g)
		guest_stdin(r->g, bytes, len, eof);
}

size_t guest_drive_stdin_queued(const struct run *r)
{
	return r->g ? guest_stdin_queued(r->g) : 0;
}

enum run_echo guest_drive_echo(const struct run *r)
{
	return !r->g ? ECHO_UNKNOWN : guest_silent(r->g) ? ECHO_OFF : ECHO_ON;
}

void guest_drive_signal(struct run *r, int signo)
{
	if (r->g)
		guest_signal(r->g, signo);
}

bool guest_drive_echoes(const struct run *r)
{
	return r->g && guest_echoes(r->g);
}

void guest_drive_resize(struct run *r, const struct winsize *size)
{
	if (r->g)
		guest_resize(r->g, size);
}

void guest_drive_pause(struct run *r, bool paused)
{
	if (r->g)
		guest_pause(r->g, paused);
}

void guest_drive_turn(struct run *r, enum run_turn turn, const char *mark)
{
	if (turn != TURN_READY && r->g && r->more && r->more->turn)
		r->nr = r->more->turn(r->more_self, r->g, r->nr, turn, mark);
}

void guest_drive_free(struct run *r)
{
	if (!r)
		return;
	if (!r->g && !r->ended) {
		r->freed = true; /* the deferred end frees it */
		return;
	}
	guest_run_free(r->g);
	free(r);
}
