/* Interpreters and their commands. An interpreter is a run of node in the process sandbox; it is
 * started before it is needed, and each does one command (plugins/pyodide/engine.mjs has the
 * protocol). */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/paths.h"
#include "sandbox/pyodide/pyodide_priv.h"

enum { READY = 0x06, SAID_MAX = 4096, KILL_AFTER_MS = 2000, UNKNOWN = 127 };

/* A command; behind the opaque struct run of driver.h. */
struct command {
	struct pyodide *p;
	struct engine *engine; /* NULL: not let go yet, or refused */
	const struct run_ops *ops;
	void *self;
	json_t *job; /* NULL: refused */
	struct buf why, in;
	bool in_open, eof, pty, went, ended, freed, late;
	uint16_t cols, rows;
	int64_t timeout_us;
	struct loop_timer *timer;
};

struct engine {
	struct pyodide *p;
	struct run *run; /* of the process box */
	struct command *job;
	bool ready;
	struct buf said; /* before it was */
};

static struct command *pyodide_run_of(struct run *r)
{
	return (struct command *)(void *)r;
}

/* --- interpreters --- */

struct run *pyodide_engine(struct pyodide *p, const char *kind, const char *job, bool pty,
			   uint16_t cols, uint16_t rows, const struct run_ops *ops, void *self)
{
	CLEANUP(strv_release) struct strv argv = STRV_INIT;
	CLEANUP(free_ptr) char *program = path_join(p->place.store, "engine.mjs");
	strv_push(&argv, p->place.node);
	strv_push(&argv, "--disallow-code-generation-from-strings");
	/* there the address space is bounded, and node would reserve much of it */
	if (strcmp(p->in->profile, "enforced") != 0)
		strv_push(&argv, "--disable-wasm-trap-handler");
	const char *const words[] = { program, kind, p->place.package, p->place.memory };
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		strv_push(&argv, words[i]);
	if (job)
		strv_push(&argv, job);
	const struct run_opts o = { .argv = argv.item,
				    .nr_argv = argv.nr,
				    .cwd = "/tmp",
				    .pty = pty,
				    .cols = cols,
				    .rows = rows,
				    .stdin_open = true };
	return driver_process.run_prepare(p->in, &o, ops, self);
}

static void engine_free(struct engine *e)
{
	if (!e)
		return;
	driver_process.run_free(e->run);
	buf_release(&e->said);
	free(e);
}

static void pyodide_run_hear(struct engine *e, int stream, const char *bytes, size_t len)
{
	if (len && e->job)
		e->job->ops->on_output(e->job->self, stream, bytes, len);
	else if (len && e->said.len < SAID_MAX)
		buf_append(&e->said, bytes, len);
}

static void engine_output(void *self, int stream, const void *bytes, size_t len)
{
	struct engine *e = self;
	const char *p = bytes, *mark = !e->ready && stream == 2 ? memchr(p, READY, len) : NULL;
	bool first = mark && !e->job;
	if (mark) { /* a warning of node's may stand before it */
		if (e->said.len < SAID_MAX)
			buf_append(&e->said, p, (size_t)(mark - p));
		len -= (size_t)(mark - p) + 1;
		p = mark + 1;
		e->ready = true;
	}
	pyodide_run_hear(e, stream, p, len);
	if (first)
		pyodide_ready(e->p);
}

static void engine_exit(void *self, int code, int signal, bool lost, int left)
{
	struct engine *e = self;
	struct command *c = e->job;
	struct pyodide *p = e->p;
	if (c) {
		c->ended = true;
		loop_timer_stop(c->timer);
		c->ops->on_exit(c->self, code, signal, lost, left);
		return;
	}
	CLEANUP(free_ptr) char *said = buf_take(&e->said);
	p->spare = NULL;
	p->dead |= lost;
	engine_free(e);
	pyodide_failed(p, said);
}

static const struct run_ops engine_ops = { .on_output = engine_output, .on_exit = engine_exit };

static struct engine *engine_new(struct pyodide *p, const char *kind, const char *job,
				 const struct command *c)
{
	struct engine *e = NEW(struct engine);
	e->p = p;
	e->ready = job != NULL; /* on a terminal it says nothing */
	e->run = pyodide_engine(p, kind, job, c && c->pty, c ? c->cols : 0, c ? c->rows : 0,
				&engine_ops, e);
	driver_process.run_go(e->run);
	return e;
}

void pyodide_spare(struct pyodide *p)
{
	if (!p->spare && !p->dead && !p->closing)
		p->spare = engine_new(p, "wait", NULL, NULL);
}

void pyodide_spare_end(struct pyodide *p)
{
	engine_free(take(&p->spare));
}

