/* Commands in sandboxes: the life of an exec or shell, and its input meanwhile; frozen
 * sandboxes. */
#include "sandbox/effect.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/failpoint.h"
#include "base/mem.h"
#include "sandbox/long_command.h"
#include "sandbox/batch.h"
#include "sandbox/effect_dial.h"
#include "sandbox/effect_file.h"
#include "sandbox/effect_priv.h"

enum { GRACE_MS = 2000, SILENT_MS = 30000, FLOOD_POLL_MS = 5, KILL_US = 5000000 };

/* --- runs --- */

static void effect_job_free(struct job *j)
{
	struct slot *s = j->slot;
	for (struct job **p = &s->jobs; *p; p = &(*p)->next)
		if (*p == j) {
			*p = j->next;
			break;
		}
	watch_leave(&j->watch); /* what it left running is watched on */
	if (j->run)
		s->driver->run_free(j->run);
	loop_timer_free(&j->timer);
	loop_timer_free(&j->flood);
	command_batch_free(&j->batch);
	long_command_free(&j->long_one);
	buf_release(&j->early);
	oom_forget(j);
	free(j->unrun);
	free(j->lost_why);
	json_release(&j->refused);
	free(j);
}

static void effect_on_flood(void *self)
{
	struct job *j = self;
	if (action_flooded(j->action)) {
		loop_timer_set(j->flood, FLOOD_POLL_MS, 0);
		return;
	}
	j->paused = false;
	if (!j->unread)
		j->slot->driver->run_pause(j->run, false);
}

void hold_output(struct job *j, bool held)
{
	if (j->unread == held || !j->run)
		return;
	j->unread = held;
	if (!j->paused)
		j->slot->driver->run_pause(j->run, held);
}

static void effect_on_output(void *self, int stream, const void *bytes, size_t len)
{
	struct job *j = self;
	failpoint_hit("effect.output");
	j->bytes[stream == STREAM_ERR] += (int64_t)len;
	prompt_feed(&j->prompt, bytes, len);
	if (j->batch)
		command_batch_output(j->batch, (enum record_stream)stream, bytes, len);
	else
		action_output(j->action, (enum record_stream)stream, bytes, len);
	if (!j->paused && action_flooded(j->action)) {
		j->paused = true;
		if (!j->unread)
			j->slot->driver->run_pause(j->run, true);
		if (!j->flood)
			j->flood = loop_timer_new(j->slot->boxes->loop, effect_on_flood, j);
		loop_timer_set(j->flood, FLOOD_POLL_MS, 0);
	}
}

static enum action_end effect_end_of(const struct job *j, bool lost)
{
	if (lost)
		return END_INTERRUPTED;
	return j->end;
}

static void put_end(const struct job *j, const struct run_end *e, json_t *body)
{
	if (e->signal && e->signal == j->stopped)
		json_put_int(body, "stopped", e->signal);
	else if (e->signal)
		json_put_int(body, "signal", e->signal);
	else
		json_put_int(body, "code", e->code);
	/* one that started while the kill was on its way ends with it */
	const struct slot *s = j->slot;
	if (e->signal == SIGKILL && s->killed_why && clock_mono_us() - s->killed_us < KILL_US)
		json_put_str(body, "why", s->killed_why);
	if (!e->oom)
		return;
	CLEANUP(free_ptr)
	char *why = mem_printf("the memory limit of its sandbox killed %lld of its processes",
			       (long long)e->oom);
	json_put_int(body, "oom", e->oom);
	json_put_str(body, "why", why);
}

/* As a shell would: a command that was not executed prints nothing itself. */
static void say_unrun(struct job *j)
{
	CLEANUP(free_ptr) char *line = mem_printf("sandglass: %s\n", j->lost_why);
	bool pty = json_flag(action_spec(j->action)->args, "pty", false);
	j->bytes[!pty] += (int64_t)strlen(line);
	action_output(j->action, pty ? STREAM_PTY : STREAM_ERR, line, strlen(line));
}

char *effect_died(const struct slot *s, const char *what)
{
	return mem_printf("sandbox died: '%s' has ended; %s; open another one", s->name, what);
}

/* @e: NULL when it is not known. */
static void run_over(struct job *j, const struct run_end *e)
{
	struct action *a = j->action;
	enum action_end end = effect_end_of(j, !e);
	int left = e ? e->left : 0;
	json_t *body = json_object();
	if (e && j->lost_why)
		say_unrun(j);
	if (e) {
		put_end(j, e, body);
	} else {
		CLEANUP(free_ptr)
		char *why = j->lost_why ? mem_printf("%s; how it ended is not known", j->lost_why)
					: effect_died(j->slot, "how this ended is not known");
		json_put_str(body, "why", why);
	}
	json_put_int(body, "out_bytes", j->bytes[0]);
	json_put_int(body, "err_bytes", j->bytes[1]);
	if (left)
		json_put_int(body, "left", left);
	if (j->batch)
		json_put(body, "batch", command_batch_end(j->batch));
	if (j->refused)
		json_put(body, "refused", json_incref(j->refused));
	if (j->refused_more)
		json_put_int(body, "refused_more", j->refused_more);
	struct slot *s = j->slot;
	s->alive += left;
	effect_job_free(j);
	alive_look(s);
	failpoint_hit("effect.ended");
	action_ended(a, end, body);
}

