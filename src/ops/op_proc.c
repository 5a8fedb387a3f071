/* Processes and connections that outlive their call: spawn, dial, and what a script does with them
 * until they end. */
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "ops/dispatch.h"
#include "supervisor/core/call.h"
#include "ops/op.h"
#include "record/record_event.h"
#include "supervisor/people/screen_keys.h"
#include "supervisor/people/terminal_hub.h"
#include "sandbox/shell.h"

enum { PROC_QUEUE = 1 << 20 };

/* A spawned process: its call is answered at once, and its action continues. Readers wait for
 * output here. Unread output slows the process down, as a full pipe would. A process with a
 * waiter, or one that is being ended, keeps running; its oldest unread output is then dropped
 * (the recording has it). */
struct proc {
	struct proc *next;
	struct super *super;
	uint64_t action;
	struct buf queue[2];
	bool held, told; /* slowed down; sent a signal */
	bool pty;
	uint64_t left_out[2];
	struct call *reader, *waiter;
	struct shown out[2];
	json_t *res; /* RES once it has ended */
	json_t *fail;
	int64_t began_us;
};

static struct proc *op_proc_procs;

static struct proc *proc_of(struct call *c)
{
	uint64_t id = (uint64_t)json_int(c->args, "proc", 0);
	for (struct proc *p = op_proc_procs; p; p = p->next)
		if (p->action == id && p->super == c->super)
			return p;
	if (c->super->resume)
		call_fail(
			c, "interrupted", NULL, NULL, id,
			"process %llu did not come along: it ran under the supervisor before this one",
			(unsigned long long)id);
	else
		call_fail(c, "script", NULL, NULL, id, "process %llu is not known",
			  (unsigned long long)id);
	return NULL;
}

static void proc_feed_reader(struct proc *p)
{
	struct call *c = p->reader;
	if (!c)
		return;
	for (int i = 0; i < 2; i++) {
		if (!p->queue[i].len)
			continue;
		json_t *v = json_object();
		json_put_str(v, "stream", i ? "err" : "out");
		json_put_bytes(v, "data", p->queue[i].data, p->queue[i].len);
		if (p->left_out[i])
			json_put_int(v, "left_out", (int64_t)p->left_out[i]);
		p->left_out[i] = 0;
		buf_release(&p->queue[i]);
		p->reader = NULL;
		call_answer(c, v);
		return;
	}
	if (p->res || p->fail) {
		json_t *v = json_object();
		json_put_flag(v, "eof", true);
		p->reader = NULL;
		call_answer(c, v);
	}
}

static void proc_tell_waiter(struct proc *p)
{
	struct call *c = p->waiter;
	if (!c || (!p->res && !p->fail))
		return;
	p->waiter = NULL;
	if (p->res)
		call_answer(c, json_incref(p->res));
	else
		call_fail(c, json_str(p->fail, "code", "io"), json_str(p->fail, "why", NULL),
			  json_str(p->fail, "rule", NULL), p->action, "%s",
			  json_str(p->fail, "msg", "failed"));
}

static void op_proc_leave_out(struct proc *p, int i)
{
	struct buf *q = &p->queue[i];
	size_t n = q->len > PROC_QUEUE ? q->len - PROC_QUEUE : 0;
	buf_drop(q, n);
	p->left_out[i] += n;
}

static void proc_balance(struct proc *p)
{
	bool hold = p->queue[0].len + p->queue[1].len > PROC_QUEUE && !p->waiter && !p->told;
	if (hold != p->held)
		boxes_hold_output(p->super->boxes, p->action, hold);
	p->held = hold;
	for (int i = 0; i < 2; i++)
		if (p->queue[i].len > 2 * PROC_QUEUE)
			op_proc_leave_out(p, i);
}

static void proc_output(void *self, enum record_stream stream, const void *bytes, size_t len)
{
	struct proc *p = self;
	int i = stream == STREAM_ERR;
	output_excerpt_add(&p->out[i], bytes, len);
	buf_append(&p->queue[i], bytes, len);
	proc_feed_reader(p);
	proc_balance(p);
}

/* As the error of a command that is waited for. */
static json_t *proc_failure(const struct action_result *res)
{
	json_t *fail = json_object();
	bool denied = res->end == END_DENIED;
	CLEANUP(free_ptr)
	char *text = denied ? mem_printf("denied%s%s%s%s", res->rule ? " by rule " : "",
					 res->rule ? res->rule : "", res->why ? ": " : "",
					 res->why ? res->why : "")
			    : mem_strdup(res->why ? res->why : action_end_name(res->end));
	json_put_str(fail, "code", denied ? "denied" : action_end_name(res->end));
	json_put_str(fail, "msg", text);
	json_put_str(fail, "why", res->why);
	json_put_str(fail, "rule", res->rule);
	return fail;
}

static void proc_done(void *self, const struct action_result *res)
{
	struct proc *p = self;
	terminal_ended(p->super, res->id);
	struct call fake = { .out = { p->out[0], p->out[1] }, .began_us = p->began_us };
	if (res->end == END_OK || res->end == END_KILLED || res->end == END_CANCELLED) {
		p->res = call_res(&fake, res);
		if (p->pty)
			json_put_flag(p->res, "pty", true);
	} else {
		p->fail = proc_failure(res);
	}
	proc_feed_reader(p);
	proc_tell_waiter(p);
}

