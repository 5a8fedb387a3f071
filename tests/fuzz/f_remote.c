/* Arbitrary output of a hosted sandbox's shell while a command of ours runs there. The command ends once, sends no
 * more after that, and delivers no more bytes than came. First byte: the place of the cut. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "sandbox/hosted/hosted_priv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* One question to the provider. */
struct remote_op {
	const struct remote_heard *heard;
	void *to;
	bool gone; /* cancelled: its answer is ignored */
};

static struct remote_op *asked; /* the newest, not answered yet */
static unsigned exits;
static size_t heard_bytes;

static struct remote_op *begin(void *self, const char *fn, json_t *args, const json_t *options, uint64_t box,
			       const struct remote_heard *heard, void *to)
{
	(void)self;
	(void)options;
	(void)box;
	if (asked || strcmp(fn, "exec") != 0)
		abort();
	json_decref(args);
	asked = NEW(struct remote_op);
	*asked = (struct remote_op){ .heard = heard, .to = to };
	return asked;
}

static void hold(struct remote_op *op, bool paused)
{
	(void)op;
	(void)paused;
}

static void cancel(struct remote_op **op)
{
	if (*op)
		take(op)->gone = true;
}

static bool has(void *self, const char *fn)
{
	(void)self;
	(void)fn;
	return false;
}

static int poll_s(void *self)
{
	(void)self;
	return 0;
}

static void on_output(void *self, int stream, const void *bytes, size_t len)
{
	(void)self;
	if (exits || !len || !bytes || stream < 1 || stream > 2)
		abort();
	heard_bytes += len;
}

static void on_exit_(void *self, int code, int signal, bool lost, int left)
{
	(void)self;
	(void)code;
	(void)signal;
	(void)lost;
	(void)left;
	if (exits++)
		abort();
}

static void on_took(void *self, int64_t out_us, int64_t box_us)
{
	(void)self;
	if (exits || out_us < 0 || box_us < 0)
		abort();
}

static struct remote_provider provider = { .port = { .name = "fuzz", .begin = begin, .pause = hold, .cancel = cancel, .has = has, .poll_s = poll_s } };

/* The answer in two pieces, then the connection is gone and the box with it. */
static void answer(const uint8_t *p, size_t len, size_t cut)
{
	struct remote_op *op = take(&asked);
	if (!op->gone)
		op->heard->out(op->to, p, cut);
	if (!op->gone)
		op->heard->out(op->to, p + cut, len - cut);
	struct err closed = ERR_INIT;
	err_set(&closed, ERR_CLOSED, "the box is gone");
	if (!op->gone)
		op->heard->done(op->to, NULL, &closed);
	free(op);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct loop *loop;
	static struct mirror *mirror;
	static char base[] = "/tmp/x", *const argv[] = { base };
	static const struct run_ops ops = { .on_output = on_output, .on_exit = on_exit_, .on_took = on_took };
	struct err err = ERR_INIT;
	if (size < 1 || size > 1 << 16)
		return 0;
	if (!loop && loop_new(&loop, &err) < 0)
		abort();
	if (!mirror)
		mirror = mirror_new(&(struct mirror_opts){ .loop = loop, .far_root = "/workspace" });
	struct remote r = { .of = &provider, .loop = loop, .name = base, .base = base, .open = true, .box = json_object(), .mirror = mirror };
	const struct run_opts o = { .argv = argv, .nr_argv = 1 };
	exits = 0;
	heard_bytes = 0;
	struct run *run = hosted_run_prepare(&r.b, &o, &ops, NULL);
	hosted_run_go(run);
	loop_turn(loop, 0);
	for (int turns = 0; asked; turns++) { /* it asks again as long as the answer says that the run continues */
		size_t len = turns < 3 ? size - 1 : 0;
		answer(data + 1, len, data[0] * len / 255);
		loop_turn(loop, 0);
	}
	/* what is heard besides is a line of ours: the box is gone */
	if (exits != 1 || asked || heard_bytes > 3 * size + 100)
		abort();
	hosted_run_free(run);
	if (r.runs || r.scripts)
		abort();
	buf_release(&r.finished);
	strv_release(&r.env);
	json_decref(r.box);
	return 0;
}