/* --- commands --- */

static void pyodide_run_refused(void *self)
{
	struct command *c = self;
	if (c->freed) {
		c->ended = true;
		pyodide_run_free((struct run *)(void *)c);
		return;
	}
	c->ended = true;
	c->ops->on_output(c->self, 2, c->why.data, c->why.len);
	c->ops->on_exit(c->self, UNKNOWN, 0, false, 0);
}

static void over_time(void *self)
{
	struct command *c = self;
	driver_process.run_signal(c->engine->run, c->late ? SIGKILL : SIGTERM);
	if (!c->late)
		loop_timer_set(c->timer, KILL_AFTER_MS, 0);
	c->late = true;
}

struct run *pyodide_run(struct box *b, const struct run_opts *o, const struct run_ops *ops,
			void *self)
{
	struct pyodide *p = CONTAINER_OF(b, struct pyodide, b);
	struct command *c = NEW(struct command);
	*c = (struct command){ .p = p,
			       .ops = ops,
			       .self = self,
			       .in_open = o->stdin_open,
			       .pty = o->pty,
			       .cols = o->cols,
			       .rows = o->rows,
			       .timeout_us = o->timeout_us };
	bool given = false;
	c->job = pyodide_job(o, &p->env, &c->in, &given, &c->why);
	c->eof = given || !o->stdin_open;
	c->in_open = !c->eof;
	c->timer = loop_timer_new(p->loop, over_time, c);
	return (struct run *)(void *)c;
}

/* The length of the command and the command; then what was said to it before it was let go. */
static void pyodide_run_tell(struct command *c, const char *text)
{
	CLEANUP(buf_release) struct buf head = BUF_INIT;
	char len[4];
	put_u32be(len, (uint32_t)strlen(text));
	buf_append(&head, len, sizeof(len));
	buf_puts(&head, text);
	buf_append(&head, c->in.data, c->in.len);
	driver_process.run_stdin(c->engine->run, head.data, head.len, c->eof);
	buf_release(&c->in);
}

void pyodide_go(struct run *r)
{
	struct command *c = pyodide_run_of(r);
	struct pyodide *p = c->p;
	c->went = true;
	if (!c->job) {
		loop_defer(p->loop, pyodide_run_refused, c);
		return;
	}
	CLEANUP(free_ptr) char *text = json_dump_str(c->job);
	if (c->pty) {
		c->engine = engine_new(p, "tty", text, c);
		c->engine->job = c;
		driver_process.run_stdin(c->engine->run, c->in.data, c->in.len, false);
	} else {
		c->engine = p->spare ? take(&p->spare) : engine_new(p, "wait", NULL, NULL);
		c->engine->job = c;
		pyodide_run_tell(c, text);
		pyodide_spare(p);
	}
	if (c->timeout_us > 0)
		loop_timer_set(c->timer, (uint64_t)(c->timeout_us + 999) / 1000, 0);
}

void pyodide_stdin(struct run *r, const void *bytes, size_t len, bool eof)
{
	struct command *c = pyodide_run_of(r);
	if (!c->job || (!c->in_open && !c->pty) || c->ended)
		return;
	c->eof |= eof;
	c->in_open = !c->eof;
	if (c->engine)
		driver_process.run_stdin(c->engine->run, bytes, len, eof);
	else
		buf_append(&c->in, bytes, len);
}

size_t pyodide_stdin_queued(const struct run *r)
{
	const struct command *c = (const void *)r;
	if (c->ended)
		return 0;
	return c->engine ? driver_process.run_stdin_queued(c->engine->run) : c->in.len;
}

void pyodide_signal(struct run *r, int signo)
{
	if (pyodide_run_of(r)->engine && !pyodide_run_of(r)->ended)
		driver_process.run_signal(pyodide_run_of(r)->engine->run, signo);
}

void pyodide_resize(struct run *r, const struct winsize *size)
{
	if (pyodide_run_of(r)->engine)
		driver_process.run_resize(pyodide_run_of(r)->engine->run, size);
}

void pyodide_pause(struct run *r, bool paused)
{
	if (pyodide_run_of(r)->engine)
		driver_process.run_pause(pyodide_run_of(r)->engine->run, paused);
}

void pyodide_run_free(struct run *r)
{
	struct command *c = pyodide_run_of(r);
	if (!r)
		return;
	if (c->went && !c->job && !c->ended) {
		c->freed = true; /* the deferred end frees it */
		return;
	}
	engine_free(c->engine);
	loop_timer_free(&c->timer);
	json_release(&c->job);
	buf_release(&c->why);
	buf_release(&c->in);
	free(c);
}