static const struct action_client *proc_client(struct proc *p, struct action_client *out)
{
	*out = (struct action_client){ .done = proc_done, .output = proc_output, .self = p };
	return out;
}

/* Runs the action of @spec after the call was answered. */
static void begin_proc(struct call *c, struct action_spec *spec)
{
	struct proc *p = NEW(struct proc);
	struct action_client client;
	p->super = c->super;
	p->next = op_proc_procs;
	op_proc_procs = p;
	p->began_us = c->began_us;
	p->pty = json_flag(spec->args, "pty", false);
	spec->parallel = true;
	spec->said = c->said;
	spec->cause = c->agent ? c->agent : c->super->start_seq;
	spec->agent = c->agent;
	p->action = gate_submit(c->super->gate, spec, boxes_effector(c->super->boxes, spec->box),
				proc_client(p, &client));
	if (p->pty)
		terminal_expect(
			c->super, p->action,
			json_str(spec->args, "name", spec->argv.nr ? spec->argv.item[0] : ""));
	json_t *v = json_object();
	json_put_int(v, "proc", (int64_t)p->action);
	json_put_int(v, "event", (int64_t)p->action);
	call_answer(c, v);
}

void op_box_spawn(struct call *c)
{
	struct action_spec spec = { 0 };
	CLEANUP(buf_release) struct buf in = BUF_INIT;
	uint64_t id;
	const struct box *b = call_box(c, &id);
	if (!b)
		return;
	struct err none = ERR_INIT;
	if (json_flag(c->args, "pty", false) && box_has_terminals(b, &none) < 0) {
		call_fail(c, "backend", NULL, NULL, 0, "%s", none.text);
		return;
	}
	if (!op_command_spec(c, &spec, &in))
		return;
	json_t *args = json_copy(c->args);
	json_put_flag(args, "spawn", true);
	json_put_flag(args, "stdin", true);
	spec.args = args;
	spec.tool = c->tool ? c->tool : "spawn";
	begin_proc(c, &spec);
	strv_release(&spec.argv);
	strv_release(&spec.env);
	json_decref(args);
}

void op_box_dial(struct call *c)
{
	uint64_t id;
	int64_t port = json_int(c->args, "port", 0);
	if (!call_box(c, &id))
		return;
	if (port < 1 || port > 65535) {
		call_fail(c, "script", NULL, NULL, 0, "a port is a number from 1 to 65535");
		return;
	}
	struct action_spec spec = { .kind = ACT_CONNECT,
				    .tool = "dial",
				    .box = id,
				    .port = (uint16_t)port,
				    .timeout_us = json_int(c->args, "timeout_us", 0) };
	begin_proc(c, &spec);
}

void op_procs_free(struct super *s)
{
	for (struct proc **pp = &op_proc_procs; *pp;) {
		struct proc *p = *pp;
		if (p->super != s) {
			pp = &p->next;
			continue;
		}
		*pp = p->next;
		for (int i = 0; i < 2; i++) {
			buf_release(&p->queue[i]);
			output_excerpt_release(&p->out[i]);
		}
		json_decref(p->res);
		json_decref(p->fail);
		free(p);
	}
}

static void cancel_reader(struct call *c)
{
	struct proc *p = c->data;
	if (p->reader == c)
		p->reader = NULL;
	if (p->waiter == c)
		p->waiter = NULL;
	proc_balance(p);
	call_fail(c, "cancelled", NULL, NULL, 0, "cancelled");
}

void op_proc_read(struct call *c)
{
	struct proc *p = proc_of(c);
	if (!p)
		return;
	if (p->reader) {
		call_fail(c, "script", NULL, NULL, 0,
			  "another task already reads from this process");
		return;
	}
	c->data = p;
	c->cancel = cancel_reader;
	p->reader = c;
	proc_feed_reader(p);
	proc_balance(p);
}

void op_proc_wait(struct call *c)
{
	struct proc *p = proc_of(c);
	if (!p)
		return;
	if (p->waiter) {
		call_fail(c, "script", NULL, NULL, 0,
			  "another task already waits for this process");
		return;
	}
	c->data = p;
	c->cancel = cancel_reader;
	p->waiter = c;
	proc_balance(p);
	proc_tell_waiter(p);
}

/* Input is an effect too: it is recorded, and goes in behind a barrier. */
static void write_now(void *self)
{
	struct call *c = self;
	struct err err = ERR_INIT;
	CLEANUP(buf_release) struct buf data = BUF_INIT;
	json_get_bytes(json_object_get(c->args, "data"), &data);
	if (boxes_stdin(c->super->boxes, (uint64_t)json_int(c->args, "proc", 0), buf_cstr(&data),
			data.len, json_flag(c->args, "eof", false), &err) < 0)
		call_fail_err(c, &err);
	else
		call_answer(c, NULL);
}

