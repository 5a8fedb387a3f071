/* A driver for tests whose sandboxes do nothing: it logs each request and answers when a test
 * calls for it. Include it in a test. Each slot takes one run and one file call at a time; the
 * test finds them by their order. */
#ifndef FAKE_DRIVER_H
#define FAKE_DRIVER_H

#include <signal.h>
#include <stdarg.h>

#include "base/mem.h"
#include "sandbox/driver.h"

enum { FD_MAX = 16 };

struct run {
	const struct run_ops *ops;
	void *self;
	struct run_opts o;
	bool gone, freed, paused, exited, eof;
	struct buf in;
	int signals[8];
	size_t nr_signals;
};

struct fake_call {
	box_done_fn *done;
	void *self;
};

struct fake_box {
	struct box box;
	struct fake_call open, close, frozen, file, dial;
	struct run run[FD_MAX];
	size_t nr_runs, live, opens, closes;
	/* one word per call of a file or the freezer: "read:a" "write:a=text/644" "list:." "freeze"
	 * "thaw" */
	struct buf log;
	char name[40];
	int oom; /* what its memory limit has killed; -1: it does not know */
};

static struct fake_box fake;

static void fake_answer(struct fake_call *c, json_t *result, const char *why)
{
	struct fake_call call = *c;
	struct err err = ERR_INIT;
	assert(call.done);
	*c = (struct fake_call){ 0 };
	if (why)
		err_set(&err, ERR_NOENT, "%s", why);
	call.done(call.self, result, why ? &err : NULL);
	json_decref(result);
}

__attribute__((format(printf, 1, 2))) static void fake_note(const char *fmt, ...)
{
	char text[400];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	buf_printf(&fake.log, "%s%s", fake.log.len ? " " : "", text);
}

static json_t *fake_probe(void)
{
	return json_object();
}

static struct box *fake_open(struct loop *l, const struct box_opts *o, box_done_fn *done,
			     void *self)
{
	(void)l;
	fake.opens++;
	snprintf(fake.name, sizeof(fake.name), "%s", o->name);
	fake.open = (struct fake_call){ done, self };
	return &fake.box;
}

static void fake_close(struct box *b, box_done_fn *done, void *self)
{
	assert(b == &fake.box);
	fake.closes++;
	fake.close = (struct fake_call){ done, self };
}

static struct run *fake_run_prepare(struct box *b, const struct run_opts *o,
				    const struct run_ops *ops, void *self)
{
	assert(b == &fake.box && fake.nr_runs < FD_MAX);
	struct run *r = &fake.run[fake.nr_runs++];
	*r = (struct run){ .ops = ops, .self = self, .o = *o };
	fake.live++;
	return r;
}

static void fake_run_go(struct run *r)
{
	assert(!r->freed && !r->gone);
	r->gone = true;
}

static void fake_run_stdin(struct run *r, const void *bytes, size_t len, bool eof)
{
	assert(!r->freed && r->gone && !r->eof);
	buf_append(&r->in, bytes, len);
	r->eof = eof;
}

static void fake_run_signal(struct run *r, int signo)
{
	assert(!r->freed && !r->exited && r->nr_signals < 8);
	r->signals[r->nr_signals++] = signo;
}

static void fake_run_resize(struct run *r, const struct winsize *size)
{
	assert(!r->freed);
	fake_note("resize:%ux%u", size->ws_col, size->ws_row);
}

static void fake_run_pause(struct run *r, bool paused)
{
	assert(!r->freed && r->paused != paused);
	r->paused = paused;
}

static void fake_run_free(struct run *r)
{
	assert(!r->freed);
	r->freed = true;
	buf_release(&r->in);
	fake.live--;
}

static void fake_read(struct box *b, const char *path, size_t max, box_done_fn *done, void *self)
{
	(void)b;
	(void)max;
	fake_note("read:%s", path);
	fake.file = (struct fake_call){ done, self };
}

static void fake_write(struct box *b, const char *path, const void *data, size_t len, int mode,
		       box_done_fn *done, void *self)
{
	(void)b;
	fake_note("write:%s=%.*s/%o", path, (int)len, (const char *)data,
		  mode < 0 ? 0U : (unsigned)mode);
	fake.file = (struct fake_call){ done, self };
}

static void fake_list(struct box *b, const char *path, box_done_fn *done, void *self)
{
	(void)b;
	fake_note("list:%s", path);
	fake.file = (struct fake_call){ done, self };
}

static void fake_freeze(struct box *b, bool frozen, box_done_fn *done, void *self)
{
	(void)b;
	fake_note("%s", frozen ? "freeze" : "thaw");
	fake.frozen = (struct fake_call){ done, self };
}

static void fake_dial(struct box *b, uint16_t port, box_done_fn *done, void *self)
{
	assert(b == &fake.box && !fake.closes);
	fake_note("dial:%u", port);
	fake.dial = (struct fake_call){ done, self };
}

static void fake_oom(struct box *b, box_done_fn *done, void *self)
{
	assert(b == &fake.box);
	CLEANUP(json_release) json_t *count = json_object();
	if (fake.oom >= 0)
		json_put_int(count, "oom", fake.oom);
	done(self, count, NULL);
}

static const struct driver fake_driver = {
	.name = "fake",
	.about = "for tests",
	.caps = CAP_STREAMS | CAP_STDIN | CAP_SIGNAL | CAP_FREEZE | CAP_PREPARE | CAP_SHELL,
	.probe = fake_probe,
	.open = fake_open,
	.close = fake_close,
	.run_prepare = fake_run_prepare,
	.run_go = fake_run_go,
	.run_stdin = fake_run_stdin,
	.run_signal = fake_run_signal,
	.run_resize = fake_run_resize,
	.run_pause = fake_run_pause,
	.run_free = fake_run_free,
	.read = fake_read,
	.write = fake_write,
	.list = fake_list,
	.freeze = fake_freeze,
	.dial = fake_dial,
	.oom = fake_oom,
};

/* The sandbox's output for a run. */
static void fake_out(struct run *r, int stream, const char *text)
{
	assert(r->gone && !r->freed && !r->exited);
	r->ops->on_output(r->self, stream, text, strlen(text));
}

static void fake_exit(struct run *r, int code, int signal, bool lost, int left)
{
	assert(!r->freed && !r->exited);
	r->exited = true;
	r->ops->on_exit(r->self, code, signal, lost, left);
}

#endif