static void run_exited(void *self, int code, int signal, bool lost, int left)
{
	struct job *j = self;
	const struct run_end e = { .code = code, .signal = signal, .left = left };
	j->slot->lost |= lost;
	/* while it was prepared: effect_start() reports it when its turn comes */
	if (action_state(j->action) != ACTION_RUNNING) {
		j->slot->driver->run_free(j->run);
		j->run = NULL;
		if (lost)
			return;
		j->unrun = NEW(struct run_end);
		*j->unrun = e;
	} else if (lost || j->end != END_OK || !oom_look(j, &e, run_over)) {
		run_over(j, lost ? NULL : &e);
	}
}

/* A job that still waits for its sandbox to thaw has had no effect. It ends at once, because the
 * frozen guest would not answer. */
static void effect_take_out(struct job *j, enum action_end end)
{
	struct action *a = j->action;
	json_t *body = json_object();
	json_put_str(body, "why", "its sandbox was frozen: nothing was started");
	effect_job_free(j);
	action_ended(a, end, body);
}

/* One that something is left to end of; not one that effect_start will refuse. */
static struct job *job_to_end(struct slot *s)
{
	struct job *j = s->jobs;
	while (j && !j->look && !j->waits && !j->run && action_state(j->action) != ACTION_RUNNING)
		j = j->next;
	return j;
}

/* A process that a script left running: it ends with its sandbox, that isn't a failure. */
static bool ends_with_box(const struct job *j, enum action_end end)
{
	const struct action_spec *spec = action_spec(j->action);
	return end == END_CANCELLED && action_state(j->action) == ACTION_RUNNING && !j->look &&
	       !j->waits && spec->tool && !strcmp(spec->tool, "spawn");
}

/* Jobs that ran when their sandbox was closed have no exit of their own to wait for. */
void end_jobs(struct slot *s, enum action_end end)
{
	struct job *j;
	while ((j = job_to_end(s))) {
		static const struct run_end killed = { .signal = SIGKILL };
		if (j->end == END_OK && ends_with_box(j, end))
			j->stopped = SIGKILL;
		else if (j->end == END_OK && !j->look)
			j->end = end;
		if (j->look)
			oom_over(j);
		else if (j->waits)
			effect_take_out(j, j->end);
		else if (action_state(j->action) != ACTION_RUNNING)
			run_exited(j, 0, SIGKILL, true, 0);
		else
			run_over(j, &killed);
	}
}

static void run_took(void *self, int64_t out_us, int64_t box_us)
{
	struct job *j = self;
	if (action_state(j->action) == ACTION_RUNNING)
		action_took(j->action, out_us, box_us);
}

static void run_lost(void *self, const struct err *why)
{
	struct job *j = self;
	free(j->lost_why);
	j->lost_why = mem_strdup(why->text);
}

static void run_stopped(void *self, int signo)
{
	struct job *j = self;
	const struct boxes_ops *ops = &j->slot->boxes->ops;
	if (ops->stopped && action_state(j->action) == ACTION_RUNNING)
		ops->stopped(ops->self, action_id(j->action), signo);
}

static const struct run_ops effect_run_ops = { .on_output = effect_on_output,
					       .on_exit = run_exited,
					       .on_took = run_took,
					       .on_lost = run_lost,
					       .on_stop = run_stopped,
					       .on_trace = job_trace };

/* Also in a frozen box: who ends something does not mean when it thaws. While its files are looked
 * at, that has to wait. */
void effect_tell(struct job *j, int signo)
{
	struct slot *s = j->slot;
	if (s->frozen && !s->pinned && s->driver->hear)
		s->driver->hear(s->box);
	if (s->driver->wake)
		s->driver->wake(s->box);
	s->driver->run_signal(j->run, signo);
}

/* It was killed, and nothing says that it has ended: what answers for its box is stopped or
 * gone. */
static void effect_give_up(void *self)
{
	struct job *j = self;
	if (j->look || action_state(j->action) != ACTION_RUNNING)
		return;
	struct slot *s = j->slot;
	s->silent = s->lost = true;
	free(j->lost_why);
	j->lost_why = mem_printf("sandbox died: '%s' has not answered for %d s", s->name,
				 (GRACE_MS + SILENT_MS) / 1000);
	run_over(j, NULL);
	if (!s->driver->give_up || s->closing)
		return;
	s->driver->give_up(s->box);
	end_jobs(s, END_INTERRUPTED);
}

