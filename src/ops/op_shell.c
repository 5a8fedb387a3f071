/* Stateful shells: one action for the shell's life, one for each command in it. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ops/dispatch.h"
#include "supervisor/core/call.h"
#include "ops/op.h"
#include "luahost/answer_cache.h"
#include "record/record_event.h"
#include "supervisor/core/resumed.h"
#include "sandbox/prompt.h"
#include "sandbox/shell.h"

struct shell_job {
	struct shell_job *next;
	struct super *s;
	uint64_t id, box; /* of the shell's own action */
	struct call *opener;
	struct box_shell *sh;
	struct action *life; /* its own action while it runs */
	struct action *run;  /* the command under way */
	/* how it ends if its shell goes with it; END_INTERRUPTED: the shell ends unasked */
	enum action_end stopped;
	struct effector effector;
	struct loop_timer *flood;
	struct watch *watch;  /* of the programs that it executes; NULL */
	struct prompt prompt; /* the line that it printed last */
	/* how it ended, or what its driver says about how it was lost; NULL nothing */
	char *lost_why;
	bool gone, paused, python;
};

static struct shell_job *op_shell_shells;

static struct shell_job *shell_of(struct call *c)
{
	uint64_t id = (uint64_t)json_int(c->args, "shell", 0);
	struct shell_job *j = op_shell_shells;
	while (j && (j->id != id || j->s != c->super))
		j = j->next;
	if (j && !j->gone)
		return j;
	const char *why = j ? j->lost_why : NULL;
	call_fail(c, "backend", NULL, NULL, id, "this shell has ended%s%s; open another one",
		  why ? ": " : "", why ? why : "");
	return NULL;
}

enum { FLOOD_POLL_MS = 5 };

static void op_shell_on_flood(void *self)
{
	struct shell_job *j = self;
	if (j->life && action_flooded(j->life)) {
		loop_timer_set(j->flood, FLOOD_POLL_MS, 0);
		return;
	}
	j->paused = false;
	if (j->sh)
		box_shell_pause(j->sh, false);
}

/* The recorder is behind: output stays in the terminal. */
static void slow_down(struct shell_job *j)
{
	j->paused = true;
	box_shell_pause(j->sh, true);
	if (!j->flood)
		j->flood = loop_timer_new(j->s->loop, op_shell_on_flood, j);
	loop_timer_set(j->flood, FLOOD_POLL_MS, 0);
}

static void op_shell_on_output(void *self, bool running, const void *bytes, size_t len)
{
	struct shell_job *j = self;
	(void)running;
	struct action *a = j->run ? j->run : j->life;
	if (!a)
		return;
	prompt_feed(&j->prompt, bytes, len);
	action_output(a, STREAM_PTY, bytes, len);
	if (!j->paused && j->sh && action_flooded(a))
		slow_down(j);
}

static void op_shell_on_lost(void *self, const struct err *why)
{
	struct shell_job *j = self;
	free(j->lost_why);
	j->lost_why = mem_printf("%s%s", why->text, j->run ? "; how it ended is not known" : "");
}

static const char *lost_why(const struct shell_job *j)
{
	return j->lost_why ? j->lost_why : "its sandbox has ended";
}

/* The command has ended its shell (exit, set -e, exec): the status of one is that of the other. */
static void put_shell_end(struct shell_job *j, const struct box_shell_result *r, json_t *body)
{
	free(j->lost_why);
	j->lost_why = r->signal ? mem_printf("signal %d", r->signal)
				: mem_printf("exit status %d", r->code);
	json_put_int(body, r->signal ? "signal" : "code", r->signal ? r->signal : r->code);
	json_put_flag(body, "shell_ended", true);
}

static void op_shell_on_done(void *self, const struct box_shell_result *r)
{
	struct shell_job *j = self;
	struct action *a = j->run;
	j->run = NULL;
	if (!a)
		return;
	if (j->life)
		watch_turn(j->watch, j->life);
	else
		watch_leave(&j->watch);
	bool by_itself =
		r->ended && r->status < 0 && !r->timed_out && j->stopped == END_INTERRUPTED;
	json_t *body = json_object();
	if (r->status >= 0)
		json_put_int(body, "code", r->status);
	json_put_flag(body, "in_band", true); /* what the shell says; see sandbox/shell.h */
	if (by_itself && r->lost)
		json_put_str(body, "why", lost_why(j));
	else if (by_itself)
		put_shell_end(j, r, body);
	else if (r->ended && r->timed_out && !j->lost_why)
		j->lost_why = mem_strdup("a program in it did not stop at ^C when its time was up");
	if (r->ended && r->timed_out)
		json_put_str(
			body, "why",
			"time is up; no program in it stopped at ^C, so its shell was killed: open another shell");
	enum action_end end = r->timed_out		  ? END_TIMEOUT
			      : by_itself && !r->lost	  ? END_OK
			      : r->ended && r->status < 0 ? j->stopped
							  : END_OK;
	action_ended(a, end, body);
}

