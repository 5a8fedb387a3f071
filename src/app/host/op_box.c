/* Boxes as scripts see them: open, close, freeze, run commands, read and write files. */
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/host/op.h"
#include "app/super/super_box.h"
#include "base/paths.h"
#include "sandbox/several.h"
#include "sandbox/shell.h"

void op_env(const json_t *env, struct strv *out)
{
	const char *key;
	json_t *value;
	struct buf v = BUF_INIT, word = BUF_INIT;
	json_object_foreach((json_t *)(uintptr_t)env, key, value) {
		const char *secret = json_str(value, "$secret", NULL);
		if (secret) {
			buf_reset(&v);
			buf_printf(&v, "<secret:%s>", secret);
		} else if (!json_get_bytes(value, &v)) {
			continue;
		}
		buf_reset(&word);
		buf_printf(&word, "%s=", key);
		buf_append(&word, v.data, v.len);
		strv_push_bytes(out, buf_cstr(&word), word.len);
	}
	buf_release(&v);
	buf_release(&word);
}

char *op_plain_name(const char *name, const char *fallback)
{
	struct buf b = BUF_INIT;
	for (const char *p = name; *p && b.len < 40; p++)
		if ((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9') || strchr("-_.", *p))
			buf_putc(&b, *p);
	if (!b.len || b.data[0] == '.' || b.data[0] == '-') {
		buf_reset(&b);
		buf_puts(&b, fallback);
	}
	return buf_take(&b);
}

/* --- open and close --- */

void op_box_open(struct call *c)
{
	struct err err = ERR_INIT;
	if (super_box_open(c, &err) < 0)
		call_fail_err(c, &err);
}

void op_box_close(struct call *c)
{
	uint64_t id;
	if (!call_box(c, &id))
		return;
	bool waits = json_flag(c->args, "wait", false) && super_box_await_end(c, id);
	super_box_close(c->super, id);
	if (!waits)
		call_answer(c, NULL);
}

void op_box_restore(struct call *c)
{
	struct err err = ERR_INIT;
	uint64_t id;
	if (!call_box(c, &id))
		return;
	if (!boxes_lost(c->super->boxes, id))
		call_answer(c, NULL);
	else if (super_box_fork(c, id, record_head(c->super->record), &err) < 0)
		call_fail_err(c, &err);
}

/* A call that waits until its box stands still; the box answers also when the call has gone. */
struct freezer {
	struct call *c; /* NULL = gone */
};

static void forget_call(void *freezer)
{
	struct freezer *f = freezer;
	f->c = NULL;
}

static void on_frozen(void *self, const struct err *err)
{
	struct freezer *f = self;
	if (f->c && err)
		call_fail_err(f->c, err);
	else if (f->c)
		call_answer(f->c, NULL);
	free(f);
}

static void freeze(struct call *c, bool frozen)
{
	uint64_t id;
	if (!call_box(c, &id))
		return;
	struct freezer *f = NEW(struct freezer);
	f->c = c;
	c->data = f;
	c->free_data = forget_call;
	boxes_freeze_then(c->super->boxes, id, frozen, c->agent ? c->agent : c->super->start_seq, on_frozen, f);
}

void op_box_freeze(struct call *c)
{
	freeze(c, true);
}

void op_box_thaw(struct call *c)
{
	freeze(c, false);
}

/* --- commands --- */

/* Fills what exec and spawn share; false after an answer. The caller releases argv, env and @in. */
static bool command_spec(struct call *c, struct action_spec *spec, struct buf *in)
{
	uint64_t id;
	struct box *box = call_box(c, &id);
	if (!box)
		return false;
	const char *cmd = json_str(c->args, "cmd", NULL);
	CLEANUP(buf_release) struct buf batch = BUF_INIT;
	if (json_object_get(c->args, "batch") && !(box->driver->caps & CAP_SHELL)) {
		call_fail(c, "backend", NULL, NULL, id, "batch: a box of %s has no shell; use exec", box->driver->name);
		return false;
	}
	if (several_text(json_object_get(c->args, "batch"), &batch)) {
		json_put_str(c->args, "cmd", buf_cstr(&batch)); /* lives as long as the call */
		cmd = json_str(c->args, "cmd", NULL);
	}
	if (cmd) {
		strv_push(&spec->argv, "sh");
		strv_push(&spec->argv, "-c");
		strv_push(&spec->argv, cmd);
		spec->cmdline = cmd;
	} else if (!json_get_argv(json_object_get(c->args, "argv"), &spec->argv) || !spec->argv.nr) {
		strv_release(&spec->argv);
		call_fail(c, "script", NULL, NULL, 0, "exec needs a command: a string, or a list of words");
		return false;
	}
	for (size_t i = 0; i < spec->argv.nr; i++)
		if (strlen(spec->argv.item[i]) != spec->argv.len[i]) {
			strv_release(&spec->argv);
			call_fail(c, "script", NULL, NULL, 0, "a word of a command cannot hold a NUL byte");
			return false;
		}
	spec->kind = ACT_EXEC;
	spec->box = id;
	spec->tool = "exec";
	spec->cwd = json_str(c->args, "cwd", NULL);
	spec->timeout_us = json_int(c->args, "timeout_us", 0);
	spec->may_write = true;
	spec->parallel = json_flag(c->args, "parallel", false);
	spec->args = c->args;
	op_env(json_object_get(c->args, "env"), &spec->env);
	if (json_get_bytes(json_object_get(c->args, "stdin"), in)) {
		spec->stdin_bytes = buf_cstr(in);
		spec->stdin_len = in->len;
	}
	return true;
}

/* 127 means that the command was not found in the box. If this machine has it, the box was not given it. */
static void explain_127(struct call *c, const struct action_result *res, json_t *v)
{
	if (json_int(res->body, "code", 0) != 127)
		return;
	CLEANUP(buf_release) struct buf hint = BUF_INIT;
	if (super_box_explain_missing(c->super, buf_cstr(&c->out[1].head), c->args, &hint))
		json_put_str(v, "hint", hint.data);
}

static void exec_done(struct call *c, const struct action_result *res)
{
	if (!call_outcome(c, res))
		return;
	json_t *v = call_res(c, res);
	explain_127(c, res, v);
	call_answer(c, v);
}

void op_box_exec(struct call *c)
{
	struct action_spec spec = { 0 };
	CLEANUP(buf_release) struct buf in = BUF_INIT;
	if (!command_spec(c, &spec, &in))
		return;
	call_action(c, &spec, boxes_effector(c->super->boxes, spec.box), exec_done);
	strv_release(&spec.argv);
	strv_release(&spec.env);
}

/* --- processes that outlive their call --- */

enum { PROC_QUEUE = 1 << 20 };

/* A spawned process: the call that made it is answered at once, its action goes on. Readers wait for output here. What
 * nobody reads slows the process down, as a full pipe would; but one that is waited for or was told to end goes on, and
 * then the oldest of what was not read is left out (the record has it). */
struct proc {
	struct proc *next;
	struct super *super;
	uint64_t action;
	struct buf queue[2];
	bool held, told;       /* slowed down; sent a signal */
	bool pty;
	uint64_t left_out[2];
	struct call *reader, *waiter;
	struct shown out[2];
	json_t *res; /* RES once it has ended */
	json_t *fail;
	int64_t began_us;
};

static struct proc *procs;

static struct proc *proc_of(struct call *c)
{
	uint64_t id = (uint64_t)json_int(c->args, "proc", 0);
	for (struct proc *p = procs; p; p = p->next)
		if (p->action == id && p->super == c->super)
			return p;
	if (c->super->resume)
		call_fail(c, "interrupted", NULL, NULL, id, "process %llu did not come along: it ran under the supervisor before this one",
			  (unsigned long long)id);
	else
		call_fail(c, "script", NULL, NULL, id, "process %llu is not known", (unsigned long long)id);
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
		call_fail(c, json_str(p->fail, "code", "io"), json_str(p->fail, "why", NULL), NULL, p->action, "%s",
			  json_str(p->fail, "msg", "failed"));
}

static void leave_out(struct proc *p, int i)
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
			leave_out(p, i);
}

static void proc_output(void *self, enum record_stream stream, const void *bytes, size_t len)
{
	struct proc *p = self;
	int i = stream == STREAM_ERR;
	shown_add(&p->out[i], bytes, len);
	buf_append(&p->queue[i], bytes, len);
	proc_feed_reader(p);
	proc_balance(p);
}

static void proc_done(void *self, const struct action_result *res)
{
	struct proc *p = self;
	struct call fake = { .out = { p->out[0], p->out[1] }, .began_us = p->began_us };
	if (res->end == END_OK || res->end == END_KILLED || res->end == END_CANCELLED) {
		p->res = call_res(&fake, res);
		if (p->pty)
			json_put_flag(p->res, "pty", true);
	} else {
		p->fail = json_object();
		json_put_str(p->fail, "code", res->end == END_DENIED ? "denied" : action_end_name(res->end));
		json_put_str(p->fail, "msg", res->why ? res->why : action_end_name(res->end));
	}
	proc_feed_reader(p);
	proc_tell_waiter(p);
}

static const struct action_client *proc_client(struct proc *p, struct action_client *out)
{
	*out = (struct action_client){ .done = proc_done, .output = proc_output, .self = p };
	return out;
}

/* The action of @spec goes on when the call has been answered. */
static void begin_proc(struct call *c, struct action_spec *spec)
{
	struct proc *p = NEW(struct proc);
	struct action_client client;
	p->super = c->super;
	p->next = procs;
	procs = p;
	p->began_us = c->began_us;
	p->pty = json_flag(spec->args, "pty", false);
	spec->parallel = true;
	spec->said = c->said;
	spec->cause = c->agent ? c->agent : c->super->start_seq;
	spec->agent = c->agent;
	p->action = gate_submit(c->super->gate, spec, boxes_effector(c->super->boxes, spec->box), proc_client(p, &client));
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
	if (!command_spec(c, &spec, &in))
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
	struct action_spec spec = { .kind = ACT_CONNECT, .tool = "dial", .box = id, .port = (uint16_t)port,
				    .timeout_us = json_int(c->args, "timeout_us", 0) };
	begin_proc(c, &spec);
}

void op_procs_free(struct super *s)
{
	for (struct proc **pp = &procs; *pp;) {
		struct proc *p = *pp;
		if (p->super != s) {
			pp = &p->next;
			continue;
		}
		*pp = p->next;
		for (int i = 0; i < 2; i++) {
			buf_release(&p->queue[i]);
			shown_release(&p->out[i]);
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
		call_fail(c, "script", NULL, NULL, 0, "somebody else reads from this process already");
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
		call_fail(c, "script", NULL, NULL, 0, "somebody else waits for this process already");
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
	if (boxes_stdin(c->super->boxes, (uint64_t)json_int(c->args, "proc", 0), buf_cstr(&data), data.len,
			json_flag(c->args, "eof", false), &err) < 0)
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
	json_t *body = json_object();
	json_put(body, "data", json_incref(json_object_get(c->args, "data")));
	json_put_flag(body, "eof", json_flag(c->args, "eof", false));
	uint64_t seq = record_append_json(c->super->record, EV_PROC_STDIN, p->action, c->agent, 0, p->action, body);
	record_barrier(c->super->record, seq, write_now, c);
}

static int signal_number(const json_t *v)
{
	static const struct {
		const char *name;
		int nr;
	} known[] = { { "TERM", SIGTERM }, { "KILL", SIGKILL }, { "INT", SIGINT },   { "HUP", SIGHUP },	 { "QUIT", SIGQUIT },
		      { "USR1", SIGUSR1 }, { "USR2", SIGUSR2 }, { "STOP", SIGSTOP }, { "CONT", SIGCONT } };
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
		call_fail(c, "script", NULL, NULL, 0, "unknown signal; use TERM, KILL, INT, HUP, QUIT, USR1, USR2, STOP or CONT");
		return;
	}
	json_t *body = json_object();
	json_put_int(body, "signal", signo);
	p->told |= signo != SIGSTOP && signo != SIGCONT && signo != SIGUSR1 && signo != SIGUSR2;
	proc_balance(p);
	uint64_t seq = record_append_json(c->super->record, EV_PROC_SIGNAL, p->action, c->agent, 0, p->action, body);
	record_barrier(c->super->record, seq, kill_proc_now, c);
}

static void resize_now(void *self)
{
	struct call *c = self;
	struct err err = ERR_INIT;
	if (boxes_resize(c->super->boxes, (uint64_t)json_int(c->args, "proc", 0), (uint16_t)json_int(c->args, "cols", 0),
			 (uint16_t)json_int(c->args, "rows", 0), &err) < 0)
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
		call_fail(c, "script", NULL, NULL, 0, p->pty ? "a terminal has 1 to 1000 columns and rows" : "this process has no terminal");
		return;
	}
	const struct action *act = gate_action(c->super->gate, p->action);
	if (!act || (action_state(act) != ACTION_BARRIER && action_state(act) != ACTION_RUNNING)) {
		struct err err = ERR_INIT;
		err_set(&err, ERR_NOENT, "action #%" PRIu64 " does not run", p->action);
		call_fail_err(c, &err);
		return;
	}
	json_t *body = json_object(); /* who looks at the record must know how wide lines were */
	json_put_int(body, "cols", cols);
	json_put_int(body, "rows", rows);
	uint64_t seq = record_append_json(c->super->record, EV_PROC_RESIZE, p->action, c->agent, 0, p->action, body);
	record_barrier(c->super->record, seq, resize_now, c);
}

/* --- files --- */

static void file_action(struct call *c, struct action_spec *spec,
			void (*done)(struct call *c, const struct action_result *res))
{
	uint64_t id;
	CLEANUP(buf_release) struct buf path = BUF_INIT;
	if (!call_box(c, &id))
		return;
	spec->box = id;
	spec->path = json_get_bytes(json_object_get(c->args, "path"), &path) ? buf_cstr(&path) : NULL;
	spec->args = c->args;
	call_action(c, spec, boxes_effector(c->super->boxes, id), done);
}

static void read_output(struct call *c, enum record_stream s, const void *bytes, size_t len)
{
	(void)s;
	buf_append(c->data, bytes, len);
}

static void free_buf(void *data)
{
	buf_release(data);
	free(data);
}

/* A script holds what it reads, so one answer is bounded; BOX_FILE_MAX is what a driver hands out of a file. */
enum { READ_ANSWER_MAX = 16 << 20 };

static void read_done(struct call *c, const struct action_result *res)
{
	if (!call_outcome(c, res))
		return;
	struct buf *b = c->data;
	size_t off = (size_t)json_int(c->args, "off", 0), len = (size_t)json_int(c->args, "len", (json_int_t)b->len);
	bool beyond = b->len >= BOX_FILE_MAX && len && (off >= b->len || (json_object_get(c->args, "len") && len > b->len - off));
	off = off > b->len ? b->len : off;
	len = len > b->len - off ? b->len - off : len;
	if (beyond || len > READ_ANSWER_MAX) {
		const char *advice = beyond ? "what lies behind can be had by a command in the box" :
					      "read a part of it ({ from =, len = }), or let a command in the box do it";
		CLEANUP(buf_release) struct buf path = BUF_INIT;
		json_get_bytes(json_object_get(c->args, "path"), &path);
		call_fail(c, "limit", NULL, NULL, res->id, "'%s' is larger than %d MiB: %s", buf_cstr(&path),
			  (beyond ? (int)BOX_FILE_MAX : (int)READ_ANSWER_MAX) >> 20, advice);
		return;
	}
	json_t *v = json_object();
	json_put_bytes(v, "data", buf_cstr(b) + off, len);
	json_put_int(v, "event", (int64_t)res->id);
	json_put_int(v, "bytes", (int64_t)b->len);
	call_answer(c, v);
}

void op_box_read(struct call *c)
{
	struct action_spec spec = { .kind = ACT_READ, .tool = "read" };
	c->data = NEW(struct buf);
	c->free_data = free_buf;
	c->on_output = read_output;
	file_action(c, &spec, read_done);
}

static void event_done(struct call *c, const struct action_result *res)
{
	if (!call_outcome(c, res))
		return;
	json_t *v = json_object();
	json_put_int(v, "event", (int64_t)res->id);
	json_put_int(v, "count", 1);
	call_answer(c, v);
}

void op_box_write(struct call *c)
{
	CLEANUP(buf_release) struct buf data = BUF_INIT;
	struct action_spec spec = { .kind = ACT_WRITE, .tool = "write", .may_write = true };
	if (!json_get_bytes(json_object_get(c->args, "data"), &data)) {
		call_fail(c, "script", NULL, NULL, 0, "write needs the data");
		return;
	}
	spec.data = buf_cstr(&data);
	spec.data_len = data.len;
	file_action(c, &spec, event_done);
}

void op_box_edit(struct call *c)
{
	struct action_spec spec = { .kind = ACT_EDIT, .tool = "edit", .may_write = true };
	file_action(c, &spec, event_done);
}

/* The paths are lines of its output, but names may hold line ends: as long as all are in the end's body, they are taken from there. */
static json_t *globbed(const struct buf *lines, const json_t *body)
{
	json_t *paths = json_object_get(body, "paths");
	if ((int64_t)json_array_size(paths) == json_int(body, "files", -1))
		return json_incref(paths);
	paths = json_array();
	for (size_t at = 0; at < lines->len;) {
		const char *eol = memchr(lines->data + at, '\n', lines->len - at);
		size_t len = eol ? (size_t)(eol - lines->data) - at : lines->len - at;
		json_array_append_new(paths, json_bytes(lines->data + at, len));
		at += len + 1;
	}
	return paths;
}

static void glob_done(struct call *c, const struct action_result *res)
{
	if (!call_outcome(c, res))
		return;
	json_t *v = json_object();
	json_put(v, "paths", globbed(c->data, res->body));
	json_put_int(v, "event", (int64_t)res->id);
	call_answer(c, v);
}

void op_box_glob(struct call *c)
{
	uint64_t id;
	if (!call_box(c, &id))
		return;
	CLEANUP(json_release) json_t *args = json_object();
	json_put_str(args, "glob", json_str(c->args, "pattern", "*"));
	struct action_spec spec = { .kind = ACT_READ, .tool = "glob", .box = id, .args = args };
	spec.path = "/workspace";
	c->data = NEW(struct buf);
	c->free_data = free_buf;
	c->on_output = read_output;
	call_action(c, &spec, boxes_effector(c->super->boxes, id), glob_done);
}