static void kill_now(void *self)
{
	struct job *j = self;
	effect_tell(j, SIGKILL);
	if (!(j->slot->driver->caps & CAP_PREPARE))
		return; /* the others ask again, and say themselves that nobody answers */
	loop_timer_free(&j->timer);
	j->timer = loop_timer_new(j->slot->boxes->loop, effect_give_up, j);
	loop_timer_set(j->timer, SILENT_MS, 0);
}

static void effect_terminate(struct job *j, enum action_end end)
{
	if (j->waits) {
		effect_take_out(j, end);
		return;
	}
	if (j->end != END_OK || j->look)
		return; /* asked already; asking again gives it no more time */
	j->end = end;
	hold_output(j, false);
	effect_tell(j, SIGTERM);
	loop_timer_free(&j->timer);
	j->timer = loop_timer_new(j->slot->boxes->loop, kill_now, j);
	loop_timer_set(j->timer, GRACE_MS, 0);
}

static void effect_on_timeout(void *self)
{
	effect_terminate(self, END_TIMEOUT);
}

void wish_size(struct boxes *b, uint64_t id, const struct winsize *size)
{
	size_t at = b->next_wish;
	for (size_t i = 0; i < SIZE_WISHES; i++)
		if (b->wish[i].action == id)
			at = i;
	b->next_wish = at == b->next_wish ? (at + 1) % SIZE_WISHES : b->next_wish;
	b->wish[at] = (struct size_wish){ id, *size };
}

static void take_size_wish(struct boxes *b, uint64_t id, struct run_opts *o)
{
	for (size_t i = 0; i < SIZE_WISHES; i++)
		if (b->wish[i].action == id) {
			const struct winsize *w = &b->wish[i].size;
			o->cols = w->ws_col;
			o->rows = w->ws_row;
			o->xpixel = w->ws_xpixel;
			o->ypixel = w->ws_ypixel;
			b->wish[i].action = 0;
		}
}

/* Makes the run of an exec or shell; it waits for run_go. */
static struct job *job_prepare(struct slot *s, struct action *a)
{
	const struct action_spec *spec = action_spec(a);
	struct job *j = NEW(struct job);
	j->slot = s;
	j->action = a;
	j->next = s->jobs;
	s->jobs = j;
	struct run_opts o = {
		.argv = spec->argv.item,
		.nr_argv = spec->argv.nr,
		.cwd = spec->cwd,
		.env = spec->env.nr ? spec->env.item : NULL,
		.pty = json_flag(spec->args, "pty", false),
		.job = json_flag(spec->args, "interactive", false),
		.cols = (uint16_t)json_int(spec->args, "cols", 80),
		.rows = (uint16_t)json_int(spec->args, "rows", 24),
		.xpixel = (uint16_t)json_int(spec->args, "xpixel", 0),
		.ypixel = (uint16_t)json_int(spec->args, "ypixel", 0),
		.stdin_open = spec->stdin_len || json_flag(spec->args, "stdin", false) ||
			      json_flag(spec->args, "pty", false),
		.trace = boxes_watched(s->boxes, s->id),
		.background = json_flag(spec->args, "spawn", false),
	};
	take_size_wish(s->boxes, action_id(a), &o);
	j->batch = command_batch_new(a);
	if (j->batch) {
		o.argv = command_batch_argv(j->batch, &o.nr_argv);
		o.stdin_open = true;
	} else if ((s->driver->caps & CAP_SHELL) &&
		   (j->long_one = long_command_new(spec, o.pty, o.stdin_open))) {
		size_t len;
		o.argv = long_command_argv(j->long_one, &o.nr_argv);
		o.stdin_open |= long_command_input(j->long_one, &len) != NULL;
	}
	j->run = s->driver->run_prepare(s->box, &o, &effect_run_ops, j);
	action_set_tag(a, j);
	failpoint_hit("effect.prepared");
	return j;
}

static void effect_let_go(struct job *j)
{
	const struct action_spec *spec = action_spec(j->action);
	j->begun_us = clock_mono_us();
	j->slot->driver->run_go(j->run);
	failpoint_hit("effect.started");
	if (j->batch) {
		const char *first = command_batch_input(j->batch);
		j->slot->driver->run_stdin(j->run, first, strlen(first),
					   !spec->stdin_len &&
						   !json_flag(spec->args, "stdin", false));
	}
	size_t text_len = 0;
	const char *text = j->long_one ? long_command_input(j->long_one, &text_len) : NULL;
	if (text)
		j->slot->driver->run_stdin(j->run, text, text_len,
					   !spec->stdin_len &&
						   !json_flag(spec->args, "stdin", false));
	if (spec->stdin_len)
		j->slot->driver->run_stdin(j->run, spec->stdin_bytes, spec->stdin_len,
					   !json_flag(spec->args, "stdin", false));
	if (j->early.len || j->early_eof)
		j->slot->driver->run_stdin(j->run, j->early.data, j->early.len, j->early_eof);
	buf_release(&j->early);
}