static void op_shell_on_end(void *self, bool lost, int left)
{
	struct shell_job *j = self;
	struct action *a = j->life;
	j->gone = true;
	j->life = NULL;
	watch_leave(&j->watch);
	if (!a)
		return;
	json_t *body = json_object();
	json_put_int(body, "left", left);
	if (lost)
		json_put_str(body, "why", lost_why(j));
	action_ended(a, lost ? END_INTERRUPTED : END_OK, body);
}

static void op_shell_on_trace(void *self, int listener, int sys)
{
	struct shell_job *j = self;
	struct action *a = j->run ? j->run : j->life;
	if (a)
		boxes_watch(j->s->boxes, j->box, a, listener, sys, &j->watch);
	else if (listener >= 0)
		close(listener);
}

static const struct box_shell_ops shell_ops = { .on_output = op_shell_on_output,
						.on_done = op_shell_on_done,
						.on_end = op_shell_on_end,
						.on_lost = op_shell_on_lost,
						.on_trace = op_shell_on_trace };

/* --- the shell's own life --- */

static void life_start(void *self, struct action *a)
{
	struct shell_job *j = self;
	struct box *b = boxes_get(j->s->boxes, j->box);
	struct err err = ERR_INIT;
	const struct action_spec *spec = action_spec(a);
	if ((b ? box_has_terminals(b, &err) : err_set(&err, ERR_CLOSED, "the sandbox has ended")) <
	    0) {
		action_fail(a, &err);
		return;
	}
	struct box_shell_opts o = { .cwd = spec->cwd,
				    .env = spec->env.nr ? spec->env.item : NULL,
				    .trace = boxes_watched(j->s->boxes, j->box) };
	j->life = a;
	j->sh = box_shell_open(j->s->loop, b->driver, b, &o, &shell_ops, j);
	box_shell_go(j->sh);
	struct call *c = j->opener;
	j->opener = NULL;
	if (c) {
		json_t *v = json_object();
		c->action = 0;
		json_put_int(v, "shell", (int64_t)j->id);
		call_answer(c, v);
	}
}

static void shell_over(struct shell_job *j)
{
	watch_leave(&j->watch);
	box_shell_free(take(&j->sh));
	loop_timer_free(&j->flood);
	j->gone = true;
	if (j->run)
		action_ended(take(&j->run), END_CANCELLED, NULL);
	if (j->life)
		action_ended(take(&j->life), END_CANCELLED, NULL);
}

static void life_cancel(void *self, struct action *a, const char *how)
{
	(void)a;
	(void)how;
	shell_over(self);
}

void op_shells_end(struct super *s, uint64_t box)
{
	for (struct shell_job *j = op_shell_shells; j; j = j->next)
		if (j->s == s && j->box == box)
			shell_over(j);
}

static const struct effector life_effector = { .name = "shell",
					       .start = life_start,
					       .cancel = life_cancel };

static void life_done(void *self, const struct action_result *res)
{
	struct shell_job *j = self;
	struct call *c = j->opener;
	j->opener = NULL;
	j->gone = true;
	if (c) { /* it never began */
		c->action = 0;
		if (call_outcome(c, res))
			call_fail(c, "backend", NULL, NULL, res->id, "the shell has ended");
	}
}

void op_shell_open(struct call *c)
{
	uint64_t box;
	const char *cwd;
	if (!call_box(c, &box) || !call_bytes(c, "cwd", &cwd))
		return;
	struct shell_job *j = NEW(struct shell_job);
	j->s = c->super;
	j->box = box;
	j->opener = c;
	j->next = op_shell_shells;
	op_shell_shells = j;
	struct action_spec spec = {
		.kind = ACT_EXEC,
		.box = box,
		.agent = c->agent,
		.cause = c->agent ? c->agent : c->super->start_seq,
		.tool = "shell",
		.cwd = cwd,
		.may_write = true,
		.parallel = true,
	};
	const struct box *b = boxes_get(c->super->boxes, box);
	j->python = b && !(b->driver->caps & CAP_SHELL);
	strv_push(&spec.argv, j->python ? "python" : "bash");
	op_env(json_object_get(c->args, "env"), &spec.env);
	const struct action_client client = { .done = life_done, .self = j };
	j->effector = life_effector;
	j->effector.self = j;
	j->id = c->action = gate_submit(c->super->gate, &spec, &j->effector, &client);
	strv_release(&spec.argv);
	strv_release(&spec.env);
}

/* --- commands in it --- */

/* The text to type: CODE of "sh -c CODE" (of Python: "python -c CODE"), possibly edited by a
 * user. */
static const char *typed_of(const struct shell_job *j, const struct strv *argv, struct err *err)
{
	const char *program = j->python ? "python" : "sh";
	if (argv->nr == 3 && !strcmp(argv->item[0], program) && !strcmp(argv->item[1], "-c"))
		return argv->item[2];
	err_set(err, ERR_INVALID, "this shell takes its command only as %s -c TEXT\nEdit TEXT.",
		program);
	return NULL;
}

