#include "sandbox/common/rpc.h"

#include <stdlib.h>

#include "base/fd.h"
#include "base/mem.h"
#include "loop/stream.h"
#include "wire/launch.h"

struct call {
	uint64_t id;
	rpc_done_fn *done; /* NULL: forgotten */
	void *self;
};

struct rpc {
	struct loop *loop;
	struct stream *stream; /* NULL once closed */
	const struct rpc_ops *ops;
	void *self;
	struct call *open;
	size_t nr, cap;
	uint64_t last_id;
	bool dead;		    /* rpc_free came while one of these was true */
	bool in_callbacks, failing; /* fail_all runs; it waits to run */
	struct err why;
};

static struct call rpc_take_call(struct rpc *r, size_t i)
{
	struct call c = r->open[i];
	for (r->nr--; i < r->nr; i++)
		r->open[i] = r->open[i + 1];
	return c;
}

static void rpc_answer(const struct call *c, json_t *body, int *fds, size_t nr,
		       const struct err *err)
{
	if (c->done)
		c->done(c->self, body, fds, nr, err);
	for (size_t i = 0; i < nr; i++)
		fd_close(&fds[i]);
}

static void rpc_on_frame(void *self, const struct frame *f, int *fds, size_t nr)
{
	struct rpc *r = self;
	struct err err = ERR_INIT;
	CLEANUP(json_release)
	json_t *body =
		f->type == r->ops->failed ? NULL : json_parse(f->body, f->len, "answer", &err);
	if (f->type == r->ops->failed)
		wire_err_parse(f->body, f->len, &err);
	for (size_t i = 0; f->id && i < r->nr; i++)
		if (r->open[i].id == f->id) {
			struct call c = rpc_take_call(r, i);
			rpc_answer(&c, body, fds, nr, body ? NULL : &err);
			return;
		}
	for (size_t i = 0; i < nr; i++)
		fd_close(&fds[i]);
	if (body && !f->id && r->ops->on_other)
		r->ops->on_other(r->self, f->type, body);
}

static void rpc_release(struct rpc *r)
{
	free(r->open);
	free(r);
}

/* Every open call gets @why. False when a callback has freed us. */
static bool fail_all(struct rpc *r)
{
	r->in_callbacks = true;
	while (!r->dead && r->nr) {
		struct call c = rpc_take_call(r, 0);
		struct err why = r->why;
		rpc_answer(&c, NULL, NULL, 0, &why);
	}
	r->in_callbacks = false;
	if (!r->dead)
		return true;
	if (!r->failing)
		rpc_release(r);
	return false;
}

static void rpc_on_close(void *self, const struct err *err)
{
	struct rpc *r = self;
	stream_free(&r->stream);
	if (err)
		r->why = *err;
	else
		err_set(&r->why, ERR_CLOSED, "the helper process has ended");
	if (fail_all(r))
		r->ops->on_close(r->self, &r->why);
}

struct rpc *rpc_new(struct loop *l, int sock, size_t max_body, const struct rpc_ops *ops,
		    void *self)
{
	static const struct stream_ops stream_ops = { .on_frame = rpc_on_frame,
						      .on_close = rpc_on_close };
	struct rpc *r = NEW(struct rpc);
	r->loop = l;
	r->ops = ops;
	r->self = self;
	r->stream = stream_new(l, sock, max_body, &stream_ops, r);
	return r;
}

void rpc_free(struct rpc **rp)
{
	struct rpc *r = take(rp);
	if (!r)
		return;
	stream_free(&r->stream);
	r->nr = 0;
	r->dead = true;
	if (!r->in_callbacks && !r->failing)
		rpc_release(r);
}

static void rpc_fail_deferred(void *self)
{
	struct rpc *r = self;
	r->failing = false;
	fail_all(r);
}

void rpc_call(struct rpc *r, uint16_t type, const json_t *body, const int *fds, size_t nr_fds,
	      rpc_done_fn *done, void *self)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	GROW(r->open, r->nr, r->cap);
	r->open[r->nr++] = (struct call){ .id = ++r->last_id, .done = done, .self = self };
	if (!r->stream) {
		for (size_t i = 0; i < nr_fds; i++) {
			int fd = fds[i];
			fd_close(&fd);
		}
		if (!r->failing)
			loop_defer(r->loop, rpc_fail_deferred, r);
		r->failing = true;
		return;
	}
	json_dump_buf(body, &text);
	stream_send_fds(r->stream, type, r->last_id, text.data, text.len, fds, nr_fds);
}

void rpc_push(struct rpc *r, uint16_t type, const int *fds, size_t nr_fds)
{
	if (r->stream)
		stream_send_fds(r->stream, type, 0, "{}", 2, fds, nr_fds);
}

void rpc_forget(struct rpc *r, const void *self)
{
	for (size_t i = 0; r && i < r->nr; i++)
		if (r->open[i].self == self)
			r->open[i].done = NULL;
}