/* A frozen box would take it and run it when it thaws, however it had ended for us meanwhile: it
 * waits here. */
static void job_go(struct job *j)
{
	const struct action_spec *spec = action_spec(j->action);
	if (spec->timeout_us > 0) {
		j->timer = loop_timer_new(j->slot->boxes->loop, effect_on_timeout, j);
		loop_timer_set(j->timer, (uint64_t)(spec->timeout_us + 999) / 1000, 0);
	}
	j->waits = j->slot->frozen;
	if (!j->waits)
		effect_let_go(j);
}

void let_all_go(struct slot *s)
{
	for (struct job *j = s->jobs, *next; j; j = next) {
		next = j->next;
		if (j->waits) {
			j->waits = false;
			effect_let_go(j);
		}
	}
}

static bool is_run(const struct action_spec *spec)
{
	return spec->kind == ACT_EXEC || spec->kind == ACT_SHELL;
}

static void effect_prepare(void *self, struct action *a)
{
	struct slot *s = self;
	if (s->open && !s->closing && is_run(action_spec(a)) && (s->driver->caps & CAP_PREPARE))
		job_prepare(s, a);
}

/* Also what was prepared for it: end_jobs has nothing to end in it. */
static void effect_refuse(struct action *a, const struct err *why)
{
	struct job *j = is_run(action_spec(a)) && !is_dial(action_spec(a)) ? action_tag(a) : NULL;
	if (j) {
		action_set_tag(a, NULL);
		effect_job_free(j);
	}
	action_fail(a, why);
}

static void effect_start(void *self, struct action *a)
{
	struct slot *s = self;
	struct err err = ERR_INIT;
	if (!s->open || s->closing) {
		err_set(&err, ERR_CLOSED, "sandbox '%s' is closed", s->name);
		effect_refuse(a, &err);
		return;
	}
	if (s->silent) {
		err_set(&err, ERR_CLOSED, "sandbox died: '%s' doesn't answer; open another one",
			s->name);
		effect_refuse(a, &err);
		return;
	}
	slot_works(s);
	if (is_dial(action_spec(a))) {
		dial_start(s, a);
		return;
	}
	if (!is_run(action_spec(a))) {
		file_start(s, a);
		return;
	}
	struct job *j = action_tag(a);
	if (!j)
		j = job_prepare(s, a);
	if (j->unrun) {
		run_over(j, j->unrun);
		return;
	}
	if (!j->run) {
		s->lost = true;
		effect_job_free(j);
		CLEANUP(free_ptr) char *why = effect_died(s, "nothing was started");
		err_set(&err, ERR_CLOSED, "%s", why);
		action_fail(a, &err);
		return;
	}
	job_go(j);
}

/* A prepared run that was never let go has had no effect: it is thrown away. */
static void drop_prepared(struct job *j)
{
	struct action *a = j->action;
	action_set_tag(a, NULL);
	effect_job_free(j);
	action_ended(a, END_CANCELLED, NULL);
}

static void effect_cancel(void *self, struct action *a, const char *how)
{
	struct slot *s = self;
	struct job *j;
	/* nothing had to be made for it */
	if (action_state(a) != ACTION_RUNNING && !action_tag(a)) {
		action_ended(a, END_CANCELLED, NULL);
		return;
	}
	if (is_dial(action_spec(a))) {
		dial_cancel(s, a, how);
		return;
	}
	if (!is_run(action_spec(a))) {
		file_cancel(s, a);
		return;
	}
	j = action_tag(a);
	if (!j || j->look)
		return;
	if (action_state(a) != ACTION_RUNNING) {
		drop_prepared(j);
	} else if (j->waits) {
		effect_take_out(j, strcmp(how, "kill") ? END_CANCELLED : END_KILLED);
	} else if (!strcmp(how, "kill")) {
		j->end = END_KILLED;
		hold_output(j, false);
		effect_tell(j, SIGKILL);
	} else {
		effect_terminate(j, END_CANCELLED);
	}
}

void effector_init(struct slot *s)
{
	s->effector = (struct effector){ .name = s->name,
					 .prepare = effect_prepare,
					 .start = effect_start,
					 .cancel = effect_cancel,
					 .self = s };
}