static void run_start(void *self, struct action *a)
{
	struct shell_job *j = self;
	const struct action_spec *spec = action_spec(a);
	struct err err = ERR_INIT;
	if (j->gone || !j->sh) {
		err_set(&err, ERR_CLOSED, "this shell has ended");
		action_fail(a, &err);
		return;
	}
	const char *typed = typed_of(j, &spec->argv, &err);
	if (!typed) {
		action_fail(a, &err);
		return;
	}
	j->run = a;
	j->stopped = END_INTERRUPTED;
	watch_turn(j->watch, a);
	if (box_shell_run(j->sh, typed, spec->timeout_us, &err) < 0) {
		j->run = NULL;
		if (j->life)
			watch_turn(j->watch, j->life);
		action_fail(a, &err);
	}
}

static void run_cancel(void *self, struct action *a, const char *how)
{
	struct shell_job *j = self;
	bool kill = !strcmp(how, "kill");
	if (a != j->run || !j->sh)
		return;
	j->stopped = kill ? END_KILLED : END_CANCELLED;
	box_shell_stop(j->sh, kill);
}

static const struct effector run_effector = { .name = "shell",
					      .start = run_start,
					      .cancel = run_cancel };

static void run_done(struct call *c, const struct action_result *res)
{
	if (!call_outcome(c, res))
		return;
	json_t *v = call_res(c, res);
	json_put_flag(v, "pty", true);
	if (json_flag(res->body, "shell_ended", false))
		json_put_flag(v, "shell_ended", true);
	call_answer(c, v);
}

void op_shell_run(struct call *c)
{
	/* its shell has gone, its answer stands */
	if (answer_cache_knows(resume_recorded(c->super->resume), c)) {
		struct action_spec none = { .kind = ACT_EXEC };
		call_action(c, &none, NULL, run_done);
		return;
	}
	struct shell_job *j = shell_of(c);
	if (!j)
		return;
	const char *cmd;
	if (!call_bytes(c, "cmd", &cmd))
		return;
	cmd = cmd ? cmd : "";
	struct action_spec spec = {
		.kind = ACT_EXEC,
		.box = j->box,
		.tool = "shell.run",
		.cmdline = j->python ? NULL : cmd,
		.cause = j->id,
		.timeout_us = json_int(c->args, "timeout_us", 0),
		.may_write = true,
	};
	strv_push(&spec.argv, j->python ? "python" : "sh");
	strv_push(&spec.argv, "-c");
	strv_push(&spec.argv, cmd);
	struct effector *eff = NEW(struct effector);
	*eff = run_effector;
	eff->self = j;
	c->data = eff;
	c->free_data = free;
	call_action(c, &spec, eff, run_done);
	strv_release(&spec.argv);
}

static void send_now(void *self)
{
	struct call *c = self;
	struct shell_job *j = shell_of(c);
	CLEANUP(buf_release) struct buf data = BUF_INIT;
	if (!j)
		return;
	json_get_bytes(json_object_get(c->args, "data"), &data);
	if (j->sh)
		box_shell_send(j->sh, buf_cstr(&data), data.len);
	call_answer(c, NULL);
}

void op_shell_send(struct call *c)
{
	struct shell_job *j = shell_of(c);
	if (!j)
		return;
	CLEANUP(arena_release) struct arena mem = ARENA_INIT;
	struct ev_text data = ev_text_from(&mem, json_object_get(c->args, "data"));
	/* these shells never echo: the last prompt decides */
	bool hidden = prompt_secret(&j->prompt);
	struct ev_proc_stdin body = { .hidden = hidden,
				      .has_data_bytes = hidden,
				      .data_bytes = (int64_t)data.n };
	CLEANUP(buf_release) struct buf clean = BUF_INIT;
	if (!hidden)
		body.held_bytes =
			record_typed_input(c->super->record, j->id, data.s, data.n, &clean);
	if (!hidden)
		body.data = (struct ev_text){ buf_cstr(&clean), clean.len };
	uint64_t seq = record_ev_proc_stdin(
		c->super->record,
		&(struct event){
			.cause = j->id, .agent = c->agent, .box = j->box, .action = j->id },
		&body);
	record_barrier(c->super->record, seq, send_now, c);
}

void op_shell_close(struct call *c)
{
	struct shell_job *j = shell_of(c);
	if (!j)
		return;
	gate_cancel(c->super->gate, j->id, "cancel", "closed by the script");
	call_answer(c, NULL);
}

void op_shells_free(struct super *s)
{
	for (struct shell_job **pp = &op_shell_shells; *pp;) {
		struct shell_job *j = *pp;
		if (j->s != s) {
			pp = &j->next;
			continue;
		}
		*pp = j->next;
		watch_leave(&j->watch);
		box_shell_free(j->sh);
		loop_timer_free(&j->flood);
		free(j->lost_why);
		free(j);
	}
}