void op_proc_write(struct call *c)
{
	struct proc *p = proc_of(c);
	struct err err = ERR_INIT;
	if (!p)
		return;
	if (boxes_stdin_room(c->super->boxes, p->action, &err) < 0) {
		call_fail_err(c, &err);
		return;
	}
	CLEANUP(arena_release) struct arena mem = ARENA_INIT;
	struct ev_text data = ev_text_from(&mem, json_object_get(c->args, "data"));
	bool hidden = data.n && boxes_stdin_hidden(c->super->boxes, p->action);
	struct ev_proc_stdin body = { .hidden = hidden,
				      .has_data_bytes = hidden,
				      .data_bytes = (int64_t)data.n,
				      EV_SET(eof, json_flag(c->args, "eof", false)) };
	CLEANUP(buf_release) struct buf typed = BUF_INIT;
	if (!hidden)
		body.held_bytes =
			record_typed_input(c->super->record, p->action, data.s, data.n, &typed);
	if (!hidden)
		body.data = (struct ev_text){ buf_cstr(&typed), typed.len };
	uint64_t seq = record_ev_proc_stdin(
		c->super->record,
		&(struct event){ .cause = p->action, .agent = c->agent, .action = p->action },
		&body);
	record_barrier(c->super->record, seq, write_now, c);
}

static int signal_number(const json_t *v)
{
	static const struct {
		const char *name;
		int nr;
	} known[] = { { "TERM", SIGTERM }, { "KILL", SIGKILL }, { "INT", SIGINT },
		      { "HUP", SIGHUP },   { "QUIT", SIGQUIT }, { "USR1", SIGUSR1 },
		      { "USR2", SIGUSR2 }, { "STOP", SIGSTOP }, { "CONT", SIGCONT } };
	if (json_is_integer(v))
		return (int)json_integer_value(v);
	const char *name = json_is_string(v) ? json_string_value(v) : "TERM";
	if (!strncmp(name, "SIG", 3))
		name += 3;
	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (!strcmp(known[i].name, name))
			return known[i].nr;
	return -1;
}

static void kill_proc_now(void *self)
{
	struct call *c = self;
	struct err err = ERR_INIT;
	if (boxes_signal(c->super->boxes, (uint64_t)json_int(c->args, "proc", 0),
			 signal_number(json_object_get(c->args, "signal")), &err) < 0 &&
	    err.code != ERR_NOENT)
		call_fail_err(c, &err);
	else
		call_answer(c, NULL);
}

void op_proc_kill(struct call *c)
{
	struct proc *p = proc_of(c);
	if (!p)
		return;
	int signo = signal_number(json_object_get(c->args, "signal"));
	if (signo <= 0 || signo > 64) {
		call_fail(
			c, "script", NULL, NULL, 0,
			"unknown signal; use TERM, KILL, INT, HUP, QUIT, USR1, USR2, STOP or CONT");
		return;
	}
	p->told |= signo != SIGSTOP && signo != SIGCONT && signo != SIGUSR1 && signo != SIGUSR2;
	proc_balance(p);
	uint64_t seq = record_ev_proc_signal(
		c->super->record,
		&(struct event){ .cause = p->action, .agent = c->agent, .action = p->action },
		&(struct ev_proc_signal){ .signal = signo });
	record_barrier(c->super->record, seq, kill_proc_now, c);
}

static void resize_now(void *self)
{
	struct call *c = self;
	struct err err = ERR_INIT;
	const struct winsize size = { .ws_col = (uint16_t)json_int(c->args, "cols", 0),
				      .ws_row = (uint16_t)json_int(c->args, "rows", 0) };
	if (boxes_resize(c->super->boxes, (uint64_t)json_int(c->args, "proc", 0), &size, &err) < 0)
		call_fail_err(c, &err);
	else
		call_answer(c, NULL);
}

void op_proc_resize(struct call *c)
{
	struct proc *p = proc_of(c);
	int64_t cols = json_int(c->args, "cols", 0), rows = json_int(c->args, "rows", 0);
	if (!p)
		return;
	if (!p->pty || cols < 1 || cols > 1000 || rows < 1 || rows > 1000) {
		call_fail(c, "script", NULL, NULL, 0,
			  p->pty ? "a terminal has 1 to 1000 columns and rows"
				 : "this process has no terminal");
		return;
	}
	const struct action *act = gate_action(c->super->gate, p->action);
	if (!act || (action_state(act) != ACTION_BARRIER && action_state(act) != ACTION_RUNNING)) {
		struct err err = ERR_INIT;
		err_set(&err, ERR_NOENT, "action #%" PRIu64 " is not running", p->action);
		call_fail_err(c, &err);
		return;
	}
	screen_keys_resize(c->super, p->action, (int)rows, (int)cols);
	/* readers of the recording need the width of lines */
	uint64_t seq = record_ev_proc_resize(
		c->super->record,
		&(struct event){ .cause = p->action, .agent = c->agent, .action = p->action },
		&(struct ev_proc_resize){ EV_SET(cols, cols), EV_SET(rows, rows) });
	record_barrier(c->super->record, seq, resize_now, c);
}
