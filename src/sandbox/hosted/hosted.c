#include "sandbox/hosted/hosted.h"

#include <stdlib.h>

#include "base/mem.h"
#include "sandbox/hosted/hosted_priv.h"

struct remote *hosted_of(struct box *b)
{
	return CONTAINER_OF(b, struct remote, b);
}

json_t *hosted_args(const struct remote *r)
{
	json_t *args = json_array();
	json_array_append_new(args, r->box ? json_deep_copy(r->box) : json_object());
	return args;
}

struct remote_op *hosted_ask(struct remote *r, const char *fn, json_t *args,
			     const struct remote_heard *h, void *to)
{
	return r->of->port.begin(r->of->port.self, fn, args, r->options, r->b.id, h, to);
}

/* --- what nobody rents out --- */

struct refusal {
	box_done_fn *done;
	void *self;
	struct err err;
	json_t *result;
};

static void hosted_say(void *self)
{
	struct refusal *r = self;
	r->done(r->self, r->result, r->result ? NULL : &r->err);
	json_decref(r->result);
	free(r);
}

static struct refusal *hosted_later(struct box *b, box_done_fn *done, void *self)
{
	struct refusal *r = NEW(struct refusal);
	*r = (struct refusal){ .done = done, .self = self };
	loop_defer(hosted_of(b)->loop, hosted_say, r);
	return r;
}

static void hosted_box_freeze(struct box *b, bool frozen, box_done_fn *done, void *self)
{
	err_set(&hosted_later(b, done, self)->err, ERR_UNSUPPORTED, "a sandbox of %s can't be %s",
		b->driver->name, frozen ? "frozen" : "thawed");
}

static void hosted_box_listen(struct box *b, uint16_t port, box_done_fn *done, void *self)
{
	err_set(&hosted_later(b, done, self)->err, ERR_UNSUPPORTED,
		"port %u: can't listen inside a sandbox of %s", port, b->driver->name);
}

/* --- ways in: the provider says at what address --- */

struct dial {
	struct remote *remote;
	uint16_t port;
	box_done_fn *done;
	void *self;
};

static void dial_end(struct dial *d, int fd, const struct err *err)
{
	CLEANUP(json_release) json_t *result = fd < 0 ? NULL : json_object();
	if (result)
		json_put_int(result, "fd", fd);
	d->done(d->self, result, result ? NULL : err);
	free(d);
}

static void on_address(void *self, const json_t *address, const struct err *err)
{
	struct dial *d = self;
	const struct remote_port *p = &d->remote->of->port;
	struct err why = ERR_INIT;
	if (err)
		why = *err;
	dial_end(d, err ? -1 : p->reach(p->self, address, d->remote->b.id, &why), &why);
}

static void ask_address(struct dial *d)
{
	static const struct remote_heard heard = { .done = on_address };
	json_t *args = hosted_args(d->remote);
	json_array_append_new(args, json_integer(d->port));
	hosted_ask(d->remote, "address", args, &heard, d);
}

static void say_wake(void *self, struct buf *text)
{
	(void)self;
	buf_puts(text, "echo '@.'\n");
}

static bool is_awake(void *self, char kind, const char *text, size_t len)
{
	(void)self;
	(void)text;
	(void)len;
	return kind == '.';
}

static void has_woken(void *self, const struct err *err)
{
	if (err)
		dial_end(self, -1, err);
	else
		ask_address(self);
}

static const struct script_how hosted_wakes = { .make = say_wake,
						.line = is_awake,
						.end = has_woken };

static void hosted_box_dial(struct box *b, uint16_t port, box_done_fn *done, void *self)
{
	struct remote *r = hosted_of(b);
	if (r->dead) {
		hosted_later(b, done, self)->err = r->why;
	} else if (!r->of->port.has(r->of->port.self, "address")) {
		err_set(&hosted_later(b, done, self)->err, ERR_UNSUPPORTED,
			"port %u: %s can't connect to a port of a sandbox", port, b->driver->name);
	} else {
		struct dial *d = NEW(struct dial);
		*d = (struct dial){ .remote = r, .port = port, .done = done, .self = self };
		if (r->state == AWAKE)
			ask_address(d);
		else
			script_begin(r, &hosted_wakes, d);
	}
}

static void hosted_box_stats(struct box *b, box_done_fn *done, void *self)
{
	struct refusal *r = hosted_later(b, done, self);
	struct remote *remote = hosted_of(b);
	if (remote->dead)
		r->err = remote->why;
	else
		r->result = hosted_cost(remote);
}

static json_t *box_cost(struct box *b)
{
	return hosted_cost(hosted_of(b));
}

/* --- the driver --- */

static void hosted_box_oom(struct box *b, box_done_fn *done, void *self)
{
	const struct remote *r = CONTAINER_OF(b, struct remote, b);
	CLEANUP(json_release) json_t *count = json_object();
	int64_t n = hosted_oom_count(&r->oom);
	if (n >= 0)
		json_put_int(count, "oom", n);
	done(self, count, NULL);
}

static const struct driver hosted_verbs = {
	.caps = CAP_STREAMS | CAP_STDIN | CAP_SIGNAL | CAP_PTY | CAP_SHELL | CAP_OFFLINE |
		CAP_DIAL_HTTP,
	.close = hosted_close,
	.run_prepare = hosted_run_prepare,
	.run_go = hosted_run_go,
	.run_stdin = hosted_run_stdin,
	.run_stdin_queued = hosted_run_stdin_queued,
	.run_signal = hosted_run_signal,
	.run_resize = hosted_run_resize,
	.run_pause = hosted_run_pause,
	.run_turn = hosted_run_turn,
	.run_free = hosted_run_free,
	.read = hosted_box_read,
	.write = hosted_box_write,
	.write_taken = hosted_box_write_taken,
	.list = hosted_box_list,
	.stat = hosted_box_stat,
	.tree = &hosted_tree,
	.kill = hosted_box_kill,
	.freeze = hosted_box_freeze,
	.listen = hosted_box_listen,
	.dial = hosted_box_dial,
	.stats = hosted_box_stats,
	.oom = hosted_box_oom,
	.cost = box_cost,
};

static struct box *open_as(const struct driver *d, struct loop *l, const struct box_opts *o,
			   box_done_fn *done, void *self)
{
	return hosted_open((struct remote_provider *)(uintptr_t)d, l, o, done, self);
}

const struct driver *hosted_driver_new(const char *name, const char *file, const char *about,
				       const struct remote_port *port)
{
	struct remote_provider *p = NEW(struct remote_provider);
	p->name = mem_strdup(name);
	p->about = mem_strdup(about);
	p->port = *port;
	p->d = hosted_verbs;
	p->d.name = p->port.name = p->name;
	p->d.about = p->about;
	p->d.file = file ? mem_strdup(file) : NULL;
	p->d.open_as = open_as;
	return &p->d;
}
